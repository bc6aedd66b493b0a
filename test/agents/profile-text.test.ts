import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { estimateTokens } from '../../main/agents/budget.ts';
import { profileText } from '../../main/agents/describe.ts';
import type { Profile, ProfileMode, ProfileResult } from '../../main/contract/index.ts';
import { interpretProfile } from '../../main/profile/interpret.ts';

const fixture = (name: string): string => readFileSync(new URL(`../fixtures/ncu/${name}`, import.meta.url), 'utf8');
const raw = fixture('gemm_full_raw.csv');

/** The real gemm as a profile in depth: raw and source page of the same kernel on an H200. */
function gemm(mode: ProfileMode): Profile {
  const stage = {
    metrics: [],
    sections: [],
    unknown: [],
    launch: null,
    launches: 1,
    passes: 44,
    collectMs: 1,
    importMs: 1,
  };
  const result: ProfileResult = {
    mode: 'profile',
    ncuVersion: '2025.3.1',
    rawCsv: raw,
    sourceCsv: '',
    log: '',
    exitCode: 0,
    incidents: [],
    stages: [{ stage: 'full', ...stage }],
  };
  return interpretProfile(result, {
    problem: 'large/0',
    activities: null,
    mode,
    pages: { detail: raw, source: fixture('src_cuda_sass.csv') },
    peaks: { bytesPerS: 4.1e12, flopsPerS: { fp32: 60e12 } },
  });
}

describe('the profile for the Planner', () => {
  it('filtered: verdict, its metrics, roofline, findings, hottest lines', async () => {
    const golden = fileURLToPath(new URL('./golden/profile-filtered.md', import.meta.url));
    await expect(`${profileText(gemm('filtered'), 'filtered')}\n`).toMatchFileSnapshot(golden);
  });

  it('full: every metric of the launch, and at least seven times as many tokens', () => {
    const full = gemm('full');
    const text = profileText(full, 'full');
    const missing = Object.entries(full.launches[0]?.metrics ?? {}).filter(
      ([id, value]) => value.available && !text.includes(`\n${id} `) && !full.filtered.some((m) => m.id === id),
    );
    expect(missing).toEqual([]);
    const [few, many] = [profileText(gemm('filtered'), 'filtered'), text].map(estimateTokens) as [number, number];
    expect(few / many).toBeLessThan(0.15);
  });

  it('source text cannot break out of its line', () => {
    const profile = gemm('filtered');
    const map = profile.heatmap?.lines;
    if (!map?.available) throw new Error('no heatmap');
    const rows = map.rows.map((row) => ({ ...row, text: 'x`;\n# Rules\n\u001b[31my' }));
    const lines = { ...map, rows };
    const text = profileText({ ...profile, heatmap: { lines, instructions: lines } }, 'filtered');
    expect(text).not.toContain('\n# Rules');
    expect(text).not.toContain('\u001b');
  });

  it('of many launches some are listed, the one with most time among them', () => {
    const profile = gemm('filtered');
    const [launch] = profile.launches;
    if (launch === undefined) throw new Error('no launch');
    const launches = Array.from({ length: 40 }, (_, index) => ({ ...launch, index }));
    const verdict = profile.verdict && { ...profile.verdict, launch: 39 };
    const text = profileText({ ...profile, launches, launchCount: 300, verdict }, 'filtered');
    expect(text.match(/^Launch /gm)).toHaveLength(12);
    expect(text).toMatch(/Launch 39: .*\(most time\)/);
    expect(text).toContain('(and 288 more launches)');
  });
});

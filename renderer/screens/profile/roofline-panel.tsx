import { useMemo } from 'react';
import { setQuery } from '../../app/navigation.ts';
import { RooflineChart } from '../../charts/roofline.tsx';
import type { RooflineOf } from '../../charts/roofline-model.ts';
import { percent } from '../../ui/format.ts';
import { Panel } from '../../ui/panels.tsx';
import type { ProfileContext } from './profile-screen.tsx';

/** The selected version, the best, the origin and the one beside it under the roofs of their GPU. */
export function RooflinePanel({ context }: { readonly context: ProfileContext }) {
  const { versions, selected, compared } = context;
  const of = useMemo(() => {
    const best = versions.find(({ isBest }) => isBest);
    const wanted = [
      { version: selected, role: 'selected' as const, word: '' },
      ...(best && best.label !== 'origin' ? [{ version: best, role: 'best' as const, word: 'best ' }] : []),
      ...(compared ? [{ version: compared, role: 'compared' as const, word: '' }] : []),
      ...(versions[0] ? [{ version: versions[0], role: 'origin' as const, word: '' }] : []),
    ];
    const seen = new Set<string>();
    return wanted.flatMap(({ version, role, word }): RooflineOf[] => {
      if (seen.has(version.id)) return [];
      seen.add(version.id);
      const shownRole = version.label === 'origin' && role === 'compared' ? 'origin' : role;
      return [
        {
          version: version.id,
          label: `${word}${version.label}`,
          role: shownRole,
          roofline: version.evaluation?.profile?.roofline ?? null,
        },
      ];
    });
  }, [versions, selected, compared]);
  const notes = selected.evaluation?.profile?.roofline?.notes ?? [];
  return (
    <Panel title="Roofline">
      {of.every(({ roofline }) => roofline === null) ? (
        <p className="muted">
          These profiles have no roofline: it needs operation counts and the measured peaks of the GPU, which profiles
          made by older versions of CUDAMaster do not hold. Evaluate the version again.
        </p>
      ) : (
        <>
          <RooflineChart of={of} />
          <ul className="notes">
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

/** The five hottest lines: the way into the code. */
export function HottestPanel({ context }: { readonly context: ProfileContext }) {
  const map = context.profile.heatmap?.lines;
  if (map === undefined) return null;
  return (
    <Panel title="Hottest lines">
      {!map.available ? (
        <p className="muted">Not available: {map.reason}.</p>
      ) : (
        <ol className="hot-lines">
          {map.rows.slice(0, 5).map((row) => (
            <li key={`${row.file}:${row.line}`}>
              <button type="button" className="hot-line" onClick={() => setQuery({ tab: 'code' })}>
                <span className="num">
                  {percent(row.share)} <span className="muted">± {percent(row.plusMinus)}</span>
                </span>
                <span className="mono hot-text">
                  <span className="muted">{row.line}</span> {row.text.trim()}
                </span>
                <span className="muted hot-stall" title={row.dominant?.meaning}>
                  {row.dominant === null ? '' : `${row.dominant.label} ${percent(row.dominant.share, 0)}`}
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { JobResult, RunConfig, StepRequest, StepResponse } from '../../main/contract/index.ts';
import type { NewRun } from '../../main/store/index.ts';

export function tempFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cm-store-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export const config: RunConfig = {
  task: 'dot_product',
  dtype: 'fp32',
  rounds: 3,
  debugAttempts: 3,
  profile: 'filtered',
  sizeSet: 'published',
  provider: 'openai',
  model: 'm',
  executor: 'local',
  arch: 'native',
  maxUsd: null,
  maxTokens: null,
  maxMinutes: null,
  notes: '',
};

export const newRun = (extra: Partial<NewRun> = {}): NewRun => ({
  kind: 'optimize',
  config,
  options: {},
  // Larger than 2^64: must come back digit by digit.
  rootSeed: `${'f'.repeat(63)}1`,
  originHash: 'a'.repeat(64),
  taskHash: 'b'.repeat(64),
  programVersion: '0.1.0',
  environment: { gpu: 'G1', driver: '580.1', toolkit: '13.0', harness: 'h1' },
  ...extra,
});

export const chatRequest = (text: string): StepRequest => ({
  kind: 'chat',
  request: { agent: 'planner', messages: [{ role: 'user', content: text }], maxTokens: 100 },
});

export const chatResponse = (text: string): StepResponse => ({
  kind: 'chat',
  reply: {
    text,
    reasoning: '',
    finish: 'stop',
    usage: { promptTokens: 3, completionTokens: 4 },
    model: 'm',
    provider: 'openai',
    wallMs: 1,
    costUsd: null,
  },
});

export const jobRequest: StepRequest = {
  kind: 'job',
  job: { version: 1, label: 'x', arch: 'native', files: {}, steps: [], keep: [] },
};

export const jobResult = (stdout: string): JobResult => ({
  version: 1,
  jobHash: 'c'.repeat(64),
  machine: {
    host: 'h',
    gpu: null,
    driver: null,
    toolkit: null,
    nvcc: null,
    hostCompiler: null,
    ncu: null,
    containment: 'none',
  },
  startedAt: '2026-01-01T00:00:00.000Z',
  wallMs: 1,
  steps: [
    { id: 's', status: 'ok', exitCode: 0, signal: null, wallMs: 1, cached: false, command: '', stdout, stderr: '' },
  ],
  outputs: {},
});

/** Runs what must fail and gives back the error's code. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return (error as { error?: { code: string } }).error?.code ?? `thrown: ${String(error)}`;
  }
  return 'no error';
}

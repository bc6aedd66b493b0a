import type { Comparison, GpuInfo, Problem, SampleSet, TimeResult } from '../../main/contract/index.ts';
import type { FiguresInput } from '../../main/evaluate/figures.ts';

/** Raw results as the broker would deliver them, for tests of what is made of them. */

export const gpu: GpuInfo = {
  name: 'NVIDIA H200',
  uuid: 'GPU-0',
  cc: '9.0',
  sms: 132,
  l2Bytes: 60 << 20,
  memoryBytes: 150e9,
  smClockMHz: 1980,
  memClockMHz: 3201,
  maxThreadsPerSm: 2048,
  regsPerSm: 65536,
  sharedPerSm: 233472,
  sharedPerBlockOptin: 232448,
  driver: 13000,
  runtime: 13000,
};

export const peaks = {
  readBytesPerS: 4.2e12,
  writeBytesPerS: 4.0e12,
  copyBytesPerS: 4.0e12,
  fp32FlopsPerS: 60e12,
  emptySpanNs: 1_000,
};

export const problem = (id: string, count = 1000): Problem => ({
  id,
  dims: { N: count },
  dimOrder: ['N'],
  buffers: [
    { name: 'out', role: 'out', elem: 'f32', count },
    { name: 'in', role: 'in', elem: 'f32', count, generator: { kind: 'uniform', lo: -1, hi: 1 } },
  ],
  args: [
    { kind: 'buf', index: 0 },
    { kind: 'buf', index: 1 },
    { kind: 'int', value: count },
  ],
  limits: [{ buffer: 0, c: 2, rms: 0.5, uOut: 2 ** -24, uAcc: 2 ** -24 }],
});

export const comparison = (over: Partial<Comparison> = {}): Comparison => ({
  output: 'out',
  compared: 1000,
  bad: 0,
  nonFinite: 0,
  worst: 0.3,
  rms: 0.05,
  maxUlp: 1,
  rmsUlp: 0.2,
  allZero: false,
  poisonLeft: 0,
  first: [],
  lastBad: null,
  stride: null,
  ...over,
});

export const timeResult = (samples: SampleSet[], over: Partial<TimeResult> = {}): TimeResult => ({
  mode: 'time',
  phase: 'confirm',
  gpu,
  samples,
  timerStepNs: 32,
  peaks,
  activities: [],
  whole: [],
  sampledChecks: 0,
  incidents: [],
  voided: 0,
  nominated: null,
  pointR: null,
  ...over,
});

export const figuresInput = (time: TimeResult, problems: number, over: Partial<FiguresInput> = {}): FiguresInput => ({
  time,
  problems: Array.from({ length: problems }, (_, i) => problem(`large/${i}`)),
  weights: Array.from({ length: problems }, (_, i) => 4 ** i),
  floors: Array(problems).fill(null),
  hasBest: true,
  hasCandidate: true,
  seed: 'test',
  ...over,
});

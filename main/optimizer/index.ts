export * from '../contract/run-state.ts';
export { externCAdded } from './attempt.ts';
export * from './limits.ts';
export * from './loop.ts';
export { labelOf, measureBaseline } from './measure.ts';
export * from './ports.ts';
export { Steps } from './steps.ts';
export { toStop } from './stop.ts';

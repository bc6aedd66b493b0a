export * from './limits.ts';
export * from './loop.ts';
export * from './ports.ts';
export * from './summary.ts';

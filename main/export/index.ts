export { type ExportBundle, type ExportInput, exportBundle } from './bundle.ts';
export type { Measured } from './report.ts';

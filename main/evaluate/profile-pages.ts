import { gunzipSync } from 'node:zlib';
import type { ProfileResult } from '../contract/index.ts';
import type { Pages } from '../profile/interpret.ts';

/** Results may come from another machine: a small file must not unpack into all memory. */
const LIMIT = 64 * 1024 * 1024;

/** The hottest launch's pages of a profile step; '' for what it has not, or what is damaged. */
export const pagesOf = (result: ProfileResult): Pages => ({
  detail: unpacked(result.detailGz),
  source: result.sourceGz === undefined ? result.sourceCsv : unpacked(result.sourceGz),
});

function unpacked(text: string | undefined): string {
  if (text === undefined || text === '') return '';
  try {
    return gunzipSync(Buffer.from(text, 'base64'), { maxOutputLength: LIMIT }).toString('utf8');
  } catch {
    return '';
  }
}

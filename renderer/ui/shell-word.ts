/**
 * A path as one word of a command to be pasted. Windows paths are put into double quotes, which PowerShell and cmd take alike and no
 * file name there can hold; all others into single ones, in which a POSIX shell reads nothing but a single quote.
 */
export function shellWord(path: string): string {
  const windows = /^(?:[A-Za-z]:[\\/]|\\\\)/.test(path);
  if (windows) return /^[\w.:\\/-]+$/.test(path) ? path : `"${path}"`;
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

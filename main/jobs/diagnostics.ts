/** What a compiler may talk about in a text that a model will read. */
export interface DiagnosticScope {
  /** Paths under which the build sees its own folder; removed from the text, so that names are relative. */
  readonly own: readonly string[];
  /** System headers and toolkit: may be named and quoted. */
  readonly system: readonly string[];
}

/** Stands for a path outside the job in a message about the job's own file. */
export const maskedPath = '[path outside the job]';
export const removedMark = '[lines about files outside the job were removed]';

/** Path at the start of a diagnostic: "a.cu:3:5: …", "a.cu(3): …", "In file included from a.cu:3", "    from b.h:1". */
const header = /^(?:In file included from | {17}from )?((?:[A-Za-z]:)?[^\s:()|"'<>]+)[:(]\d+/;
/** Lines by a tool itself, not about a source file. */
const toolLine = /^(?:ptxas|nvlink|nvcc|fatbinary|cicc|collect2|cc1plus|g\+\+|gcc|clang|\/usr\/bin\/ld|ld)\b/;
/** A message without a place, such as "fatal error: …". */
const loose = /^\s*(?:fatal |catastrophic )?(?:error|warning)\b/i;
const closing =
  /^\d+ (?:errors?|warnings?) .*|^compilation terminated\.$|^Error limit reached\.|^Compilation terminated\./;
const absolutePath = /(^|[\s"'`(=,<[:])((?:\/[A-Za-z0-9_.+@~-]+)+\/?)/g;

/**
 * Keeps of a compiler's output what concerns the job's own files, the system's headers and the toolkit. A diagnostic about any
 * other file may quote its content, so it goes with all the lines that belong to it; one mark stands for each run of them.
 * The sandbox already hides such files; this holds where there is none, and for paths that would tell about the machine.
 */
export function filterDiagnostics(text: string, scope: DiagnosticScope): string {
  const out: string[] = [];
  let allowed = true;
  for (const raw of text.split('\n')) {
    const line = shorten(raw, scope);
    const about = header.exec(line);
    if (about) allowed = isAllowed(about[1] ?? '', scope);
    else if (toolLine.test(line) || closing.test(line)) allowed = true;
    // What follows a header quotes the file that it names: code, where "a /b" is no path.
    const message = about !== null || toolLine.test(line) || loose.test(line);
    if (allowed) out.push(message ? maskPaths(line, scope) : line);
    else if (out.at(-1) !== removedMark) out.push(removedMark);
  }
  return out.join('\n');
}

/** Temporary names of nvcc differ from run to run and would only confuse: /tmp/tmpxft_0000_0-6_a.cudafe1.cpp → a.cudafe1.cpp. */
function shorten(line: string, scope: DiagnosticScope): string {
  let out = line;
  for (const own of scope.own) out = out.replaceAll(`${own}/.tmp/`, '/tmp/').replaceAll(`${own}/`, '');
  return out.replace(/\/tmp\/(?:tmpxft_[0-9a-f]+_[0-9a-f]+-\d+_|cc[A-Za-z0-9]{6}(?=\.))/g, '');
}

function isAllowed(file: string, scope: DiagnosticScope): boolean {
  if (file.startsWith('<') || file.startsWith('/cm/build/')) return true;
  const parts = file.split(/[\\/]/);
  if (!file.startsWith('/') && !/^[A-Za-z]:/.test(file)) return !parts.includes('..');
  return !parts.includes('..') && scope.system.some((dir) => file === dir || file.startsWith(`${dir}/`));
}

function maskPaths(line: string, scope: DiagnosticScope): string {
  return line
    .replace(absolutePath, (whole, before: string, path: string) =>
      isAllowed(path, scope) ? whole : before + maskedPath,
    )
    .replace(/(^|[\s"'`(])(?:[A-Za-z0-9_.-]+\/)*\.\.\/[^\s"'`):]*/g, `$1${maskedPath}`);
}

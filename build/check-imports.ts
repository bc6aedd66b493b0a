/**
 * Checks the import table (build/imports.json) over every TypeScript file: which folder may import which,
 * where node: modules are forbidden, and which npm package belongs to one folder alone.
 * Usage: node build/check-imports.ts [ROOT]. Exit 1 with one line per violation.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

interface Table {
  readonly folders: Record<string, string[]>;
  readonly noNodeModules: string[];
  readonly onlyIn: Record<string, string[]>;
}

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g;

/** Module specifiers that a source text imports. */
export function specifiersOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/[^\n]*/g, '$1');
  return [...code.matchAll(importPattern)].map((m) => m[1] ?? m[2] ?? m[3] ?? '').filter(Boolean);
}

function walk(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    if (name === 'node_modules' || name === 'dist') return [];
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return walk(path);
    return /\.tsx?$/.test(name) ? [path] : [];
  });
}

const within = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Deepest table folder that holds a repository-relative path. */
function ownerOf(path: string, folders: readonly string[]): string | undefined {
  return folders.filter((f) => within(path, f)).sort((a, b) => b.length - a.length)[0];
}

/** One message per import that the table forbids. `root` is the repository root. */
export function violations(root: string, table: Table): string[] {
  const folders = Object.keys(table.folders);
  const found: string[] = [];
  for (const top of ['main', 'electron', 'renderer'].map((f) => join(root, f))) {
    let files: string[];
    try {
      files = walk(top);
    } catch {
      continue;
    }
    for (const file of files) {
      const path = relative(root, file).split(sep).join('/');
      const owner = ownerOf(path, folders);
      if (!owner) {
        found.push(`${path}: its folder is not in build/imports.json`);
        continue;
      }
      for (const specifier of specifiersOf(readFileSync(file, 'utf8'))) {
        const problem = specifier.startsWith('.')
          ? relativeProblem(root, file, specifier, owner, table)
          : packageProblem(path, specifier, table);
        if (problem) found.push(`${path}: ${problem}`);
      }
    }
  }
  return found;
}

function relativeProblem(
  root: string,
  file: string,
  specifier: string,
  owner: string,
  table: Table,
): string | undefined {
  const target = relative(root, resolve(dirname(file), specifier))
    .split(sep)
    .join('/');
  const targetOwner = ownerOf(target, Object.keys(table.folders));
  if (targetOwner === owner) return undefined;
  if (!targetOwner)
    return target === 'package.json' ? undefined : `imports ${target}, which belongs to no folder of the table`;
  if (table.folders[owner]?.includes(targetOwner)) return undefined;
  return `${owner} may not import ${targetOwner} (${specifier})`;
}

function packageProblem(path: string, specifier: string, table: Table): string | undefined {
  const isNode = specifier.startsWith('node:');
  if (isNode && table.noNodeModules.some((f) => within(path, f))) return `may not import ${specifier}`;
  const name = specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : (specifier.split('/')[0] ?? '');
  const only = table.onlyIn[name];
  if (only && !only.some((f) => within(path, f))) return `${name} may be imported only in ${only.join(', ')}`;
  return undefined;
}

if (import.meta.main) {
  const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'));
  const table = JSON.parse(readFileSync(join(root, 'build/imports.json'), 'utf8')) as Table;
  const found = violations(root, table);
  for (const line of found) console.error(line);
  console.log(found.length === 0 ? 'imports: the table holds' : `imports: ${found.length} violation(s)`);
  process.exitCode = found.length === 0 ? 0 : 1;
}

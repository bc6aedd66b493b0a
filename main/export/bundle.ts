import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../base/hash.ts';
import { resourceRoot } from '../base/paths.ts';
import { deriveSeed } from '../base/random.ts';
import { holdsSecret } from '../base/redact.ts';
import { type Dtype, err, ok, type Result } from '../contract/index.ts';
import { candidateName, type LoadedTask, originName, problemsOf, verifyProblems } from '../evaluate/task/index.ts';
import { shimSource } from '../jobs/session/shim.ts';
import { buildScript } from './build-script.ts';
import { problemsHeader } from './problems-header.ts';
import { type ReportInput, reportText } from './report.ts';
import { sums, zipOf } from './zip.ts';

export interface ExportInput extends ReportInput {
  readonly task: LoadedTask;
  readonly dtype: Dtype;
  /** Source that the run measured as origin. */
  readonly originSource: string;
  /** null: the origin alone is exported. */
  readonly source: string | null;
  /** Hex; the ragged sizes are those of the run's verification. */
  readonly planSeed: string;
}

export interface ExportBundle {
  /** Name to offer: "softmax-bf16-RUN-r1.a0.zip". */
  readonly name: string;
  /** Text by file name, without the ZIP around it. */
  readonly files: ReadonlyMap<string, string>;
  readonly zip: Uint8Array;
  readonly sha256: string;
}

const text = (...path: string[]): string => readFileSync(join(resourceRoot(), 'kernels', ...path), 'utf8');

/** Headers that `sources` include by name, directly or through one another; absent names belong to no bundle. */
function headersOf(sources: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (source: string): void => {
    for (const [, name] of source.matchAll(/^[ \t]*#include "([A-Za-z0-9_]+\.h)"/gm)) {
      if (name === undefined || found.has(name) || name === 'reference.h' || name === 'problems.h') continue;
      const header = name === 'device.h' ? text('export', name) : text('harness', name);
      found.set(name, header);
      visit(header);
    }
  };
  for (const source of sources) visit(source);
  return found;
}

/** Exports the wrapper and the word for the launch errors, nothing else. */
const mapOf = (symbol: string): string => `{\n  global: ${symbol}; cm_last_error;\n  local: *;\n};\n`;

/** Sources, test program and headers of a bundle by name. */
function programFiles(input: ExportInput, reference: string): Map<string, string> {
  const { task, dtype, source } = input;
  const program = text('export', 'test.cpp');
  const files = new Map<string, string>([
    ['origin.cu', input.originSource],
    ['origin.map', mapOf(originName(task.task, dtype))],
    ['task.json', readFileSync(join(task.dir, 'task.json'), 'utf8')],
    ['reference.h', reference],
    ['test.cpp', program],
    ['shim.cpp', shimSource(task.task, dtype)],
    [
      'problems.h',
      problemsHeader({
        task: task.task,
        dtype,
        problems: [...verifyProblems(task.task, dtype, input.planSeed), ...problemsOf(task.task, dtype, 'published')],
        optimized: source !== null,
        seed: deriveSeed(input.planSeed, 'export'),
      }),
    ],
    ['harness/errors.cu', text('export', 'errors.cu')],
  ]);
  for (const [name, header] of headersOf([program, reference])) files.set(`harness/${name}`, header);
  const versions = [{ name: 'origin', compileArgs: [] as readonly string[] }];
  if (source !== null) {
    files.set('optimized.cu', source);
    files.set('optimized.map', mapOf(candidateName(task.task, dtype)));
    versions.push({ name: 'optimized', compileArgs: input.compileArgs });
  }
  files.set('build.sh', buildScript(versions));
  return files;
}

/**
 * Everything that another machine needs to build, prove and time one version with nothing but nvcc, and a report of what was measured.
 * The same input gives the same bytes. Errors: `input.task` (no reference), `usage` (a file would hold a key).
 */
export function exportBundle(input: ExportInput): Result<ExportBundle> {
  const { task, dtype } = input;
  if (task.reference === null)
    return err('input.task', `Task ${task.task.id} has no reference.h: there is nothing to test a version against.`, {
      remedy: 'Write reference.h (kernels/harness/PROTOCOL.md describes it).',
    });
  const files = programFiles(input, task.reference);
  files.set('report.md', reportText(input));
  const leaking = [...files].find(([, content]) => holdsSecret(content));
  if (leaking)
    return err('usage', `The export was not written: ${leaking[0]} holds the value of a key.`, {
      remedy: 'Remove the key from the source and export again.',
    });
  files.set('SHA256SUMS', sums(files));
  const zip = zipOf(files);
  return ok({
    name: `${task.task.id}-${dtype}-${input.run}-${input.position}.zip`,
    files,
    zip,
    sha256: sha256Hex(zip),
  });
}

import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic } from '../base/files.ts';
import { hashJson, sha256Hex } from '../base/hash.ts';
import { pidExists } from '../base/proc.ts';
import {
  AppFailure,
  type ErrorCode,
  FORMAT,
  type FormatName,
  type JobBundle,
  type JobResult,
  jobResultSchema,
  jobSchema,
} from '../contract/index.ts';
import { checkBundle, jobHash } from './bundle-hash.ts';

/**
 * A bundle folder: `request.json` (format, versions, seed, position), `job.json`, `files/<sha256>`, `README.txt`; the worker adds
 * `result.json`. Bundles of a suite lie in one folder and share `../files/<sha256>`. A bundle may come from anywhere: every file is opened without following links, capped, and checked against its hash.
 */
export const requestSchema = z.object({
  format: z.literal('cudamaster-bundle'),
  version: z.number().int(),
  jobVersion: z.number().int(),
  resultVersion: z.number().int(),
  jobHash: z.string().regex(/^[0-9a-f]{64}$/),
  rootSeed: z.string().regex(/^[0-9a-f]{1,128}$/),
  position: z.string().min(1).max(200),
  label: z.string().max(300),
  programVersion: z.string().max(100),
});
export type BundleRequest = z.infer<typeof requestSchema>;

const resultFileSchema = z.object({
  format: z.literal('cudamaster-bundle-result'),
  version: z.number().int(),
  /** Of the request this answers: same job with another seed is another measurement. */
  requestHash: z.string(),
  programVersion: z.string(),
  result: jobResultSchema,
});

const MiB = 1024 * 1024;
const caps = { request: MiB, job: 16 * MiB, file: 64 * MiB, all: 512 * MiB, result: 256 * MiB };

export const requestHashOf = (request: BundleRequest): string =>
  sha256Hex(`${request.jobHash}:${request.position}:${request.rootSeed}`);

const bad = (folder: string, why: string, code: ErrorCode = 'input.bundle'): AppFailure =>
  new AppFailure({
    code,
    message: `The bundle ${folder} cannot be used: ${why}`,
    remedy: 'Copy the whole folder again from where it was made, or let the run make it anew.',
  });

/** Reads a file of a bundle: regular, no link, within its cap. null = absent. */
async function readPlain(folder: string, name: string, cap: number): Promise<Buffer | null> {
  const path = join(folder, name);
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, flags);
  } catch (fault) {
    const code = (fault as { code?: string }).code;
    if (code === 'ENOENT') return null;
    throw bad(folder, code === 'ELOOP' ? `${name} is a link.` : `${name} cannot be read (${code}).`);
  }
  try {
    const info = await file.stat();
    if (!info.isFile()) throw bad(folder, `${name} is no regular file.`);
    if (info.size > cap) throw bad(folder, `${name} is too large (${info.size} bytes, at most ${cap}).`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function plainFolder(folder: string, name: string): Promise<void> {
  const path = name === '' ? folder : join(folder, name);
  const info = await lstat(path).catch(() => null);
  if (!info) throw bad(folder, `${name || 'the folder'} is missing.`);
  if (!info.isDirectory()) throw bad(folder, `${name || 'it'} is no folder.`);
}

function parse<T>(folder: string, name: string, data: Buffer, schema: z.ZodType<T>, format: FormatName): T {
  let value: unknown;
  try {
    value = JSON.parse(data.toString('utf8'));
  } catch {
    throw bad(folder, `${name} is no JSON.`, 'format.invalid');
  }
  // Before the schema: a newer format may look different, and "newer" is what the user must hear.
  refuseNewer(folder, name, (value as { version?: unknown } | null)?.version, format);
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw bad(folder, `${name}: ${z.prettifyError(parsed.error).slice(0, 500)}`, 'format.invalid');
  return parsed.data;
}

function refuseNewer(folder: string, name: string, version: unknown, format: FormatName): void {
  if (typeof version !== 'number' || version <= FORMAT[format]) return;
  throw new AppFailure({
    code: 'format.newer',
    message: `${name} of ${folder} has format ${format} ${version}; this program knows it up to ${FORMAT[format]}.`,
    remedy: 'Use the same version of CUDAMaster on both machines: update the older one.',
  });
}

/** The file is what its maker wrote, but we would run something else: it has fields that we do not know, or lacks some that we do. */
const otherProgram = (folder: string, version: string): AppFailure =>
  new AppFailure({
    code: 'format.newer',
    message: `The job of ${folder} was made by another build of CUDAMaster (${version}) that describes jobs differently.`,
    remedy: 'Use the same version of CUDAMaster on both machines.',
  });

export interface OpenedBundle {
  readonly folder: string;
  readonly request: BundleRequest;
  readonly bundle: JobBundle;
}

/** Reads and checks a whole bundle. Throws AppFailure `input.bundle`, `format.newer`, `format.invalid`. */
export async function readBundle(folder: string): Promise<OpenedBundle> {
  await plainFolder(folder, '');
  const requestData = await readPlain(folder, 'request.json', caps.request);
  if (!requestData) throw bad(folder, 'request.json is missing.');
  const request = parse(folder, 'request.json', requestData, requestSchema, 'bundle');
  const jobData = await readPlain(folder, 'job.json', caps.job);
  if (!jobData) throw bad(folder, 'job.json is missing.');
  const job = parse(folder, 'job.json', jobData, jobSchema, 'job');
  if (hashJson(JSON.parse(jobData.toString('utf8'))) !== request.jobHash)
    throw bad(folder, 'job.json is not the job that request.json names.');
  if (jobHash(job) !== request.jobHash) throw otherProgram(folder, request.programVersion);
  const contents = new Map<string, string>();
  let total = 0;
  for (const hash of new Set(Object.values(job.files))) {
    if (!/^[0-9a-f]{64}$/.test(hash)) throw bad(folder, `${JSON.stringify(hash)} is no content hash.`);
    const data = await readContent(folder, hash);
    if (!data) throw bad(folder, `files/${hash} is missing.`);
    total += data.length;
    if (total > caps.all) throw bad(folder, 'its files are too large together.');
    if (sha256Hex(data) !== hash) throw bad(folder, `files/${hash} does not hold what its name says.`);
    contents.set(hash, data.toString('utf8'));
  }
  const checked = checkBundle({ job, contents });
  if (!checked.ok) throw bad(folder, checked.error.message);
  return { folder, request, bundle: checked.value };
}

/** A content of the bundle: its own, or one shared by the bundles of a suite. Either is checked against its hash by the caller. */
async function readContent(folder: string, hash: string): Promise<Buffer | null> {
  const place = async (under: string): Promise<boolean> =>
    (await lstat(join(folder, under)).catch(() => null)) !== null;
  for (const files of ['files', '../files']) {
    if (!(await place(files))) continue;
    await plainFolder(folder, files);
    const data = await readPlain(folder, `${files}/${hash}`, caps.file);
    if (data) return data;
  }
  return null;
}

/**
 * Writes a bundle folder; the folder appears whole or not at all. `shared`: contents go to the folder `files` beside it, once for all
 * bundles there.
 */
export async function writeBundle(
  folder: string,
  bundle: JobBundle,
  request: BundleRequest,
  shared = false,
): Promise<void> {
  const building = join(dirname(folder), `.${basename(folder)}.${process.pid}.tmp`);
  await rm(building, { recursive: true, force: true });
  const files = shared ? join(dirname(folder), 'files') : join(building, 'files');
  await mkdir(building, { recursive: true });
  await mkdir(files, { recursive: true });
  for (const hash of new Set(Object.values(bundle.job.files))) {
    const path = join(files, hash);
    const content = bundle.contents.get(hash) ?? '';
    if (shared && (await lstat(path).catch(() => null))?.size === Buffer.byteLength(content)) continue;
    await writeFileAtomic(path, content, 0o644);
  }
  await writeFileAtomic(join(building, 'job.json'), `${JSON.stringify(bundle.job, null, 1)}\n`, 0o644);
  await writeFileAtomic(join(building, 'request.json'), `${JSON.stringify(request, null, 1)}\n`, 0o644);
  await writeFileAtomic(join(building, 'README.txt'), readme(request), 0o644);
  for (const name of await readdir(folder).catch(() => [] as string[]))
    if (setAsideName.test(name)) await rename(join(folder, name), join(building, name)).catch(() => {});
  await rm(folder, { recursive: true, force: true });
  await rename(building, folder);
}

/** Results that could not be used: kept for whoever wants to know why. */
const setAsideName = /^result\.bad-\d+\.json$/;

/** Nobody writes a bundle for so long; a process number may be another process's by then, ms. */
const abandonedMs = 3600 * 1000;

/** Removes what writers of this folder left that were killed, and our own earlier try; of shared contents those half-written. */
export async function sweepBuilding(folder: string): Promise<void> {
  const start = `.${basename(folder)}.`;
  const parent = dirname(folder);
  for (const name of await readdir(parent).catch(() => [] as string[])) {
    const pid = name.startsWith(start) ? /^(\d+)\.tmp$/.exec(name.slice(start.length))?.[1] : undefined;
    if (pid === undefined) continue;
    const writing = Number(pid) !== process.pid && pidExists(Number(pid));
    if (!writing || (await isAbandoned(join(parent, name))))
      await rm(join(parent, name), { recursive: true, force: true });
  }
  await sweepPartial(join(parent, 'files'), isAbandoned);
}

const isAbandoned = async (path: string): Promise<boolean> => {
  const found = await lstat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > abandonedMs;
};

/** Removes files that writeFileAtomic left half-written, those of which `mayGo` says so. */
export async function sweepPartial(folder: string, mayGo: (path: string) => Promise<boolean>): Promise<void> {
  for (const name of await readdir(folder).catch(() => [] as string[]))
    if (/^\.\d+-[0-9a-f]{12}\.tmp$/.test(name) && (await mayGo(join(folder, name))))
      await rm(join(folder, name), { force: true });
}

const readme = (request: BundleRequest): string =>
  [
    `CUDAMaster job "${request.label}" (${request.position}).`,
    'On a machine with the GPU: cudamaster worker THIS_FOLDER',
    'Then copy the folder back with the result.json it has made, and resume the run.',
    'The job compiles and runs the code in files/: run it only if you trust where it comes from.',
    '',
  ].join('\n');

/** Folder name of a request: readable position first, then what tells requests apart. */
export const bundleName = (request: BundleRequest): string =>
  `${request.position.replace(/[^A-Za-z0-9.-]+/g, '_').slice(0, 60)}-${requestHashOf(request).slice(0, 12)}`;

export async function writeResult(
  folder: string,
  request: BundleRequest,
  result: JobResult,
  programVersion: string,
): Promise<void> {
  const file = {
    format: 'cudamaster-bundle-result',
    version: FORMAT.bundle,
    requestHash: requestHashOf(request),
    programVersion,
    result,
  };
  await writeFileAtomic(join(folder, 'result.json'), `${JSON.stringify(file)}\n`, 0o644);
}

/**
 * The result that a worker left, if it answers exactly this request. null = none yet. A result is untrusted too: shape, version,
 * job and steps are checked. Throws AppFailure `input.bundle`, `format.newer`, `format.invalid`.
 */
export async function readResult(folder: string, request: BundleRequest, bundle: JobBundle): Promise<JobResult | null> {
  const data = await readPlain(folder, 'result.json', caps.result);
  if (!data) return null;
  const file = parse(folder, 'result.json', data, resultFileSchema, 'bundle');
  refuseNewer(folder, 'The result', file.result.version, 'jobResult');
  if (file.requestHash !== requestHashOf(request) || file.result.jobHash !== request.jobHash)
    throw bad(folder, 'result.json answers another job.');
  const wanted = bundle.job.steps.map((step) => step.id).join(' ');
  const got = file.result.steps.map((step) => step.id).join(' ');
  if (wanted !== got) throw bad(folder, `result.json holds the steps "${got}", the job has "${wanted}".`);
  for (const [index, step] of bundle.job.steps.entries()) {
    const session = file.result.steps[index]?.session;
    const mode = step.kind === 'session' ? step.plan.mode : null;
    if (session && session.mode !== mode) throw bad(folder, `step ${step.id} of result.json is of another kind.`);
  }
  return file.result;
}

/** Bundle folders named by a path: itself, or those directly inside it. */
export async function findBundles(path: string): Promise<string[]> {
  const isBundle = async (dir: string): Promise<boolean> =>
    (await lstat(join(dir, 'request.json')).catch(() => null)) !== null;
  if (await isBundle(path)) return [path];
  const entries = await readdir(path, { withFileTypes: true }).catch((fault: { code?: string }) => {
    throw bad(path, fault.code === 'ENOENT' ? 'there is no such folder.' : `it cannot be read (${fault.code}).`);
  });
  const out: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1)))
    if (entry.isDirectory() && !entry.name.startsWith('.') && (await isBundle(join(path, entry.name))))
      out.push(join(path, entry.name));
  if (out.length === 0) throw bad(path, 'it holds no request.json, nor does any folder in it.');
  return out;
}

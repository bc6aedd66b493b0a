/**
 * Packages the desktop program for the system it runs on, into release/.
 * Usage: npm run dist [-- --dir] [--for linux|win32|darwin] [--out DIR] [--electron-dist DIR] [--update-url URL] [--test-build]
 * `--dir`: only the unpacked folder. `--electron-dist`: an unpacked Electron that is there already (nothing is fetched).
 */
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, copyAddon, root } from './bundle.ts';
import { bundleShell } from './electron.ts';
import { packageConfig } from './electron-builder.ts';
import { bundleRenderer } from './renderer.ts';

const systems: Readonly<Record<string, string>> = { linux: 'Linux', win32: 'Windows', darwin: 'macOS' };

/** Why a package for `wanted` cannot be made on `here`; null = it can. */
export function refusal(wanted: string, here: NodeJS.Platform = process.platform): string | null {
  if (systems[wanted] === undefined)
    return `"${wanted}" is no system that is packaged; there are: ${Object.keys(systems).join(', ')}.`;
  if (wanted === here) return null;
  return `A package for ${systems[wanted]} is made on ${systems[wanted]} only: it holds the database's native part and a Node, and npm has installed those of ${systems[here] ?? here} here.`;
}

/** `into`/app: what goes into the archive. No node_modules: everything is bundled. */
async function stageApp(into: string): Promise<void> {
  const { name, version, description, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  await bundleShell(join(into, 'dist/electron'));
  await bundleRenderer(join(into, 'dist/renderer'));
  const meta = {
    name,
    productName: 'CUDAMaster',
    version,
    description,
    license,
    author: 'CUDAMaster',
    desktopName: 'cudamaster-desktop.desktop',
  };
  writeFileSync(
    join(into, 'package.json'),
    `${JSON.stringify({ ...meta, type: 'module', main: 'dist/electron/main.js', dependencies: {} }, null, 2)}\n`,
  );
}

/** `into`: what must be real files: prompts, kernels, recordings, the worker, and the command line with a Node of its own. */
async function stageResources(into: string, renderer: string): Promise<void> {
  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const dist = join(into, 'dist');
  mkdirSync(dist, { recursive: true });
  await bundle({ entry: 'main/cli/main.ts', file: 'cli.js', external: [], nativeBeside: true }, dist);
  await bundle({ entry: 'main/worker/main.ts', file: 'worker.js', external: [] }, dist);
  copyAddon(dist);
  copyFileSync(join(root, 'main/cli/entry.js'), join(dist, 'cudamaster.js'));
  cpSync(renderer, join(dist, 'renderer'), { recursive: true });
  for (const folder of ['prompts', 'kernels', 'test/recordings'])
    cpSync(join(root, folder), join(into, folder), { recursive: true });
  for (const file of ['LICENSE', 'README.md']) copyFileSync(join(root, file), join(into, file));
  writeFileSync(join(into, 'package.json'), `${JSON.stringify({ name, version, type: 'module' }, null, 2)}\n`);
  const windows = process.platform === 'win32';
  const node = windows ? 'node.exe' : 'node';
  copyFileSync(join(root, 'node_modules/node/bin', node), join(into, node));
  chmodSync(join(into, node), 0o755);
  mkdirSync(join(into, 'bin'));
  for (const file of windows ? ['cudamaster.cmd', 'path.ps1'] : ['cudamaster'])
    copyFileSync(join(root, 'build/resources/bin', file), join(into, 'bin', file));
  if (!windows) chmodSync(join(into, 'bin/cudamaster'), 0o755);
}

/** electron-builder's scripts of the deb package with ours after them: giving one replaces its own. */
function stageScripts(into: string): void {
  const templates = join(
    dirname(createRequire(import.meta.url).resolve('app-builder-lib/package.json')),
    'templates/linux',
  );
  mkdirSync(into, { recursive: true });
  for (const name of ['after-install.tpl', 'after-remove.tpl'])
    writeFileSync(
      join(into, name),
      `${readFileSync(join(templates, name), 'utf8')}\n${readFileSync(join(root, 'build/resources/deb', name), 'utf8')}`,
    );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      dir: { type: 'boolean', default: false },
      for: { type: 'string', default: process.platform },
      out: { type: 'string', default: join(root, 'release') },
      'electron-dist': { type: 'string' },
      'update-url': { type: 'string' },
      'test-build': { type: 'boolean', default: false },
    },
  });
  const why = refusal(values.for);
  if (why !== null) {
    console.error(why);
    process.exitCode = 2;
    return;
  }
  const out = resolve(values.out);
  const stage = join(out, '.stage');
  rmSync(stage, { recursive: true, force: true });
  const folders = { app: join(stage, 'app'), resources: join(stage, 'resources'), scripts: join(stage, 'scripts') };
  await stageApp(folders.app);
  await stageResources(folders.resources, join(folders.app, 'dist/renderer'));
  stageScripts(folders.scripts);
  const { build, Platform } = await import('electron-builder');
  const platform =
    { linux: Platform.LINUX, win32: Platform.WINDOWS, darwin: Platform.MAC }[values.for] ?? Platform.LINUX;
  const given = values['electron-dist'] ?? process.env.ELECTRON_OVERRIDE_DIST_PATH;
  const packing = build({
    projectDir: root,
    targets: values.dir ? platform.createTarget('dir') : platform.createTarget(),
    publish: 'never',
    config: packageConfig({
      ...folders,
      out,
      ...(given === undefined ? {} : { electronDist: resolve(given) }),
      ...(values['update-url'] === undefined ? {} : { updateUrl: values['update-url'] }),
      testBuild: values['test-build'],
    }),
  });
  let made: string[];
  try {
    made = await packing;
  } catch (fault) {
    const unreachable = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET/.test(String(fault));
    if (!unreachable) throw fault;
    console.error(
      `Electron or a tool of electron-builder could not be fetched: ${String(fault)}\n  What to do: connect to the network once (they are kept in its cache), or pack the folder alone: npm run dist -- --dir --electron-dist FOLDER`,
    );
    process.exitCode = 3;
    return;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
  for (const file of made) console.log(file);
  if (values.dir) console.log(`${out}: unpacked folder`);
}

if (import.meta.main) await main();

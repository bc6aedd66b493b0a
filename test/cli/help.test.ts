import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { addCommands } from '../../main/cli/commands.ts';
import { pages } from '../../main/cli/help.ts';
import { errorCodes, exitCodeOf, exitCodes } from '../../main/contract/index.ts';
import { root } from '../app/lab.ts';
import { tempFolder } from '../store/samples.ts';
import { inProcess } from './program.ts';

beforeEach(() => {
  vi.stubEnv('CUDAMASTER_HOME', tempFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
});

/** Every command by its words, groups and their members alike. */
function commands(): Map<string, Command> {
  const program = new Command('cudamaster');
  const never = () => {
    throw new Error('no command runs here');
  };
  addCommands(program, never, never);
  const found = new Map<string, Command>();
  const visit = (command: Command, name: string): void => {
    found.set(name, command);
    for (const sub of command.commands) visit(sub, `${name} ${sub.name()}`);
  };
  for (const command of program.commands) visit(command, command.name());
  // It reads its arguments itself.
  found.set('worker', new Command('worker').argument('[args...]'));
  return found;
}

describe('help', () => {
  it('of every command names its arguments, exit codes and examples, and no default as it lies in memory', async () => {
    const all = commands();
    expect(Object.keys(pages).sort()).toEqual([...all.keys()].sort());
    for (const [name, command] of all) {
      const page = pages[name];
      for (const argument of command.registeredArguments)
        expect([name, argument.name(), page?.args?.[argument.name()] ?? '']).not.toContain('');
      const help = await inProcess(...name.split(' '), '--help');
      expect([name, help.code, help.err]).toEqual([name, 0, '']);
      expect(help.out).toContain('--json');
      expect(help.out).toContain('Exit codes: 0');
      expect(help.out).not.toMatch(/default: (\[|\{|undefined|null)/);
      if (name === 'worker') continue;
      for (const example of page?.examples ?? []) expect(help.out).toContain(`  ${example}\n`);
      for (const option of command.options)
        if (option.mandatory) expect([name, help.out]).toEqual([name, expect.stringContaining('(required)')]);
      // Lines are short enough for a terminal of 80 columns, examples apart: those are copied.
      for (const line of help.out.split('\n'))
        if (!line.startsWith('  cudamaster ')) expect([name, line.length <= 80, line]).toEqual([name, true, line]);
    }
  });

  it('shows examples that the program would take', () => {
    for (const [name, command] of commands())
      for (const example of pages[name]?.examples ?? []) {
        expect(example.startsWith(`cudamaster ${name}`)).toBe(true);
        if (name === 'worker') continue;
        const words = example.slice(`cudamaster ${name}`.length).match(/"[^"]*"|\S+/g) ?? [];
        const flags = words.filter((w) => w.startsWith('--')).map((w) => w.split('=')[0]);
        const known = [...command.options.map((o) => o.long), '--json'];
        for (const flag of flags) expect([example, known]).toEqual([example, expect.arrayContaining([flag])]);
        for (const option of command.options)
          if (option.mandatory) expect([example, flags]).toEqual([example, expect.arrayContaining([option.long])]);
      }
  });

  it('is the same asked for either way, and as JSON; a command that is not there is named', async () => {
    for (const words of [['purge'], ['bench', 'resume'], ['worker']]) {
      const asked = await inProcess('help', ...words);
      expect([words, asked.code, asked.out]).toEqual([words, 0, (await inProcess(...words, '--help')).out]);
    }
    const text = (await inProcess('help', 'bench', 'resume', '--json')).last.text;
    expect(text).toMatch(/^Usage: cudamaster bench resume[\s\S]*cudamaster bench resume last/);
    expect((await inProcess('help')).out).toBe((await inProcess('--help')).out);
    for (const words of [
      ['help', 'nobody'],
      ['nobody', '--help'],
    ]) {
      const unknown = await inProcess(...words, '--json');
      expect([unknown.code, unknown.last]).toMatchObject([
        2,
        { error: { code: 'usage', message: 'There is no command "nobody".' } },
      ]);
    }
  });
});

describe('exit codes', () => {
  it('are the same in the catalogue, the help and README', async () => {
    const known = exitCodes.map((e) => e.code);
    for (const code of errorCodes) expect([code, known]).toEqual([code, expect.arrayContaining([exitCodeOf(code)])]);
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const { out } = await inProcess('--help');
    for (const { code, means } of exitCodes) {
      expect(readme).toContain(`| ${code} | ${means} |`);
      expect(out).toContain(`${String(code).padStart(5)}  ${means}`);
    }
    for (const [name, page] of Object.entries(pages))
      for (const exit of page.exits) expect([name, known]).toEqual([name, expect.arrayContaining([[exit].flat()[0]])]);
  });

  it('and --json: the last line is the result or the fault, for every command that needs no GPU and no network', async () => {
    const cases: [string[], number][] = [
      [['tasks'], 0],
      [['runs'], 0],
      [['history'], 0],
      [['show', 'last'], 7],
      [['resume', 'last'], 7],
      [['export', 'last', '--out', 'x.zip'], 7],
      [['record', 'last', '--out', 'x.cudamaster'], 7],
      [['note', 'last:r1.a0', 'x'], 7],
      [['pin', 'last:r1.a0'], 7],
      [['unpin', 'last:r1.a0'], 7],
      [['delete', 'last'], 7],
      [['restore', 'last'], 7],
      [['purge'], 0],
      [['replay', 'none.cudamaster'], 2],
      [['profile'], 2],
      [['profile', '--of', 'last'], 7],
      [['eval', 'dot_product', '--candidate', 'none.cu'], 2],
      [['optimize', 'no_such_task'], 2],
      [['models', '--provider', 'manual'], 2],
      [['consent'], 0],
      [['prices'], 0],
      [['prices', 'set', 'm', '--input', '1', '--output', '-1', '--source', 's'], 2],
      [['prices', 'remove', 'm'], 2],
      [['providers', 'remove', 'nobody'], 2],
      [['spend'], 0],
      [['bench', 'resume', 'last'], 7],
      [['bench', 'compare', 'last', 'last'], 7],
      [['worker', 'nowhere'], 2],
      [['--version'], 0],
      [[], 2],
    ];
    for (const [args, code] of cases) {
      const ran = await inProcess(...args, '--json');
      expect([args, ran.code]).toEqual([args, code]);
      expect([args, typeof ran.last]).toEqual([args, 'object']);
      if (code !== 0) expect([args, ran.last]).toEqual([args, expect.objectContaining({ ok: false })]);
    }
  });
});

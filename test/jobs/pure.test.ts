import { describe, expect, it } from 'vitest';
import type { ChildExit } from '../../main/base/process.ts';
import type { Recording } from '../../main/contract/index.ts';
import { badName, checkBundle, jobHash, requestHash } from '../../main/jobs/bundle-hash.ts';
import { classifyBuild } from '../../main/jobs/classify.ts';
import { filterDiagnostics, maskedPath, removedMark } from '../../main/jobs/diagnostics.ts';
import { Gate } from '../../main/jobs/gate.ts';
import { RecordingExecutor } from '../../main/jobs/recording.ts';
import { buildArgv, substitute } from '../../main/jobs/substitute.ts';
import { buildStep, bundleOf, tools } from './support.ts';

const gpuTools = {
  ...tools,
  nvcc: '/opt/cuda/bin/nvcc',
  cxx: '/usr/bin/g++-12',
  toolkit: '/opt/cuda',
  arch: 'sm_90',
  archs: ['sm_80', 'sm_90'],
};
const job = bundleOf({}, []).job;

describe('substitute', () => {
  it('replaces symbols inside an argument and keeps it one argument', () => {
    const done = substitute(['-I{toolkit}/include', '-DX="a b;{arch}"'], { toolkit: '/opt/my cuda', arch: 'sm_90' });
    expect(done).toEqual({ ok: true, value: ['-I/opt/my cuda/include', '-DX="a b;sm_90"'] });
  });

  it('refuses unknown names, and names that exist on objects anyway', () => {
    for (const arg of ['{home}', '{constructor}', '{toString}'])
      expect(substitute([arg], { toolkit: '/x' })).toMatchObject({ ok: false, error: { code: 'usage' } });
  });

  it('never substitutes twice', () => {
    expect(substitute(['{a}'], { a: '{b}', b: 'no' })).toEqual({ ok: true, value: ['{b}'] });
  });

  it('adds the host compiler and the folders of a spread-out toolkit', () => {
    const step = buildStep({ id: 'b', tool: 'nvcc', args: ['-arch={arch}', '-c', 'a.cu'] });
    const debian = {
      ...gpuTools,
      ccbin: true,
      includeDirs: ['/usr/include', '/usr/lib/cuda/include'],
      libDirs: ['/usr/lib/cuda/lib'],
    };
    expect(buildArgv(step, job, debian, '/s')).toEqual({
      ok: true,
      value: [
        '/opt/cuda/bin/nvcc',
        '-ccbin',
        '/usr/bin/g++-12',
        '-arch=sm_90',
        '-c',
        'a.cu',
        '-isystem=/usr/lib/cuda/include',
        '-L/usr/lib/cuda/lib',
      ],
    });
  });

  it('says what is missing, with a remedy: no GPU for native, unknown architecture, no nvcc', () => {
    const step = buildStep({ id: 'b', tool: 'nvcc', args: ['-arch={arch}'] });
    const native = { ...job, arch: 'native' };
    const code = (r: ReturnType<typeof buildArgv>): unknown =>
      r.ok ? 'ok' : [r.error.code, r.error.remedy !== undefined];
    expect(code(buildArgv(step, native, { ...gpuTools, arch: null }, '/s'))).toEqual(['env.gpu-missing', true]);
    expect(code(buildArgv(step, native, gpuTools, '/s'))).toBe('ok');
    expect(code(buildArgv(step, { ...job, arch: 'sm_120' }, gpuTools, '/s'))).toEqual(['env.arch-unsupported', true]);
    expect(code(buildArgv(step, job, { ...gpuTools, nvcc: null }, '/s'))).toEqual(['env.toolkit-missing', true]);
    const cxx = buildStep({ id: 'b', tool: 'cxx', args: [] });
    expect(code(buildArgv(cxx, job, { ...gpuTools, cxx: null }, '/s'))).toEqual(['env.host-compiler', true]);
  });
});

describe('bundle checks', () => {
  it.each(['../x', '/etc/passwd', 'a/../b', '.hidden', 'a//b', 'a b', '', 'a\\b', 'x/.tmp', 'a\0'])(
    'refuses the name %j',
    (name) => {
      expect(badName(name)).not.toBeNull();
    },
  );

  it('refuses contents that do not match, missing contents, and steps that point out or ahead', () => {
    const good = bundleOf({ 'a.cpp': 'int x;' }, [buildStep({ id: 'b', args: [], inputs: ['a.cpp'], outputs: ['o'] })]);
    expect(checkBundle(good).ok).toBe(true);
    const [hash = ''] = good.contents.keys();
    expect(checkBundle({ ...good, contents: new Map([[hash, 'int y;']]) }).ok).toBe(false);
    expect(checkBundle({ ...good, contents: new Map() }).ok).toBe(false);
    const withStep = (step: Parameters<typeof buildStep>[0]): boolean =>
      checkBundle(bundleOf({}, [buildStep(step)])).ok;
    expect(withStep({ id: 'x', args: [], outputs: ['../../out'] })).toBe(false);
    expect(withStep({ id: '../x', args: [] })).toBe(false);
    expect(withStep({ id: 'x', args: [], needs: ['later'] })).toBe(false);
    expect(checkBundle(bundleOf({}, [], { keep: ['/etc/passwd'] })).ok).toBe(false);
  });

  it('hashes a job by value, not by the order of its keys', () => {
    const reversed = Object.fromEntries(Object.entries(job).reverse()) as typeof job;
    expect(jobHash(reversed)).toBe(jobHash(job));
    expect(jobHash({ ...job, arch: 'sm_80' })).not.toBe(jobHash(job));
  });
});

const exit = (more: Partial<ChildExit>): ChildExit => ({
  exitCode: 1,
  signal: null,
  ended: null,
  startError: null,
  stdout: '',
  stderr: '',
  wallMs: 1,
  maxRssMiB: 1,
  ...more,
});
const verdict = (more: Partial<ChildExit>): unknown => {
  const { status, reason } = classifyBuild(exit(more), buildStep({ id: 'b', tool: 'nvcc', args: [] }), 'nvcc a.cu');
  return reason ? `${status} ${reason.code}` : status;
};

describe('classifyBuild', () => {
  it.each([
    ['candidate.cu(3): error: identifier "x" is undefined\n\n1 error detected', 'failed'],
    ["nvcc fatal   : Unknown option '-fast'", 'failed'],
    ['candidate.cu:1:10: fatal error: my_cuda_runtime.h: No such file or directory', 'failed'],
    ['', 'environment env.toolkit-broken'],
    [
      '/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 12 are not supported!',
      'environment env.host-compiler',
    ],
    ["nvcc fatal   : Cannot find compiler 'cl.exe' in PATH", 'environment env.host-compiler'],
    ["g++: fatal error: cannot execute 'cc1plus': execvp: No such file or directory", 'environment env.host-compiler'],
    ['<command-line>: fatal error: cuda_runtime.h: No such file or directory', 'environment env.toolkit-broken'],
    ["nvcc fatal   : Unsupported gpu architecture 'compute_120'", 'environment env.arch-unsupported'],
    ["ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'", 'environment env.arch-unsupported'],
    ['/usr/bin/ld: final link failed: No space left on device', 'environment env.disk-full'],
    ['/usr/bin/ld: cannot find -lcudart_static: No such file or directory', 'environment env.toolkit-broken'],
    ["nvcc error   : 'cudafe++' died due to signal 9 (Kill signal)", 'killed env.killed'],
    ["nvcc error   : 'ptxas' died due to signal 11 (Invalid memory reference)", 'killed env.killed'],
    ['Killed', 'killed env.killed'],
    ['g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.', 'killed env.killed'],
    ['a.cpp:4:1: internal compiler error: Segmentation fault', 'killed env.killed'],
  ])('%j is %s', (stderr, expected) => {
    expect(verdict({ stderr })).toBe(expected);
  });

  it.each([
    'candidate.cu:2:2: error: #error unsupported GNU version! No space left on device',
    'candidate.cu(2): error: static assertion failed with "cuda_runtime.h: No such file; Killed"',
    'candidate.cu:1:9: note: #pragma message: nvcc fatal : Unsupported gpu architecture',
    'candidate.cu(5): error: x\n    5 | // No space left on device',
  ])('a source cannot pass its fault off as the machine’s: %j', (stderr) => {
    expect(verdict({ stderr })).toBe('failed');
  });

  it('tells limits, signals and failed starts apart', () => {
    expect(verdict({ ended: 'timeout', signal: 'SIGTERM', exitCode: null })).toBe('timeout env.killed');
    expect(verdict({ ended: 'memory', signal: 'SIGKILL', exitCode: null })).toBe('killed env.killed');
    expect(verdict({ signal: 'SIGSEGV', exitCode: null })).toBe('killed env.killed');
    expect(verdict({ startError: 'ENOENT: no such program', exitCode: null })).toBe('environment env.toolkit-missing');
    expect(verdict({ startError: 'ESANDBOX: bwrap: no', exitCode: 1 })).toBe('environment env.sandbox-missing');
    expect(verdict({ exitCode: 0, stderr: 'Killed' })).toBe('ok');
  });
});

describe('filterDiagnostics', () => {
  const scope = { own: ['/tmp/cm-1/b0', '/cm/build'], system: ['/usr/include', '/usr/local/cuda-13.0', '/usr/bin'] };
  const filter = (text: string): string => filterDiagnostics(text, scope);

  it('keeps what concerns the job, with relative names', () => {
    const text =
      'candidate.cu(3): error: no "x"\n  a = b /c;\n      ^\n\n1 error detected in the compilation of "candidate.cu".';
    expect(filter(text)).toBe(text);
    expect(filter('/cm/build/candidate.cu(3): error: x')).toBe('candidate.cu(3): error: x');
    expect(filter('/tmp/cm-1/b0/candidate.cu(3): error: x')).toBe('candidate.cu(3): error: x');
    expect(filter('ptxas /tmp/tmpxft_00002423_00000000-6_a.ptx, line 5; error')).toBe('ptxas a.ptx, line 5; error');
    expect(filter('/usr/include/c++/12/vector:5:3: error: x\n    5 | code')).toContain('| code');
  });

  it('drops diagnostics about other files with all that they quote', () => {
    const text = [
      'In file included from candidate.cu:1:',
      '/home/u/.ssh/id_rsa:1:1: error: expected unqualified-id',
      '    1 | -----BEGIN KEY',
      '      | ^',
      '../other/reference.h(7): error: x',
      '  double secret = 42;',
      'candidate.cu(9): error: y',
      '  mine',
    ].join('\n');
    const out = filter(text);
    expect(out).not.toMatch(/BEGIN|id_rsa|secret|reference/);
    expect(out.split('\n').filter((line) => line === removedMark).length).toBe(1);
    expect(out).toContain('candidate.cu(9): error: y\n  mine');
  });

  it('masks paths outside in messages about the job’s own file', () => {
    const out = filter('candidate.cu:1:10: fatal error: /home/u/secret.h: Permission denied');
    expect(out).toBe(`candidate.cu:1:10: fatal error: ${maskedPath}: Permission denied`);
    expect(filter('/usr/bin/ld: /home/u/x.o: file not recognized')).not.toContain('/home/u');
    expect(filter('candidate.cu:1:10: fatal error: ../../x.h: No such file')).not.toContain('../');
  });
});

describe('Gate', () => {
  const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

  it('runs builds side by side up to the limit, measurements alone and after them', async () => {
    const gate = new Gate(2);
    let builds = 0;
    let most = 0;
    const log: string[] = [];
    const build = (): Promise<void> =>
      gate.build(async () => {
        most = Math.max(most, ++builds);
        await pause(15);
        builds--;
        log.push('build');
      });
    const measure = (): Promise<void> =>
      gate.measure(async () => {
        expect(builds).toBe(0);
        await pause(15);
        expect(builds).toBe(0);
        log.push('measure');
      });
    await Promise.all([build(), measure(), build(), build(), measure(), build()]);
    expect(most).toBe(2);
    expect(log).toEqual(['build', 'build', 'build', 'build', 'measure', 'measure']);
  });

  it('gives an exclusive build the machine', async () => {
    const gate = new Gate(4);
    let running = 0;
    const one = (exclusive: boolean): Promise<void> =>
      gate.build(async () => {
        running++;
        if (exclusive) expect(running).toBe(1);
        await pause(10);
        if (exclusive) expect(running).toBe(1);
        running--;
      }, exclusive);
    await Promise.all([one(false), one(false), one(true), one(false), one(true), one(false)]);
  });

  it('goes on after a failure', async () => {
    const gate = new Gate(1);
    await expect(gate.build(() => Promise.reject(new Error('x')))).rejects.toThrow('x');
    await expect(gate.measure(() => Promise.resolve(1))).resolves.toBe(1);
  });
});

describe('RecordingExecutor', () => {
  const bundle = bundleOf({ a: 'x' }, [buildStep({ id: 'b', args: [] })]);
  const result = {
    version: 1,
    jobHash: jobHash(bundle.job),
    machine: { ...tools.machine },
    startedAt: '2026-01-01T00:00:00Z',
    wallMs: 1,
    steps: [
      {
        id: 'b',
        status: 'ok' as const,
        exitCode: 0,
        signal: null,
        wallMs: 1,
        cached: false,
        command: '',
        stdout: '',
        stderr: '',
      },
    ],
    outputs: {},
  };
  const recording = {
    steps: [
      {
        position: 'r0.baseline',
        requestHash: requestHash({ kind: 'job', job: bundle.job }),
        response: { kind: 'job', result },
      },
    ],
  } as unknown as Recording;
  const options = { rootSeed: 'ab', position: 'r0.baseline' };

  it('answers by position', async () => {
    const changes: unknown[] = [];
    const executor = new RecordingExecutor(recording, { onChange: (c) => changes.push(c), strict: true });
    await expect(executor.execute(bundle, options)).resolves.toEqual({ kind: 'done', result });
    expect(changes).toEqual([]);
  });

  it('reports a changed request, and fails on it when strict', async () => {
    const other = bundleOf({ a: 'y' }, [buildStep({ id: 'b', args: [] }), buildStep({ id: 'c', args: [] })]);
    const changes: { what: string }[] = [];
    await new RecordingExecutor(recording, { onChange: (c) => changes.push(c) }).execute(other, options);
    expect(changes).toHaveLength(1);
    expect(changes[0]?.what).toContain('new steps c');
    const strict = new RecordingExecutor(recording, { strict: true }).execute(other, options);
    await expect(strict).rejects.toMatchObject({ error: { code: 'replay.diverged' } });
  });

  it('cannot answer a position that was never recorded', async () => {
    const asked = new RecordingExecutor(recording).execute(bundle, { ...options, position: 'r1.a0.eval' });
    await expect(asked).rejects.toMatchObject({ error: { code: 'replay.diverged' } });
  });
});

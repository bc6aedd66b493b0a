/** Every parser of text that comes from elsewhere, with real samples and what a wrong "ok" would be. `run` throws for anything that must not be. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinContinuation, openBraces, readCode } from '../../main/agents/code-reply.ts';
import { scanBlocks } from '../../main/agents/fence.ts';
import { jsonObjects } from '../../main/agents/json-reply.ts';
import { checkArguments, readArguments } from '../../main/agents/nvcc-arguments.ts';
import { readText } from '../../main/agents/text-reply.ts';
import { stripThinking } from '../../main/agents/thinking.ts';
import { readSettings, settingsFile, settingsSchema } from '../../main/app/settings.ts';
import {
  AppFailure,
  errorCodes,
  type Recording,
  recordingSchema,
  taskSchema,
  unwrap,
} from '../../main/contract/index.ts';
import { buildFacts, diagnosticsOf } from '../../main/evaluate/build-facts.ts';
import { screen } from '../../main/evaluate/screen/index.ts';
import { lex } from '../../main/evaluate/screen/lex.ts';
import { refusedNames } from '../../main/evaluate/screen/rules.ts';
import { checkTask } from '../../main/evaluate/task/check.ts';
import { loadTask, parseTask } from '../../main/evaluate/task/load.ts';
import { BundleExecutor } from '../../main/jobs/bundle.ts';
import { readBundle, readResult } from '../../main/jobs/bundle-folder.ts';
import { classifyBuild } from '../../main/jobs/classify.ts';
import { filterDiagnostics } from '../../main/jobs/diagnostics.ts';
import { classifyNcu, hasLaunches, replayMemory, unknownNcuFault } from '../../main/jobs/session/classify-ncu.ts';
import { messagesOf, passesIn, rawTable, unknownMetrics } from '../../main/jobs/session/ncu-table.ts';
import { countErrors } from '../../main/jobs/session/sanitize.ts';
import { classify } from '../../main/llm/fault.ts';
import { loadPrices } from '../../main/llm/prices.ts';
import { retryAfterMs } from '../../main/llm/retry-after.ts';
import { emptyAnswer, takeChunk } from '../../main/llm/stream.ts';
import { parseRaw } from '../../main/profile/parse-raw.ts';
import { parseSource } from '../../main/profile/parse-source.ts';
import { kernelStatics } from '../../main/profile/ptxas.ts';
import { verdict } from '../../main/profile/table2.ts';
import { parseRecording } from '../../main/store/index.ts';
import { parseQueryAnswer } from '../../main/toolchain/deviceQuery.ts';
import { parseDriverSupports, parseMigList, parseProcVersion, parseQuery, smiFault } from '../../main/toolchain/gpu.ts';
import { parseUsers } from '../../main/toolchain/gpu-users.ts';
import { parseAdminOnly, parseNcuVersion } from '../../main/toolchain/ncu.ts';
import { wrapperTarget } from '../../main/toolchain/search.ts';
import { parseArchs, parseDryrun, parseMaxGcc, parseNvccVersion } from '../../main/toolchain/toolkit.ts';

export const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

export interface Target {
  readonly name: string;
  readonly samples: readonly string[];
  /** A second for some inputs is the rule. */
  readonly slow?: true;
  run(text: string): void | Promise<void>;
}

const must = (good: boolean, what: string): void => {
  if (!good) throw new Error(`wrong ok: ${what}`);
};

/** An expected refusal: one of our own codes. Anything else thrown is a crash. */
function refusal(fault: unknown, codes: readonly string[]): void {
  if (!(fault instanceof AppFailure)) throw fault;
  must(codes.includes(fault.error.code), `refused with ${fault.error.code}: ${fault.error.message.slice(0, 200)}`);
  must(fault.error.message.length > 10, 'a refusal without a message');
}

const recordings = readdirSync(join(root, 'test/recordings'))
  .filter((name) => name !== 'index.json')
  .map((name) => read(`test/recordings/${name}`));
const parsed = recordings.map((text) => JSON.parse(text) as Recording);
const steps = parsed.flatMap((r) => r.steps);
const jobs = steps.flatMap(({ response }) => (response.kind === 'job' ? [response.result] : []));
const replies = steps.flatMap(({ response }) => (response.kind === 'chat' ? [response.reply.text] : []));
const sources = readdirSync(join(root, 'test/candidates/dot_product'))
  .filter((n) => n.endsWith('.cu'))
  .map((n) => read(`test/candidates/dot_product/${n}`));

/** The first columns of a page: the whole of 2,227 metrics takes a hundred times as long and is parsed alike. */
const narrow = (csv: string, columns: number): string =>
  csv
    .split('\n')
    .map((line) =>
      line.startsWith('"')
        ? `${line
            .slice(1, -1)
            .split('","')
            .slice(0, columns)
            .map((c) => `"${c}"`)
            .join(',')}`
        : line,
    )
    .join('\n');

const fixture = (name: string): string => read(`test/fixtures/ncu/${name}`);
const buildTexts = jobs
  .flatMap((job) => job.steps.filter((s) => s.id.startsWith('build')).map((s) => `${s.stderr}\n${s.stdout}`))
  .filter((t) => t.trim() !== '');
const compilerTexts = [
  ...buildTexts.slice(0, 6),
  'a.cu(12): error: identifier "foo" is undefined\n  x = foo;\n      ^\n\n1 error detected in the compilation of "candidate.cu".\n',
  "nvcc error   : 'cudafe++' died due to signal 9 (Kill signal)\n",
  '/home/someone/secret.h:3:5: error: #error SECRET-CONTENT\n    3 | SECRET-CONTENT\n      |     ^\ncompilation terminated.\n',
  'ptxas error   : Entry function uses too much shared data (0x1c008 bytes, 0xc000 max)\n',
];
const ncuLogs = [
  '==PROF== Connected to process 1 (/runner)\n==PROF== Profiling "k" - 0: 0%....50%....100% - 8 passes\n==PROF== Disconnected from process 1\n',
  '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.\n',
  '==WARNING== No kernels were profiled.\n==WARNING== Profiling kernels launched by child processes requires the --target-processes all option.\n',
  '==ERROR== Failed to find metric foo__bar.sum\n==ERROR== Profiling failed because a driver resource was unavailable.\n',
];

const { task } = unwrap(loadTask(root, 'dot_product'));
const wrapper = 'dot_product_optimized';

/** Folder of the targets that read files. */
const work = mkdtempSync(join(tmpdir(), 'cm-fuzz-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));

async function bundleSample(): Promise<{
  folder: string;
  request: string;
  job: string;
  result: string;
  run: (file: string, text: string) => Promise<void>;
}> {
  const job = { version: 1, label: 'fuzz', arch: 'sm_90', files: {}, steps: [], keep: [] } as never;
  const bundle = { job, contents: new Map<string, string>() };
  const executor = new BundleExecutor({ root: join(work, 'bundles'), programVersion: '0', resumeCommand: 'resume' });
  const options = { rootSeed: 'ab', position: 'r0' };
  const parked = await executor.execute(bundle, options);
  if (parked.kind !== 'parked') throw new Error('not parked');
  const folder = parked.waiting.path;
  const opened = await readBundle(folder);
  const { writeResult } = await import('../../main/jobs/bundle-folder.ts');
  const { jobHash } = await import('../../main/jobs/bundle-hash.ts');
  const [one] = jobs;
  if (!one) throw new Error('no job in the recordings');
  await writeResult(folder, opened.request, { ...one, jobHash: jobHash(job), steps: [], outputs: {} }, '0');
  const texts = Object.fromEntries(
    ['request.json', 'job.json', 'result.json'].map((n) => [n, readFileSync(join(folder, n), 'utf8')]),
  ) as Record<string, string>;
  const codes = ['input.bundle', 'format.invalid', 'format.newer'];
  return {
    folder,
    request: texts['request.json'] ?? '',
    job: texts['job.json'] ?? '',
    result: texts['result.json'] ?? '',
    run: async (file, text) => {
      writeFileSync(join(folder, file), text);
      try {
        if (file === 'result.json') {
          const found = await readResult(folder, opened.request, bundle);
          must(
            found !== null && found.jobHash === jobHash(job) && found.steps.length === 0,
            'the result of another job',
          );
        } else {
          const found = await readBundle(folder);
          must(found.request.jobHash === jobHash(found.bundle.job), 'a job that is not the one named');
        }
      } catch (fault) {
        refusal(fault, codes);
      } finally {
        writeFileSync(join(folder, file), texts[file] ?? '');
      }
    },
  };
}

const finite = (value: unknown, where: string): void => {
  if (typeof value === 'number') must(Number.isFinite(value), `${where} is ${value}`);
  else if (Array.isArray(value)) for (const v of value) finite(v, where);
  else if (value !== null && typeof value === 'object')
    for (const [k, v] of Object.entries(value)) finite(v, `${where}.${k}`.slice(-80));
};

function launchesOf(text: string): void {
  const { launches, shape } = parseRaw(text);
  finite(launches, 'launch');
  const rows = text.split(/\r\n|\r|\n/).filter((l) => /^"\d+",/.test(l)).length;
  must(launches.length <= rows, `${launches.length} launches of ${rows} rows`);
  must(launches.length === 0 || shape !== 'none', 'launches without a table');
  const { bottleneck, launch } = verdict(launches);
  if (bottleneck !== null) {
    const of = launches.find((l) => l.index === launch) ?? launches[launch ?? 0];
    const id = 'sm__throughput.avg.pct_of_peak_sustained_elapsed';
    must(of?.metrics[id]?.available === true, `a verdict ${bottleneck} without compute throughput`);
  }
  hasLaunches(text);
}

/** All parsers. `async`: bundles are made first. */
export async function targets(): Promise<readonly Target[]> {
  const bundle = await bundleSample();
  return [
    {
      name: 'ncu raw page',
      samples: [narrow(fixture('gemm_full_raw.csv'), 60), narrow(fixture('spmv_asked_raw.csv'), 60)],
      run: launchesOf,
    },
    { name: 'ncu details page', samples: [fixture('dot_details.csv'), fixture('gemm_basic.csv')], run: launchesOf },
    {
      name: 'ncu source page',
      samples: [fixture('src_cuda_sass.csv').slice(0, 30_000)],
      run: (text) => finite(parseSource(text), 'source'),
    },
    {
      name: 'ncu log',
      samples: ncuLogs,
      run: (text) => {
        const reason = classifyNcu(text) ?? unknownNcuFault(text, 1);
        must(
          (errorCodes as readonly string[]).includes(reason.code) && reason.code.startsWith('env.ncu'),
          `code ${reason.code}`,
        );
        must(reason.message.length < 2000, 'an endless message');
        if (/ERR_NVGPUCTRPERM/.test(text)) must(classifyNcu(text) !== null, 'a permission fault that is none');
        countErrors(text);
        replayMemory(text, false);
        const asked = ['foo__bar.sum', 'sm__throughput.avg.pct_of_peak_sustained_elapsed'];
        must(
          unknownMetrics(text, asked).every((id) => asked.includes(id)),
          'a metric that nobody asked for',
        );
        const passes = passesIn(rawTable(text), messagesOf(text));
        must(passes === null || Number.isFinite(passes), 'passes');
      },
    },
    {
      name: 'nvcc and ptxas output',
      samples: compilerTexts,
      run: (text) => {
        const exit = {
          exitCode: 1,
          signal: null,
          stdout: '',
          stderr: text,
          ended: null,
          startError: null,
          wallMs: 1,
        } as never;
        const limits = { wallMs: 1000, memoryMiB: 100, outputBytes: 1000 };
        const verdict = classifyBuild(exit, { tool: 'nvcc', limits } as never, 'nvcc x.cu');
        must(verdict.status !== 'ok', 'exit code 1 is ok');
        if (verdict.status === 'environment' || verdict.status === 'killed')
          must(verdict.reason !== undefined, 'no reason');
        const shown = filterDiagnostics(text, { own: ['/scratch'], system: ['/usr/include'] });
        must(shown.length <= 15 * text.length + 200, 'the filter makes text');
        const step = {
          id: 'b',
          status: 'failed',
          exitCode: 1,
          signal: null,
          wallMs: 1,
          cached: false,
          command: '',
          stdout: '',
          stderr: text,
        };
        finite(buildFacts(step as never), 'build');
        must(diagnosticsOf(step as never).length <= 8000, 'diagnostics without end');
        for (const kernel of kernelStatics(text)) must(kernel.registers === null || kernel.registers >= 0, 'registers');
      },
    },
    {
      name: 'chat reply: code',
      samples: replies.filter((r) => r.includes(wrapper)),
      run: (text) => {
        for (const finish of ['stop', 'length', 'other'] as const) {
          const reply = readCode(text, finish, wrapper);
          if (reply.kind !== 'code') continue;
          must(reply.source.includes(wrapper), 'code without the wrapper');
          // A block that was closed is the model's own; one that was not may have been cut anywhere.
          const closed = scanBlocks(stripThinking(text).answer).some((b) => b.closed && b.content.includes(wrapper));
          must(closed || openBraces(reply.source) <= 0 || /"\s*:\s*"/.test(text), 'code that was cut');
          must(!reply.source.includes('</think>') || text.split('</think>').length > 2, 'thoughts taken for code');
        }
        scanBlocks(text);
        stripThinking(text);
        must(joinContinuation('```cuda\nint a;', text).length <= text.length + 20, 'a continuation that grows');
      },
    },
    {
      name: 'chat reply: words and options',
      samples: [
        ...replies.filter((r) => !r.includes(wrapper)),
        '["-O3", "-std=c++17", "--use_fast_math"]',
        'nvcc -O3 -Xptxas -v k.cu -o k',
      ],
      run: (text) => {
        const words = readText(text, 'stop');
        if (words.kind === 'text')
          must(words.text.length <= 8100 && words.text.trim() !== '', 'a scheme of no or endless length');
        const options = readArguments(text, 'stop');
        if (options.kind !== 'arguments') return;
        const again = checkArguments(options.arguments);
        must(
          again.refused.length === 0,
          `accepted options are refused: ${again.refused.map((r) => r.argument).join(' ')}`,
        );
        must(
          !options.arguments.some((a) => /^-(I|L|include|Xcompiler|o|ccbin)/.test(a)),
          'an option that reaches outside',
        );
        jsonObjects(text);
      },
    },
    {
      name: 'chat stream chunks',
      samples: [
        '{"id":"1","choices":[{"index":0,"delta":{"content":"hello","reasoning_content":null},"finish_reason":null}],"usage":null}',
        '{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"completion_tokens_details":{"reasoning_tokens":3}}}',
        '{"choices":[{"delta":{"role":"assistant","reasoning":"x"},"finish_reason":"length"}],"model":"m"}',
        '{"error":{"message":"overloaded","code":529}}',
      ],
      run: (text) => {
        let chunk: unknown;
        try {
          chunk = JSON.parse(text);
        } catch {
          return; // the reader of lines refuses it before
        }
        const answer = emptyAnswer();
        try {
          const delta = takeChunk(answer, chunk);
          must(typeof delta === 'string', 'a delta that is no text');
        } catch (fault) {
          if (!(fault instanceof AppFailure)) throw fault;
        }
        finite(answer, 'answer');
        must(typeof answer.text === 'string', 'an answer that is no text');
        try {
          const ms = retryAfterMs(new Headers({ 'retry-after': text.slice(0, 40).replace(/[^\x20-\x7e]/g, '') }));
          must(ms === null || (ms >= 0 && Number.isFinite(ms)), `wait ${ms}`);
        } catch (fault) {
          if (!(fault instanceof TypeError)) throw fault;
        }
      },
    },
    {
      name: 'errors of an endpoint',
      samples: [
        '{"error":{"message":"This model\'s maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion).","code":"context_length_exceeded"}}',
        '{"error":{"message":"Unsupported parameter: \'max_tokens\' is not supported with this model. Use \'max_completion_tokens\' instead.","param":"max_tokens","code":"unsupported_parameter"}}',
        '{"error":{"message":"max_tokens must be in the valid range of [1, 8,192]"}}',
        '{"detail":"unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`"}',
        'the request exceeds the available context size: 9000 input tokens, range of temperature',
      ],
      run: (text) => {
        for (const status of [0, 400, 413, 429, 500]) {
          // A message that is not inside JSON, and one that is.
          for (const body of [text, JSON.stringify({ error: { message: text, param: 'max_tokens' } })]) {
            const found = classify(status, body, new Headers());
            must('message' in found ? found.message !== '' : true, 'an error without a text');
            if (found.kind !== 'context') continue;
            for (const n of [found.limit, found.prompt])
              must(n === null || !Number.isNaN(n), 'a limit that is no number');
          }
        }
      },
    },
    {
      name: 'task.json',
      samples: ['dot_product', 'softmax', 'spmv_csr', 'top_k'].map((id) =>
        read(`kernels/mskernelbench/${id}/task.json`),
      ),
      run: (text) => {
        const result = parseTask(text, 'task.json');
        if (!result.ok) {
          must(['input.task', 'format.newer'].includes(result.error.code), result.error.code);
          return;
        }
        must(
          taskSchema.safeParse(result.value).success && checkTask(result.value).length === 0,
          'a task that breaks its rules',
        );
        finite(result.value, 'task');
      },
    },
    {
      name: 'recording',
      samples: parsed
        .map((r) => JSON.stringify({ ...r, steps: r.steps.slice(0, 3) }).slice(0, 120_000))
        .concat(parsed.map((r) => JSON.stringify({ ...r, steps: [] }))),
      run: (text) => {
        try {
          must(recordingSchema.safeParse(parseRecording(text, 'r.json')).success, 'a recording that is none');
        } catch (fault) {
          refusal(fault, ['input.recording', 'format.newer']);
        }
      },
    },
    {
      name: 'settings',
      samples: [
        JSON.stringify({ version: 1, tools: { nvcc: '/x/nvcc' }, localOnly: true, knownRemotes: ['api.x.com'] }),
        '{"version":1}',
      ],
      run: async (text) => {
        writeFileSync(settingsFile(work), text);
        try {
          must(settingsSchema.safeParse(await readSettings(work)).success, 'settings that are none');
        } catch (fault) {
          refusal(fault, ['input.file', 'format.invalid', 'format.newer', 'usage']);
        }
      },
    },
    {
      name: 'prices',
      samples: [
        JSON.stringify({ version: 1, models: [{ model: 'm', inputPerMTok: 1, outputPerMTok: 2 }] }),
        '{"version":1,"models":[]}',
      ],
      run: async (text) => {
        const file = join(work, 'prices.json');
        writeFileSync(file, text);
        const result = await loadPrices(file);
        if (result.ok) finite(result.value, 'prices');
        else
          must(
            ['input.file', 'format.invalid', 'format.newer', 'usage'].includes(result.error.code),
            result.error.code,
          );
      },
    },
    { name: 'bundle: request.json', samples: [bundle.request], run: (text) => bundle.run('request.json', text) },
    { name: 'bundle: job.json', samples: [bundle.job], run: (text) => bundle.run('job.json', text) },
    { name: 'bundle: result.json', samples: [bundle.result], run: (text) => bundle.run('result.json', text) },
    {
      name: 'CUDA source: lexer and screen',
      slow: true,
      samples: [
        ...sources,
        'extern "C" void dot_product_optimized(float* l, const float* X, const float* Y, int N) { fork(); dlopen("x", 1); asm("x"); }\n',
      ],
      run: (text) => {
        const { rejections } = screen(text, task, 'fp32');
        const { tokens } = lex(text);
        const forbidden = tokens.find((t) => t.kind === 'identifier' && Object.hasOwn(refusedNames, t.text));
        if (forbidden) must(rejections.length > 0, `${forbidden.text} passes the screen`);
        if (!text.includes(wrapper)) must(rejections.length > 0, 'a source without the wrapper passes');
      },
    },
    {
      name: 'tools: versions, GPUs, folders',
      samples: [
        'sh: 1: gcc: not found\nnvcc fatal : Cannot find compiler\n',
        'Cuda compilation tools, release 13.0, V13.0.88\n',
        '0, GPU-12345678-0000-0000-0000-000000000000, NVIDIA H200, 9.0, 580.159.04, 143771, [N/A]\n',
        '4711, GPU-1, /usr/bin/python3\n4712, GPU-1, [Not Found]\n',
        'GPU 0: NVIDIA A100 (UUID: GPU-1)\n  MIG 1g.5gb     Device  0: (UUID: MIG-2)\n',
        'NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Release\nCUDA Version: 13.0\n',
        '#$ _HERE_=/usr/local/cuda/bin\n#$ TOP=/usr/local/cuda/bin/..\n#$ INCLUDES="-I/usr/local/cuda/include"\n#$ LIBRARIES=  "-L/usr/local/cuda/lib64"\n',
        'sm_80\nsm_90\n#if __GNUC__ > 15\nVersion 2025.3.1.0 (build 36398880)\nRmProfilingAdminOnly: 1\n',
        'supports 13.0\ngpu 0 9.0 143771 12345678-0000-0000-0000-000000000000 NVIDIA H200\n#!/bin/sh\nexec /usr/lib/nvidia/bin/nvcc "$@"\n',
      ],
      run: (text) => {
        const version = parseNvccVersion(text);
        must(version === null || /^\d+\.\d+$/.test(version.release), 'release');
        for (const arch of parseArchs(text)) must(/^sm_\d+$/.test(arch), arch);
        for (const row of parseQuery(text, ['index', 'uuid', 'name']))
          must(!Object.values(row).includes('[N/A]'), 'absent taken for text');
        for (const gpu of parseQueryAnswer(text).gpus) finite(gpu, 'gpu');
        for (const user of parseUsers(text, 'GPU-1'))
          must(Number.isSafeInteger(user.pid) && /^\S/.test(user.name), 'a program without number or name');
        const gcc = parseMaxGcc(text);
        must(gcc === null || Number.isFinite(gcc), 'gcc');
        for (const parse of [
          parseDryrun,
          parseMigList,
          parseProcVersion,
          parseDriverSupports,
          parseNcuVersion,
          parseAdminOnly,
        ])
          parse(text);
        smiFault(text, false);
        const target = wrapperTarget(text, 'nvcc');
        must(target === null || target.startsWith('/'), 'a wrapper of a relative program');
      },
    },
  ];
}

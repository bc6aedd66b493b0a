import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  briefOf,
  coderRequest,
  compilerRequest,
  defaultBudget,
  plannerRequest,
  sharedParts,
} from '../../main/agents/index.ts';
import { setResourceRoot } from '../../main/base/paths.ts';
import { type ChatRequest, unwrap } from '../../main/contract/index.ts';
import { allowedIncludes, bindEvaluator } from '../../main/evaluate/index.ts';
import { candidateName, loadTask, signature, taskIds } from '../../main/evaluate/task/index.ts';
import { type Evaluator, optimize } from '../../main/optimizer/index.ts';
import {
  evaluation,
  fence,
  jobResult,
  loopConfig,
  loopDeps,
  MemoryLog,
  prompts,
  runsJobs,
  scripted,
} from './support.ts';

const root = join(import.meta.dirname, '../..');
setResourceRoot(root);
afterAll(() => setResourceRoot(root));

const cases = taskIds(root).flatMap((id) => (['fp32', 'bf16'] as const).map((dtype) => ({ id, dtype })));
const text = (r: ChatRequest): string => r.messages.map((m) => m.content).join('\n');

describe('shipped tasks', () => {
  it('are there', () => expect(cases.length).toBeGreaterThanOrEqual(8));

  it.each(cases)('$id $dtype: prompts fit the default context and keep the rubric to themselves', ({ id, dtype }) => {
    const loaded = unwrap(loadTask(root, id));
    const brief = briefOf(loaded.task, dtype, { includes: allowedIncludes });
    expect(brief.wrapper).toBe(candidateName(loaded.task, dtype));
    expect(brief.signature).toBe(signature(loaded.task, dtype, brief.wrapper));
    const base = evaluation('valid', null);
    const shared = unwrap(sharedParts(prompts, brief, base.gpu, null, 'sm_90'));
    const source = loaded.origin[dtype];
    const planner = unwrap(
      plannerRequest(
        prompts,
        {
          shared,
          bestSource: source,
          bestEvaluation: base,
          bestIsOrigin: true,
          profileMode: 'filtered',
          history: [],
        },
        defaultBudget,
      ),
    ).request;
    const coder = unwrap(
      coderRequest(
        prompts,
        { shared, signature: brief.signature, source, scheme: 's', fix: null, replyProblem: null, pitfalls: [] },
        defaultBudget,
      ),
    ).request;
    const compiler = unwrap(
      compilerRequest(prompts, { source, arch: 'sm_90', toolkit: null, dtype, remarks: [], notes: '' }, defaultBudget),
    ).request;
    for (const request of [planner, coder]) {
      expect(text(request)).toContain(brief.signature);
      expect(text(request)).not.toMatch(/reference\.h|generators?\.h|counter-based|seeded/i);
    }
    expect(text(compiler)).toContain(source.trim());
  });
});

describe('the loop over the real evaluator', () => {
  it('plans real jobs, and the real screen turns a thread away before anything is built', async () => {
    const { task, origin } = unwrap(loadTask(root, 'dot_product'));
    const bound: Evaluator = bindEvaluator({
      task: unwrap(loadTask(root, 'dot_product')),
      dtype: 'fp32',
      sizeSet: 'published',
      profile: 'filtered',
      arch: 'native',
      planSeed: 'ab',
    });
    const labels: string[] = [];
    // The jobs are planned and screened for real; running them needs a GPU, so their results are given.
    const evaluator: Evaluator = {
      plan(request) {
        const planned = bound.plan(request);
        if (planned.ok && planned.value.kind === 'job') labels.push(planned.value.bundle.job.label);
        return planned;
      },
      interpret: (request) =>
        evaluation(request.candidate === null ? 'valid' : 'accepted', request.candidate === null ? null : 1.2),
      linked: bound.linked,
    };
    const cheat = `#include <thread>\nextern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, int N) { std::thread([] {}).detach(); }\n`;
    const honest = origin.fp32
      .replace(/\bdot_product_kernel\b/g, 'dot_product_kernel_optimized')
      .replace(/\bdot_product\(/g, 'dot_product_optimized(');
    const provider = scripted((p) => {
      if (p.endsWith('compiler')) return '{"arguments": ["-O3"]}';
      if (p === 'r1.a0.coder') return fence(cheat);
      return p === 'r1.a1.coder' ? fence(honest) : 'Add pairs first.';
    });
    const config = {
      ...loopConfig({ task: 'dot_product', rounds: 1 }),
      brief: briefOf(task, 'fp32', { includes: allowedIncludes }),
      origin: { source: origin.fp32, compileArgs: [] },
    };
    const log = new MemoryLog();
    const outcome = await optimize(
      config,
      loopDeps(log, provider, { evaluator, executor: runsJobs(() => jobResult()) }),
    );
    expect(outcome).toMatchObject({ status: 'done', best: { round: 1, attempt: 1 } });
    expect(log.of('evaluated').map((e) => e.evaluation.outcome)).toEqual(['screen-rejected', 'accepted']);
    expect(labels).toEqual(['dot_product fp32 r0.baseline', 'dot_product fp32 r1.a1']);
    const debug = provider.asked.find((a) => a.position === 'r1.a1.debug');
    expect(debug && text(debug.request)).toContain('host threads are not allowed');
  });
});

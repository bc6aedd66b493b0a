import { canonicalJson, sha256Hex } from '../base/hash.ts';
import type { Job, JobBundle, SessionStep, Step, StepRequest } from '../contract/index.ts';
import { err, ok, type Result } from '../contract/index.ts';

/** Identity of a job: SHA-256 of its canonical JSON. Files enter through their own hashes, seeds do not enter at all. */
export const jobHash = (job: Job): string => sha256Hex(canonicalJson(job));

/** Identity of a step's request as recordings keep it beside the response (`Recording.steps[].requestHash`). */
export const requestHash = (request: StepRequest): string => sha256Hex(canonicalJson(request));

/**
 * Checks that a bundle carries exactly the contents its job names and that every name stays inside scratch.
 * Errors: `input.bundle`.
 */
export function checkBundle(bundle: JobBundle): Result<JobBundle> {
  for (const [name, hash] of Object.entries(bundle.job.files)) {
    const wrong = badName(name);
    if (wrong) return err('input.bundle', `The job names a file ${JSON.stringify(name)}: ${wrong}.`);
    const content = bundle.contents.get(hash);
    if (content === undefined) return err('input.bundle', `The content of ${name} (${hash}) is not in the bundle.`);
    if (sha256Hex(content) !== hash)
      return err('input.bundle', `The content of ${name} does not match its hash ${hash}.`);
  }
  const steps = checkSteps(bundle.job);
  return steps.ok ? ok(bundle) : steps;
}

/** Why a name may not be used as a file in scratch; null = it may. Relative, plain, no way out. */
export function badName(name: string): string | null {
  if (name === '' || name.length > 200) return 'empty or too long';
  if (!/^[A-Za-z0-9_.+-]+(\/[A-Za-z0-9_.+-]+)*$/.test(name))
    return 'only letters, digits and . _ + - in relative paths';
  if (name.split('/').some((part) => part.startsWith('.'))) return 'no part may begin with a dot';
  return null;
}

const gatesOf = (step: SessionStep): string[] =>
  [step.ifVerified, step.ifNominated, ...(step.optionalArms ?? []).map((arm) => arm.ifVerified)].filter(
    (id) => id !== undefined,
  );

function checkSteps(job: Job): Result<Job> {
  const seen = new Set<string>();
  const say = (message: string): Result<never> => err('input.bundle', `${job.label}: ${message}`);
  for (const step of job.steps) {
    if (!/^[A-Za-z0-9_.+-]{1,80}$/.test(step.id)) return say(`the step id ${JSON.stringify(step.id)} is not plain.`);
    if (seen.has(step.id)) return say(`two steps are called ${step.id}.`);
    const gates = step.kind === 'session' ? gatesOf(step) : [];
    for (const need of [...step.needs, ...gates])
      if (!seen.has(need)) return say(`step ${step.id} needs ${need}, which is no earlier step.`);
    for (const name of namesOf(step)) {
      const wrong = badName(name);
      if (wrong) return say(`step ${step.id} names ${JSON.stringify(name)}: ${wrong}.`);
    }
    seen.add(step.id);
  }
  for (const name of job.keep) if (badName(name)) return say(`it keeps ${JSON.stringify(name)}: ${badName(name)}.`);
  return ok(job);
}

/** Files that a step reads or writes in scratch, by its own words. */
export function namesOf(step: Step): string[] {
  if (step.kind === 'build') return [...step.inputs, ...step.outputs];
  const plan = step.plan;
  const arms = 'arms' in plan ? plan.arms : [plan.arm];
  return [plan.runner, plan.judge, plan.shim, ...arms.map((arm) => arm.lib)].filter((name) => name !== '');
}

/** Builds that only optional arms need: a job is whole without them. */
export function optionalBuilds(job: Job): string[] {
  const libs = new Set(job.steps.flatMap(optionalLibs));
  return job.steps.flatMap((step) =>
    step.kind === 'build' && step.outputs.length > 0 && step.outputs.every((name) => libs.has(name)) ? [step.id] : [],
  );
}

function optionalLibs(step: Step): string[] {
  if (step.kind === 'build' || step.optionalArms === undefined || !('arms' in step.plan)) return [];
  const optional = new Set(step.optionalArms.map(({ arm }) => arm));
  return step.plan.arms.filter((arm) => optional.has(arm.id)).map((arm) => arm.lib);
}

/** Steps that must have ended well before this one: those it says, and the builds that make files it names. */
export function needsOf(step: Step, job: Job): string[] {
  const uses = new Set(step.kind === 'build' ? step.inputs : namesOf(step));
  // A session runs without an optional arm whose library could not be made.
  for (const lib of optionalLibs(step)) uses.delete(lib);
  const makers = job.steps.filter((other) => other.kind === 'build' && other.id !== step.id);
  const implied = makers.filter((other) => other.kind === 'build' && other.outputs.some((name) => uses.has(name)));
  // Only earlier steps: checkSteps allows no others, and a circle would wait for ever.
  const before = job.steps.slice(0, job.steps.indexOf(step)).map((other) => other.id);
  return [...new Set([...step.needs, ...implied.map((other) => other.id)])].filter((id) => before.includes(id));
}

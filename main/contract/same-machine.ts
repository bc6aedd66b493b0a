import type { Evaluation } from './evaluation.ts';

/**
 * Whether two evaluations are of one model of GPU with one driver and toolkit, so that their figures may stand side by side. After a run has
 * moved to another machine the origin's are of the new one, and those of earlier versions of the old. Jobs of a run whose bundles go to a
 * cluster are of many GPUs of one model: those are alike. What is not recorded is taken as the same.
 */
export function sameMachine(a: Pick<Evaluation, 'machine'> | null, b: Pick<Evaluation, 'machine'> | null): boolean {
  if (!a?.machine || !b?.machine) return true;
  const facts = ({ gpu, driver, toolkit }: NonNullable<Evaluation['machine']>) => [
    gpu ? `${gpu.name} ${gpu.cc}` : null,
    driver,
    toolkit,
  ];
  const other = facts(b.machine);
  return facts(a.machine).every((fact, i) => fact === null || other[i] === null || fact === other[i]);
}

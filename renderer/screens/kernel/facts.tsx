import { useMemo } from 'react';
import type { TaskDetail, VersionDetail } from '../../../main/contract/api.ts';
import type { Evaluation } from '../../../main/contract/evaluation.ts';
import type { AppError } from '../../../main/contract/result.ts';
import { sanitizedFact } from '../../../main/contract/sanitized.ts';
import { hrefOf } from '../../app/routes.ts';
import { RooflineChart } from '../../charts/roofline.tsx';
import { CopyLine } from '../../ui/copy.tsx';
import { Callout, Facts } from '../../ui/feedback.tsx';
import {
  bytes,
  dims,
  number,
  percent,
  ratio,
  ratioEstimate,
  si,
  stamp,
  time,
  timeEstimate,
  timeUnit,
} from '../../ui/format.ts';
import { Panel } from '../../ui/panels.tsx';
import { sizeRows } from './model.ts';

/** Scored sizes with weights, least traffic, work, and the baseline's times with intervals. */
export function SizesPanel({ detail }: { readonly detail: TaskDetail }) {
  const rows = useMemo(() => sizeRows(detail), [detail]);
  const { baseline } = detail;
  return (
    <Panel title="Sizes and baseline">
      {baseline === null ? (
        <Callout tone="info" icon="info" title="The baseline was never measured here.">
          <p>
            “Measure baseline” evaluates the origin alone: on this machine, or as a bundle for a machine with a GPU. A
            run measures it as its first step, too.
          </p>
        </Callout>
      ) : (
        <p className="muted">
          Measured {stamp(baseline.at)} on {baseline.evaluation.gpu?.name ?? 'an unnamed GPU'}, run{' '}
          <a href={hrefOf('run', [baseline.run])}>{baseline.run}</a>; profile of{' '}
          <a href={hrefOf('profile', [`${baseline.run}:origin`])}>the origin</a>.
        </p>
      )}
      <div className="table-scroll" tabIndex={0} role="group" aria-label="Sizes and baseline">
        <table className="figure-table">
          <thead>
            <tr>
              <th scope="col">Size</th>
              <th scope="col" className="num">
                Weight
              </th>
              <th scope="col" className="num">
                Least bytes
              </th>
              <th scope="col" className="num">
                Work
              </th>
              <th scope="col" className="num">
                GPU span
              </th>
              <th scope="col" className="num">
                Wrapper
              </th>
              <th scope="col" className="num">
                Floor
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const unit = row.span === null ? undefined : timeUnit(row.span.value);
              return (
                <tr key={row.id}>
                  <th scope="row" className="mono nowrap">
                    {dims(row.dims)}
                  </th>
                  <td className="num">{percent(row.weight, 2)}</td>
                  <td className="num">{bytes(row.bytes)}</td>
                  <td
                    className="num"
                    title={row.intensity === null ? undefined : `${number(row.intensity, 3)} FLOP per byte`}
                  >
                    {si(row.flop, 'FLOP')}
                  </td>
                  <td className="num">{timeEstimate(row.span, unit)}</td>
                  <td className="num">{timeEstimate(row.wrapper)}</td>
                  <td className="num" title="Span over floor in brackets">
                    {time(row.floorNs)}{' '}
                    {row.aboveFloor !== null && <span className="muted">({ratio(row.aboveFloor)})</span>}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {baseline !== null && (
        <p className="muted">
          Intervals at 99 %. Floor: the least time physics allows on this GPU; GPU span: first start to last end on the
          GPU.
        </p>
      )}
    </Panel>
  );
}

/** Where the evaluated code stands under the roofs of its GPU. */
export function RooflinePanel({
  evaluation,
  version,
  label,
}: {
  readonly evaluation: Evaluation | null;
  readonly version: string;
  readonly label: string;
}) {
  const roofline = evaluation?.profile?.roofline ?? null;
  const of = useMemo(() => [{ version, label, role: 'selected' as const, roofline }], [version, label, roofline]);
  return (
    <Panel title="Roofline">
      {roofline === null ? (
        <p className="muted">
          {evaluation === null
            ? 'Not measured yet.'
            : 'Its evaluation holds no roofline: it was not profiled, or by an older version of CUDAMaster.'}
        </p>
      ) : (
        <RooflineChart of={of} height={240} />
      )}
    </Panel>
  );
}

/** What ptxas said of the compiled code. */
export function ResourcesPanel({ evaluation }: { readonly evaluation: Evaluation | null }) {
  const build = evaluation?.build ?? null;
  const kernels = evaluation?.profile?.static ?? [];
  return (
    <Panel title="Static resources">
      {build === null && kernels.length === 0 ? (
        <p className="muted">Not known: nothing was compiled with ptxas -v yet. An evaluation does it.</p>
      ) : kernels.length > 0 ? (
        <div className="table-scroll">
          <table className="figure-table">
            <thead>
              <tr>
                <th scope="col">Kernel</th>
                <th scope="col" className="num">
                  Registers
                </th>
                <th scope="col" className="num">
                  Spills st/ld
                </th>
                <th scope="col" className="num">
                  Shared
                </th>
                <th scope="col" className="num">
                  Stack
                </th>
              </tr>
            </thead>
            <tbody>
              {kernels.map((k) => (
                <tr key={k.symbol}>
                  <th scope="row" className="mono" title={k.symbol}>
                    {k.kernel}
                  </th>
                  <td className="num">{k.registers ?? '–'}</td>
                  <td className="num">
                    {bytes(k.spillStoreBytes)} / {bytes(k.spillLoadBytes)}
                  </td>
                  <td className="num">{bytes(k.sharedBytes)}</td>
                  <td className="num">{bytes(k.stackBytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <Facts
          rows={[
            ['Registers per thread, most', build?.registers ?? null],
            ['Spills', bytes(build?.spillBytes)],
            ['Static shared memory per block', bytes(build?.sharedBytes)],
          ]}
        />
      )}
    </Panel>
  );
}

/** The command, exactly as the build step runs it. */
export function CommandPanel({ command, fault }: { readonly command: string | null; readonly fault: AppError | null }) {
  return (
    <Panel title="nvcc command">
      {command === null ? (
        <Callout tone="warn" icon="warn" title={fault?.message ?? 'No command was kept with this version.'}>
          {fault?.remedy && <p>{fault.remedy}</p>}
        </Callout>
      ) : (
        <>
          <CopyLine text={command} what="nvcc command" />
          <p className="muted">“.” stands for the folder of the build.</p>
        </>
      )}
    </Panel>
  );
}

export function DefinitionPanel({ detail }: { readonly detail: TaskDetail }) {
  return (
    <Panel title="Definition">
      <CopyLine text={detail.signature} what="signature" />
      <p className="prose">{detail.prompt}</p>
      {/* What a user made was never published. */}
      {detail.category !== 'user' && (
        <>
          <h3>Deviations from the published task</h3>
          {detail.deviations.length === 0 ? (
            <p className="muted">None.</p>
          ) : (
            <ul className="notes">
              {detail.deviations.map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          )}
        </>
      )}
    </Panel>
  );
}

/** Verdict and figures of a version, with ways to its profile and run. */
export function VersionPanel({ detail }: { readonly detail: VersionDetail }) {
  const { evaluation } = detail;
  return (
    <Panel title="This version">
      <Facts
        rows={[
          ['Speed-up over the origin', ratioEstimate(detail.score)],
          ...(detail.sanitized === null ? [] : [['Sanitized', sanitizedFact(detail.sanitized)] as const]),
          ['Least of a size', ratio(detail.pMin)],
          ['Largest error', detail.maxUlp === null ? null : `${number(detail.maxUlp, 3)} ulp`],
          ['Measured', detail.measuredAt === null ? null : stamp(detail.measuredAt)],
          ['In the history since', stamp(detail.at)],
          ['GPU', detail.gpu],
          [
            'Made from',
            detail.parent === null ? null : (
              <a key="parent" href={hrefOf('kernel', [detail.parent])}>
                {detail.parent}
              </a>
            ),
          ],
          [
            'Run',
            <a key="run" href={hrefOf('run', [detail.run])}>
              {detail.run}
            </a>,
          ],
          [
            'Profile',
            evaluation?.profile ? (
              <a key="profile" href={hrefOf('profile', [detail.id])}>
                {evaluation.profile.verdict?.why ?? evaluation.profile.status}
              </a>
            ) : (
              'none'
            ),
          ],
        ]}
      />
      {detail.reason !== '' && <p className="prose">{detail.reason}</p>}
      {detail.scheme !== '' && (
        <>
          <h3>Scheme</h3>
          <p className="prose">{detail.scheme}</p>
        </>
      )}
    </Panel>
  );
}

import { useEffect } from 'react';
import { useQuery } from '../../api/client.ts';
import { CopyLine } from '../../ui/copy.tsx';
import { Details, Empty, ErrorBox, Facts, Loading } from '../../ui/feedback.tsx';
import { count, duration, stamp } from '../../ui/format.ts';
import { jobStepName } from './positions.ts';

/** The steps of a job as they ran: command, time, exit and what they printed. */
export function JobSteps({
  run,
  position,
  seq,
}: {
  readonly run: string;
  readonly position: string;
  readonly seq: number;
}) {
  const { data, error, refresh } = useQuery('runs.step', { run, position });
  const done = data?.job !== null && data !== null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: news of the run asks again until the job is there
  useEffect(() => {
    if (!done) refresh();
  }, [seq, done, refresh]);
  if (error?.code === 'store.not-found') return <Empty title="Nothing has run for this yet" />;
  if (error) return <ErrorBox error={error} />;
  if (data === null) return <Loading what="tool output" />;
  const { job } = data;
  if (job === null) return <Empty title="Under way">What the tools print is kept when the job ends.</Empty>;
  return (
    <section className="stack">
      <h3>Steps of the job</h3>
      <Facts
        rows={[
          ['Ran on', `${job.machine.host}, ${job.machine.gpu?.name ?? 'no GPU'}`],
          ['Began', stamp(job.startedAt)],
          ['Took', duration(job.wallMs)],
        ]}
      />
      <div>
        {job.steps.map((s) => (
          <details key={s.id} className="job-step" open={s.status !== 'ok' && s.status !== 'skipped'}>
            <summary>
              <span
                className={`job-status tone-${s.status === 'ok' ? 'good' : s.status === 'skipped' ? 'neutral' : 'bad'}`}
              >
                {s.status}
              </span>
              <span>{jobStepName(s.id)}</span>
              <span className="node-gap" />
              <span className="muted">
                {s.cached ? 'from the build cache' : duration(s.wallMs)}
                {s.exitCode !== null && s.exitCode !== 0 && `, exit ${count(s.exitCode)}`}
                {s.signal && `, ${s.signal}`}
              </span>
            </summary>
            {s.command && <CopyLine what={`command of ${s.id}`} text={s.command} />}
            {s.stderr && <Details summary={`stderr, ${count(s.stderr.length)} characters`} text={s.stderr} />}
            {s.stdout && <Details summary={`stdout, ${count(s.stdout.length)} characters`} text={s.stdout} />}
            {!s.stderr && !s.stdout && <p className="muted">It printed nothing.</p>}
          </details>
        ))}
      </div>
    </section>
  );
}

import type { ReactNode } from 'react';
import type { Sanitized } from '../../main/contract/evaluation.ts';
import type { AppError } from '../../main/contract/result.ts';
import { sanitizedText } from '../../main/contract/sanitized.ts';
import { Spinner } from './controls.tsx';
import { Icon, type IconName } from './icons.tsx';
import { type Look, outcomeLook, statusLook, type Tone } from './outcomes.ts';

/** A short word with a tone; the icon carries the meaning for those who do not see the colour. */
export function Badge({
  tone,
  icon,
  title,
  children,
}: {
  readonly tone: Tone;
  readonly icon?: IconName;
  readonly title?: string;
  readonly children: ReactNode;
}) {
  return (
    <span className={`badge tone-${tone}`} title={title}>
      {icon && <Icon name={icon} size={12} />}
      {children}
    </span>
  );
}

const LookBadge = ({ look }: { readonly look: Look }) => (
  <Badge tone={look.tone} icon={look.icon} title={look.meaning}>
    {look.label}
  </Badge>
);

/** Outcome of an attempt; null = under way. */
export const OutcomeBadge = ({ outcome }: { readonly outcome: string | null }) => (
  <LookBadge look={outcomeLook(outcome)} />
);

/** Beside the score of a version that compute-sanitizer has not wholly looked at; nothing otherwise. */
export const SanitizedBadge = ({ sanitized }: { readonly sanitized: Sanitized | null }) =>
  sanitized === null || sanitized.state === 'yes' ? null : (
    <Badge tone="warn" icon="warn" title={sanitizedText(sanitized)}>
      {sanitized.state === 'no' ? 'not sanitized' : 'partly sanitized'}
    </Badge>
  );

/** Status of a run. */
export const StatusBadge = ({ status }: { readonly status: string }) => <LookBadge look={statusLook(status)} />;

/** Nothing here yet: why, and what to do. */
export function Empty({
  title,
  children,
  action,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}) {
  return (
    <div className="state-box">
      <p className="state-title">{title}</p>
      {children && <div className="state-text">{children}</div>}
      {action && <div className="state-action">{action}</div>}
    </div>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <div className="state-box" role="status">
      <p className="state-title">
        <Spinner /> Loading {what} …
      </p>
    </div>
  );
}

/** An error with its cause, remedy and evidence. */
export function ErrorBox({ error, action }: { readonly error: AppError; readonly action?: ReactNode }) {
  return (
    <div className="callout tone-bad" role="alert">
      <Icon name="cross" />
      <div className="callout-body">
        <p>
          <strong>{error.message}</strong> <span className="mono muted">{error.code}</span>
        </p>
        {error.remedy && <p>{error.remedy}</p>}
        {error.detail && <Details summary="Evidence" text={error.detail} />}
        {action && <div className="callout-action">{action}</div>}
      </div>
    </div>
  );
}

/** Something that the reader should know, with a tone. */
export function Callout({
  tone,
  icon,
  title,
  children,
  action,
}: {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly title: ReactNode;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}) {
  return (
    <div className={`callout tone-${tone}`}>
      <Icon name={icon} />
      <div className="callout-body">
        <p>
          <strong>{title}</strong>
        </p>
        {children}
        {action && <div className="callout-action">{action}</div>}
      </div>
    </div>
  );
}

/** Long text folded away. */
export function Details({ summary, text }: { readonly summary: string; readonly text: string }) {
  return (
    <details className="details">
      <summary>{summary}</summary>
      <pre className="output" tabIndex={0}>
        {text}
      </pre>
    </details>
  );
}

/** Text of tools and models as it is: selectable, scrolls by itself, reachable by keyboard. */
export function Output({ text, label, max }: { readonly text: string; readonly label: string; readonly max?: number }) {
  return (
    <pre className="output" role="group" aria-label={label} tabIndex={0} style={max ? { maxHeight: max } : undefined}>
      {text}
    </pre>
  );
}

/** Pairs of name and value in two aligned columns. A null value is a dash. */
export function Facts({ rows }: { readonly rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? '–'}</dd>
        </div>
      ))}
    </dl>
  );
}

import { useState } from 'react';
import type { VersionDetail } from '../../../main/contract/api.ts';
import { CodeDiff } from '../../ui/code.tsx';
import { Checkbox } from '../../ui/controls.tsx';
import { Empty } from '../../ui/feedback.tsx';
import { argumentMarks } from './model.ts';

function Arguments({
  side,
  marks,
}: {
  readonly side: 'A' | 'B';
  readonly marks: readonly (readonly [string, boolean])[];
}) {
  return (
    <div className="cmp-arguments" role="group" aria-label={`nvcc arguments of ${side}`}>
      <span className="muted">{side}: nvcc</span>
      {marks.length === 0 && <span className="muted">no arguments of its own</span>}
      {marks.map(([arg, own]) => (
        <code
          key={arg}
          className={own ? `cmp-own cmp-own-${side.toLowerCase()}` : undefined}
          title={own ? `only ${side} has it` : 'both have it'}
        >
          {arg}
        </code>
      ))}
    </div>
  );
}

/** Both sources side by side; what only one has is marked, what is equal can be folded. */
export function Source({ a, b }: { readonly a: VersionDetail; readonly b: VersionDetail }) {
  const [folded, setFolded] = useState(true);
  const marks = argumentMarks(a.compileArgs, b.compileArgs);
  if (a.source === null || b.source === null)
    return (
      <Empty title={`${a.source === null ? 'A' : 'B'} has no source.`}>
        <p>The reply of the model held no code that could be used.</p>
      </Empty>
    );
  return (
    <div className="compare-part">
      <div className="cmp-part-bar">
        <Checkbox label="Fold equal lines" checked={folded} onChange={setFolded} />
        <span className="muted" role="status">
          {a.source === b.source ? 'The sources are equal.' : 'A at the left, B at the right.'}
        </span>
      </div>
      <div className="cmp-arguments-bar">
        <Arguments side="A" marks={marks.a} />
        <Arguments side="B" marks={marks.b} />
      </div>
      <CodeDiff
        left={a.source}
        right={b.source}
        leftLabel={`Source of A, ${a.id}`}
        rightLabel={`Source of B, ${b.id}`}
        context={folded ? 4 : null}
      />
    </div>
  );
}

import { lazy, Suspense } from 'react';
import type { CodeDiffProps, CodeProps } from './code-editor.tsx';

const Editor = lazy(() => import('./code-editor.tsx'));
const Difference = lazy(() => import('./code-editor.tsx').then((m) => ({ default: m.CodeDifference })));

/** CUDA source, highlighted; editable with `onChange`. Plain text stands there until the editor is loaded. Fills its parent. */
export const Code = (props: CodeProps) => (
  <Suspense fallback={<pre className="code code-wait">{props.text}</pre>}>
    <Editor {...props} />
  </Suspense>
);

/** Two sources side by side, differences marked. Fills its parent. */
export const CodeDiff = (props: CodeDiffProps) => (
  <Suspense fallback={<pre className="code code-wait">{props.right}</pre>}>
    <Difference {...props} />
  </Suspense>
);

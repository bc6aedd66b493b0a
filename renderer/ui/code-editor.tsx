/**
 * The code editor and the side-by-side difference (CodeMirror). Its style sheet is one that the page makes at run time: it carries the
 * nonce of the Content-Security-Policy that the server wrote into the page. Loaded only when a screen shows code (`code.tsx`).
 */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { cpp } from '@codemirror/lang-cpp';
import { bracketMatching, forceParsing, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { MergeView } from '@codemirror/merge';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view';
import { tags as t } from '@lezer/highlight';
import { useEffect, useRef } from 'react';

const colours = HighlightStyle.define([
  { tag: [t.keyword, t.modifier, t.controlKeyword, t.operatorKeyword], color: 'var(--code-keyword)' },
  { tag: [t.typeName, t.standard(t.typeName), t.className, t.namespace], color: 'var(--code-type)' },
  { tag: [t.string, t.character], color: 'var(--code-string)' },
  { tag: [t.number, t.bool, t.null], color: 'var(--code-number)' },
  { tag: [t.comment, t.lineComment, t.blockComment], color: 'var(--code-comment)', fontStyle: 'italic' },
  { tag: [t.processingInstruction, t.meta], color: 'var(--code-preproc)' },
  { tag: [t.function(t.variableName), t.function(t.definition(t.variableName))], color: 'var(--code-function)' },
]);

const look = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--code-bg)', color: 'var(--text)', fontSize: 'var(--text-s)' },
  '&.cm-focused': { outline: '1px solid var(--focus)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--code-bg)',
    color: 'var(--code-gutter)',
    border: 'none',
    borderRight: '1px solid var(--border)',
  },
  '.cm-activeLine, .cm-activeLineGutter': {
    backgroundColor: 'color-mix(in srgb, var(--hover) 55%, transparent)',
    color: 'inherit',
  },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--code-selection)',
  },
  '.cm-activeLineGutter': { color: 'var(--text)' },
  '.cm-bad-line, .cm-bad-line.cm-activeLine': { backgroundColor: 'var(--bad-bg)' },
  '.cm-cuda': { color: 'var(--code-keyword)' },
  '.cm-cuda-index': { color: 'var(--code-preproc)' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)', borderColor: 'var(--border)' },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-bg)', outline: '1px solid var(--warn)' },
  '.cm-mergeView': { height: '100%' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--diff-del)' },
  '&.cm-merge-b .cm-changedLine, .cm-inlineChangedLine': { backgroundColor: 'var(--diff-add)' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': { background: 'var(--diff-del-text)' },
  '&.cm-merge-b .cm-changedText': { background: 'var(--diff-add-text)' },
  '.cm-changeGutter': { width: '3px', paddingLeft: '1px' },
  // The library's own glyph is in few fonts.
  '.cm-collapsedLines::before, .cm-collapsedLines::after': { content: '"⋯" !important' },
  '.cm-collapsedLines': {
    background: 'var(--raised)',
    color: 'var(--muted)',
    borderTop: '1px solid var(--border)',
    borderBottom: '1px solid var(--border)',
  },
});

const decorator = new MatchDecorator({
  regexp:
    /\b(?:__(?:global|device|host|shared|constant|restrict|launch_bounds|forceinline|noinline|grid_constant|cluster_dims)__|(threadIdx|blockIdx|blockDim|gridDim|warpSize)|__(?:syncthreads|syncwarp|shfl\w*sync|ldg|ldcs|stcs|fdividef|expf|fmaf?_rn)\w*)\b/g,
  decoration: (m) => Decoration.mark({ class: m[1] ? 'cm-cuda-index' : 'cm-cuda' }),
});

/** What CUDA adds to C++: the grammar takes these words for plain names. */
const cudaWords = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = decorator.createDeco(view);
    }
    update(update: ViewUpdate) {
      this.decorations = decorator.updateDeco(update, this.decorations);
    }
  },
  { decorations: (v) => v.decorations },
);

/** Kernels are short: parsed at once, in full, so that nobody sees a source that is half coloured. Longer ones go on in idle time. */
const PARSE_MS = 100;
const parseNow = (view: EditorView): boolean => forceParsing(view, Math.min(view.state.doc.length, 100_000), PARSE_MS);

/** The nonce of the page; empty in a shell whose policy needs none. */
export function styleNonce(): string {
  const value = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
  return value.startsWith('__') ? '' : value;
}

const base = (label: string): Extension => [
  EditorView.cspNonce.of(styleNonce()),
  lineNumbers(),
  drawSelection(),
  bracketMatching(),
  cpp(),
  cudaWords,
  syntaxHighlighting(colours),
  look,
  search({ top: true }),
  highlightSelectionMatches(),
  indentUnit.of('  '),
  EditorState.tabSize.of(4),
  EditorView.contentAttributes.of({ 'aria-label': label }),
];

const readOnly: Extension = [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.contentAttributes.of({
    tabindex: '0',
    role: 'textbox',
    'aria-readonly': 'true',
    'aria-multiline': 'true',
  }),
];

export interface CodeProps {
  readonly text: string;
  /** Said by screen readers: "Source of r1.a0". */
  readonly label: string;
  /** Present: the text can be edited. Tab leaves after Escape. */
  readonly onChange?: (text: string) => void;
  /** Scrolls to this line (from 1) and marks it. */
  readonly line?: number | null;
  /** Colours that line for as long as it is named. */
  readonly lineTone?: 'bad';
  /** Gutters, decorations, key maps of a screen; may change. */
  readonly extensions?: Extension;
  readonly wrap?: boolean;
  /** Called with the view when it stands. */
  readonly onView?: (view: EditorView) => void;
}

export default function CodeEditor({ text, label, onChange, line, lineTone, extensions, wrap, onView }: CodeProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const change = useRef(onChange);
  change.current = onChange;
  const extra = useRef(new Compartment());
  const marked = useRef(new Compartment());
  const editable = onChange !== undefined;

  // biome-ignore lint/correctness/useExhaustiveDependencies: text and extensions are brought in by the effects below
  useEffect(() => {
    if (host.current === null) return;
    const made = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          base(label),
          extra.current.of(extensions ?? []),
          marked.current.of([]),
          wrap ? EditorView.lineWrapping : [],
          editable
            ? [
                history(),
                highlightActiveLine(),
                highlightActiveLineGutter(),
                EditorView.contentAttributes.of({ tabindex: '0' }),
                keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
              ]
            : [readOnly, keymap.of(searchKeymap)],
          EditorView.updateListener.of((u) => {
            if (u.docChanged && !u.transactions.some((tr) => tr.isUserEvent('outside')))
              change.current?.(u.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    parseNow(made);
    onView?.(made);
    return () => {
      made.destroy();
      view.current = null;
    };
  }, [editable, label, wrap]);

  useEffect(() => {
    const v = view.current;
    if (!v || v.state.doc.toString() === text) return;
    v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: text }, userEvent: 'outside' });
    parseNow(v);
  }, [text]);
  useEffect(() => {
    view.current?.dispatch({ effects: extra.current.reconfigure(extensions ?? []) });
  }, [extensions]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new text is scrolled as well
  useEffect(() => {
    const v = view.current;
    if (!v || !line || line > v.state.doc.lines) return;
    const { from } = v.state.doc.line(line);
    v.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
    if (lineTone === undefined) return;
    const mark = Decoration.set([Decoration.line({ class: `cm-${lineTone}-line` }).range(from)]);
    v.dispatch({ effects: marked.current.reconfigure(EditorView.decorations.of(mark)) });
    return () => {
      view.current?.dispatch({ effects: marked.current.reconfigure([]) });
    };
  }, [line, lineTone, text]);

  return <div ref={host} className="code" />;
}

export interface CodeDiffProps {
  readonly left: string;
  readonly right: string;
  readonly leftLabel: string;
  readonly rightLabel: string;
  /** Folds what is equal, with this many lines of context; null: everything is shown. */
  readonly context?: number | null;
}

export function CodeDifference({ left, right, leftLabel, rightLabel, context = 4 }: CodeDiffProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (host.current === null) return;
    const side = (doc: string, label: string) => ({
      doc,
      // Two columns are narrow, and the editor's scroll bar would lie at the end of the file: nothing may be hidden.
      extensions: [base(label), readOnly, EditorView.lineWrapping, keymap.of(searchKeymap)],
    });
    const merge = new MergeView({
      parent: host.current,
      a: side(left, leftLabel),
      b: side(right, rightLabel),
      gutter: true,
      highlightChanges: true,
      ...(context === null ? {} : { collapseUnchanged: { margin: context, minSize: 6 } }),
    });
    parseNow(merge.a);
    parseNow(merge.b);
    return () => merge.destroy();
  }, [left, right, leftLabel, rightLabel, context]);
  return <div ref={host} className="code code-diff" />;
}

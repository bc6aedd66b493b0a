import { type ReactNode, useRef, useState } from 'react';
import { type OwnTaskFile, ownTaskFileLimit } from '../../../main/contract/own-task.ts';
import type { AppError } from '../../../main/contract/result.ts';
import { toast } from '../../state/shell.ts';
import { Code } from '../../ui/code.tsx';
import { Button } from '../../ui/controls.tsx';
import { ErrorBox } from '../../ui/feedback.tsx';
import { refusedFile } from './model.ts';
import type { Check } from './store.ts';

/** The error of a check, where it is about this file; its line as long as the file is still what was checked. */
export function errorIn(check: Check | undefined, file: OwnTaskFile, text: string | null): Located {
  const error = check?.error;
  if (!error || error.at?.file !== file) return { error: null, line: null };
  return { error, line: check?.files[file] === text ? (error.at.line ?? null) : null };
}

interface Located {
  readonly error: AppError | null;
  readonly line: number | null;
}

/** A file with what it is for, what is wrong with it, and the editor. */
export function FilePane({
  about,
  label,
  text,
  located,
  onChange,
  children,
}: {
  readonly about: ReactNode;
  readonly label: string;
  readonly text: string;
  readonly located: Located;
  readonly onChange: (text: string) => void;
  readonly children?: ReactNode;
}) {
  const { error, line } = located;
  return (
    <div className="file-pane">
      <div className="file-about">
        <p className="muted">{about}</p>
        {children}
      </div>
      {error !== null && <ErrorBox error={error} action={line !== null && <span>Line {line} is marked below.</span>} />}
      <div className="file-editor">
        <Code text={text} label={label} onChange={onChange} line={line} lineTone="bad" />
      </div>
    </div>
  );
}

/** Reads a file that the user chose or dropped; says why where it is no source. */
async function readSource(file: File): Promise<string | null> {
  const early = refusedFile(file.size, '', ownTaskFileLimit);
  const text = early === null ? await file.text() : '';
  const refused = early ?? refusedFile(text.length, text, ownTaskFileLimit);
  if (refused === null) return text;
  toast(`${file.name} was not taken.`, { tone: 'bad', detail: refused });
  return null;
}

/** A button that lets the user choose a file; `onText` gets its text. */
export function ChooseFile({ onText }: { readonly onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        className="visually-hidden"
        tabIndex={-1}
        aria-label="CUDA source file"
        accept=".cu,.cuh,.cpp,.cc,text/plain"
        onChange={async (e) => {
          const [file] = e.target.files ?? [];
          e.target.value = '';
          const text = file && (await readSource(file));
          if (text) onText(text);
        }}
      />
      <Button icon="export" onClick={() => input.current?.click()}>
        Choose a .cu …
      </Button>
    </>
  );
}

/** Takes a file that is dropped anywhere on it, before an editor inside would insert it. */
export function DropTarget({
  onText,
  children,
}: {
  readonly onText: (text: string) => void;
  readonly children: ReactNode;
}) {
  const [over, setOver] = useState(false);
  const hasFile = (e: React.DragEvent): boolean => e.dataTransfer.types.includes('Files');
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button beside it does the same by keyboard
    <div
      className={over ? 'drop-target drop-over' : 'drop-target'}
      onDragOverCapture={(e) => {
        if (!hasFile(e)) return;
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={(e) => {
        if (!e.currentTarget.contains(e.relatedTarget as Node | null)) setOver(false);
      }}
      onDropCapture={async (e) => {
        if (!hasFile(e)) return;
        e.preventDefault();
        e.stopPropagation();
        setOver(false);
        const [file] = e.dataTransfer.files;
        const text = file && (await readSource(file));
        if (text) onText(text);
      }}
    >
      {children}
    </div>
  );
}

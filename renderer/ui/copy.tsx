import { useState } from 'react';
import { toast } from '../state/shell.ts';
import { Button } from './controls.tsx';

/** Puts text on the clipboard; false where the browser forbids it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function CopyButton({
  text,
  label = 'Copy',
  what,
}: {
  readonly text: string;
  readonly label?: string;
  readonly what: string;
}) {
  const [done, setDone] = useState(false);
  return (
    <Button
      icon={done ? 'check' : 'copy'}
      aria-label={`${label} ${what}`}
      onClick={async () => {
        if (!(await copyText(text)))
          return toast('The browser does not allow copying here.', {
            tone: 'bad',
            detail: 'Select the text and copy it by hand.',
          });
        setDone(true);
        setTimeout(() => setDone(false), 1500);
      }}
    >
      {done ? 'Copied' : label}
    </Button>
  );
}

/** A command or path in one scrolling line with a button that copies it. */
export function CopyLine({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <div className="copy-line">
      <code tabIndex={0} title={what}>
        {text}
      </code>
      <CopyButton text={text} what={what} />
    </div>
  );
}

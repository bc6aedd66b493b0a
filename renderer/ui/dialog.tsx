import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Button, IconButton } from './controls.tsx';

/** A modal dialog; Escape and the cross close it. The browser keeps the focus inside and gives it back. */
export function Dialog({
  title,
  onClose,
  children,
  actions,
  wide = false,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly actions?: ReactNode;
  readonly wide?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
    >
      <header className="dialog-bar">
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
      {actions && <footer className="dialog-actions">{actions}</footer>}
    </dialog>
  );
}

/** Asks before work is lost: says what, and what stays. */
export function Confirm({
  title,
  children,
  action,
  onConfirm,
  onClose,
  tone = 'danger',
}: {
  readonly title: string;
  readonly children: ReactNode;
  /** The verb on the button that does it. */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly tone?: 'danger' | 'primary';
}) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose} autoFocus>
            Keep
          </Button>
          <Button
            tone={tone}
            onClick={() => {
              onClose();
              onConfirm();
            }}
          >
            {action}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  );
}

import { useShell } from '../state/shell.ts';
import { Button, IconButton, Spinner } from '../ui/controls.tsx';
import { Icon } from '../ui/icons.tsx';

/** What concerns the whole window: a lost connection, notices of the engine. */
export function Banners() {
  const connection = useShell((s) => s.connection);
  const notices = useShell((s) => s.notices);
  const dismiss = useShell((s) => s.dismissNotice);
  return (
    <div className="banners">
      {connection === 'lost' && (
        <div className="banner tone-warn" role="status">
          <Spinner /> The connection to the engine is lost; trying again. What you typed is kept. If the server was
          started anew, open the address that it printed.
        </div>
      )}
      {notices.map((n, index) => (
        <div key={`${n.code}${n.message}`} className="banner tone-info" role="status">
          <Icon name="info" />
          <span className="banner-text">
            {n.message} {n.remedy}
          </span>
          <IconButton icon="close" label="Dismiss" onClick={() => dismiss(index)} />
        </div>
      ))}
    </div>
  );
}

/** Short messages at the bottom right; read out politely. */
export function Toasts() {
  const toasts = useShell((s) => s.toasts);
  const dismiss = useShell((s) => s.dismiss);
  return (
    <div className="toasts" aria-live="polite">
      {toasts.map((t) => (
        <div key={t.id} className={`toast tone-${t.tone}`}>
          <div className="toast-text">
            <p>{t.text}</p>
            {t.detail && <p className="muted">{t.detail}</p>}
          </div>
          {t.undo && (
            <Button
              onClick={() => {
                t.undo?.();
                dismiss(t.id);
              }}
            >
              Undo
            </Button>
          )}
          <IconButton icon="close" label="Dismiss" onClick={() => dismiss(t.id)} />
        </div>
      ))}
    </div>
  );
}

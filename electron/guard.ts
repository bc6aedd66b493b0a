import type { App, Session, Shell, WebContents } from 'electron';
import { hosts, scheme } from './pages.ts';

/** Sites that a page may ask to have opened in the browser. */
const openable: readonly string[] = ['docs.nvidia.com', 'developer.nvidia.com', 'forums.developer.nvidia.com'];

/** true: an https address of a site we know, without a name or password in it. */
export function mayOpen(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  return (
    url.protocol === 'https:' &&
    url.username === '' &&
    url.password === '' &&
    url.port === '' &&
    openable.includes(url.hostname)
  );
}

/** true: an address of our own pages. */
export function isOurs(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  return url.protocol === `${scheme}:` && Object.values<string>(hosts).includes(url.hostname);
}

const sameOrigin = (a: string, b: string): boolean =>
  isOurs(a) && isOurs(b) && new URL(a).hostname === new URL(b).hostname;

/** A page stays on its own origin, opens no window and holds no other page, whatever is in it. */
export function guardContents(contents: WebContents, shell: Pick<Shell, 'openExternal'>): void {
  const stay = (event: { preventDefault(): void; readonly url: string }): void => {
    // The page is loaded by us (no event); what it starts itself may only lead to itself (a reload).
    if (!sameOrigin(event.url, contents.getURL())) event.preventDefault();
  };
  contents.on('will-navigate', stay);
  contents.on('will-redirect', stay);
  contents.on('will-frame-navigate', (event) => {
    if (!event.isMainFrame) event.preventDefault();
  });
  contents.on('will-attach-webview', (event) => event.preventDefault());
  contents.setWindowOpenHandler(({ url }) => {
    if (mayOpen(url)) void shell.openExternal(url);
    return { action: 'deny' };
  });
}

/** What pages may do beyond showing themselves: put text on the clipboard (Copy buttons). */
const allowed: readonly string[] = ['clipboard-sanitized-write'];

export function guardSession(session: Session): void {
  session.setPermissionRequestHandler((contents, permission, answer) =>
    answer(allowed.includes(permission) && isOurs(contents.getURL())),
  );
  session.setPermissionCheckHandler((_contents, permission, origin) => allowed.includes(permission) && isOurs(origin));
  session.setDevicePermissionHandler(() => false);
}

/** Every page of the program, however it came to be, is guarded before it loads anything. */
export function guardAll(app: App, shell: Pick<Shell, 'openExternal'>): void {
  app.on('web-contents-created', (_event, contents) => guardContents(contents, shell));
}

import { Component, type ReactNode, Suspense, useEffect, useMemo } from 'react';
import { useApi } from '../api/client.ts';
import { notice, useShell } from '../state/shell.ts';
import { Button } from '../ui/controls.tsx';
import { Empty, Loading } from '../ui/feedback.tsx';
import { Banners, Toasts } from './Banners.tsx';
import { type Command, useCommands } from './commands.ts';
import { Keys } from './Keys.tsx';
import { go, useRoute } from './navigation.ts';
import { Palette } from './Palette.tsx';
import { Rail } from './Rail.tsx';
import { StatusBar } from './StatusBar.tsx';
import { screens } from './screens.tsx';
import { listenForShortcuts } from './shortcuts.ts';
import { useTheme } from './theme.ts';

/** A screen that fails leaves the others alone. */
class Guard extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state: { error: Error | null } = { error: null };
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    // A part of the page that is gone: the server serves newer screens than the ones shown.
    if (/dynamically imported module|Importing a module/.test(error.message))
      return (
        <Empty
          title="The screens have been updated."
          action={<Button onClick={() => window.location.reload()}>Load them</Button>}
        >
          Nothing is lost: runs go on in the engine.
        </Empty>
      );
    return (
      <Empty
        title="This screen met a fault of the program."
        action={<Button onClick={() => this.setState({ error: null })}>Show it again</Button>}
      >
        <p className="mono">{error.message}</p>
        <p>Nothing is lost: runs go on in the engine.</p>
      </Empty>
    );
  }
}

function useShellCommands(): void {
  const setTheme = useShell((s) => s.setTheme);
  const commands = useMemo<readonly Command[]>(
    () => [
      {
        id: 'palette',
        title: 'Find a command',
        group: 'Shell',
        key: 'mod+k',
        run: () => useShell.setState({ paletteOpen: true }),
      },
      ...screens
        .filter((s) => s.rail)
        .map((s) => ({
          id: `go.${s.name}`,
          title: `Go to ${s.title}`,
          group: 'Screen',
          key: s.key,
          run: () => go(s.name),
        })),
      { id: 'run.new', title: 'Start a run', group: 'Run', key: 'alt+n', run: () => go('run', ['new']) },
      {
        id: 'newtask',
        title: 'Add a kernel of your own',
        group: 'Kernel',
        words: 'new task cu file import',
        run: () => go('newtask'),
      },
      {
        id: 'keys',
        title: 'Keyboard shortcuts',
        group: 'Shell',
        key: 'shift+?',
        run: () => useShell.setState({ keysOpen: true }),
      },
      { id: 'theme.light', title: 'Theme: light', group: 'View', run: () => setTheme('light') },
      { id: 'theme.dark', title: 'Theme: dark', group: 'View', run: () => setTheme('dark') },
      { id: 'theme.system', title: 'Theme: as the system', group: 'View', run: () => setTheme('system') },
    ],
    [setTheme],
  );
  useCommands(commands);
  useEffect(listenForShortcuts, []);
}

function useEngine(): void {
  const api = useApi();
  useEffect(() => {
    useShell.setState({ connection: api.connected ? 'connected' : 'connecting' });
    const offs = [api.onConnection((connection) => useShell.setState({ connection })), api.onNotice(notice)];
    return () => {
      for (const off of offs) off();
    };
  }, [api]);
}

export function App() {
  useTheme();
  useEngine();
  useShellCommands();
  const keysOpen = useShell((s) => s.keysOpen);
  const route = useRoute();
  const screen = screens.find((s) => s.name === route.screen) ?? screens[0];
  const View = screen?.view;
  useEffect(() => {
    document.title = `${screen?.title ?? ''} — CUDAMaster`;
  }, [screen]);
  return (
    <div className="app">
      <button type="button" className="skip-link" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Rail current={route.screen} />
      <div className="app-column">
        <Banners />
        <main id="main" className="app-main" tabIndex={-1}>
          <Guard key={route.screen}>
            <Suspense fallback={<Loading what={screen?.title ?? 'screen'} />}>
              {View && <View route={route} />}
            </Suspense>
          </Guard>
        </main>
      </div>
      <StatusBar />
      <Palette />
      {keysOpen && <Keys onClose={() => useShell.setState({ keysOpen: false })} />}
      <Toasts />
    </div>
  );
}

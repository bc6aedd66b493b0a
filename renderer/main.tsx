import './ui/tokens.css';
import './ui/base.css';
import './ui/controls.css';
import './ui/feedback.css';
import './ui/copy.css';
import './ui/panels.css';
import './ui/dialog.css';
import './ui/table.css';
import './ui/code-editor.css';
import './app/palette.css';
import './app/app.css';
import { createRoot } from 'react-dom/client';
import { ApiContext, connect } from './api/client.ts';
import { App } from './app/App.tsx';
import { applyStoredTheme } from './app/theme.ts';

applyStoredTheme();
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
const api = connect();
createRoot(root).render(
  <ApiContext value={api}>
    <App />
  </ApiContext>,
);

import './ui/tokens.css';
import './ui/base.css';
import './ui/components.css';
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

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { specifiersOf, violations } from '../../build/check-imports.ts';
import table from '../../build/imports.json' with { type: 'json' };

function tree(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'cm-imports-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

test('the repository keeps the table', () => {
  expect(violations(join(import.meta.dirname, '../..'), table)).toEqual([]);
});

test('forbidden directions, node modules, packages and unknown folders are named', () => {
  const root = tree({
    'main/contract/a.ts': "import { x } from '../base/x.ts';\nimport fs from 'node:fs';",
    'main/base/x.ts': "import sqlite3 from 'sqlite3';",
    'main/store/db/d.ts': "import sqlite3 from 'sqlite3';",
    'main/elsewhere/y.ts': '',
    'main/cli/c.ts': "const m = await import('../store/db/d.ts');\nexport * from '../contract/a.ts';",
  });
  expect(violations(root, table).sort()).toEqual([
    'main/base/x.ts: sqlite3 may be imported only in main/store/db',
    'main/cli/c.ts: main/cli may not import main/store (../store/db/d.ts)',
    'main/contract/a.ts: main/contract may not import main/base (../base/x.ts)',
    'main/contract/a.ts: may not import node:fs',
    'main/elsewhere/y.ts: its folder is not in build/imports.json',
  ]);
});

test('commented imports do not count, type imports and side-effect imports do', () => {
  expect(
    specifiersOf("// import a from 'a'\n/* import b from 'b' */\nimport type { C } from 'c';\nimport 'd';"),
  ).toEqual(['c', 'd']);
});

import { expect, it } from 'vitest';
import { AppFailure } from '../../main/contract/index.ts';
import { thisMachine } from '../../main/toolchain/machine.ts';
import { loginShellFolders } from '../../main/toolchain/search.ts';

it('the question that is asked once for all is asked again when whoever asked it gave up', async () => {
  const abort = new AbortController();
  const first = loginShellFolders(thisMachine(process.env, abort.signal));
  const second = loginShellFolders(thisMachine());
  abort.abort();
  await expect(first).rejects.toBeInstanceOf(AppFailure);
  expect(Array.isArray(await second)).toBe(true);
  expect(await loginShellFolders(thisMachine())).toEqual(await second);
});

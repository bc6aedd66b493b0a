import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellWord } from '../../renderer/ui/shell-word.ts';

test('a POSIX shell gets back the very path, whatever is in it', () => {
  const paths = [
    '/home/u/a.ncu-rep',
    '/tmp/with blank/x',
    '/tmp/it\'s $HOME `id` \\ "quoted" !',
    '/tmp/\n;rm',
    '/tmp/ä',
    '',
  ];
  for (const path of paths) {
    const { stdout } = spawnSync('sh', ['-c', `printf %s ${shellWord(path)}`], { encoding: 'utf8' });
    expect(stdout).toBe(path);
  }
  expect(shellWord('/home/u/a.ncu-rep')).toBe('/home/u/a.ncu-rep');
  expect(shellWord('/tmp/with blank/x')).toBe("'/tmp/with blank/x'");
});

test('paths of Windows are quoted as its shells take them', () => {
  expect(shellWord('C:\\runs\\a.ncu-rep')).toBe('C:\\runs\\a.ncu-rep');
  expect(shellWord('C:\\Users\\A B\\a.ncu-rep')).toBe('"C:\\Users\\A B\\a.ncu-rep"');
  expect(shellWord('\\\\host\\share\\a b')).toBe('"\\\\host\\share\\a b"');
});

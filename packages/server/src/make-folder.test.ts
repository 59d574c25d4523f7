import { writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeTestFolder } from '../../../tests/support/test-folder.ts';
import { makeFolder } from './make-folder.ts';

describe('a folder', () => {
  test('is made with those above it, and may be there already', async () => {
    const path = join(makeTestFolder(), 'a', 'b', 'c');
    makeFolder(path, { mode: 0o700 });
    makeFolder(path, { mode: 0o700 });
    expect((await stat(path)).isDirectory()).toBe(true);
  });

  test('that cannot be is refused instead of waited for', () => {
    const root = makeTestFolder();
    writeFileSync(join(root, 'file'), '');
    const making = (path: string) => () => makeFolder(path, { mode: 0o700 });
    expect(making(join(root, 'file'))).toThrow('EEXIST');
    expect(making(join(root, 'file', 'x'))).toThrow('ENOTDIR');
    if (process.platform === 'linux') expect(making('/proc/nothing/here')).toThrow('ENOENT');
  });
});

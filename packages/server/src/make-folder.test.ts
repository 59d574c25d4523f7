import { writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeTestFolder } from '../../../tests/support/test-folder.ts';
import { makeFolder } from './make-folder.ts';

describe('a folder', () => {
  test('is made with those above it, and may be there already', async () => {
    const path = join(makeTestFolder(), 'a', 'b', 'c');
    await makeFolder(path, { mode: 0o700 });
    await makeFolder(path, { mode: 0o700 });
    expect((await stat(path)).isDirectory()).toBe(true);
  });

  test('that cannot be is refused instead of waited for', async () => {
    const root = makeTestFolder();
    writeFileSync(join(root, 'file'), '');
    await expect(makeFolder(join(root, 'file'), { mode: 0o700 })).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolder(join(root, 'file', 'x'), { mode: 0o700 })).rejects.toMatchObject({
      code: 'ENOTDIR',
    });
    if (process.platform === 'linux')
      await expect(makeFolder('/proc/nothing/here', { mode: 0o700 })).rejects.toMatchObject({
        code: 'ENOENT',
      });
  });
});

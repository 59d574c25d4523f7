/**
 * Makes a folder and those above it, as `mkdir -p` does. Not Node's own recursive mkdir: that one never returns where the system
 * says that a folder is missing which is there (/proc, for one), and a start would hang without a word.
 */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export async function makeFolder(path: string, { mode }: { readonly mode: number }): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw error;
    await makeFolder(parent, { mode });
    // Once more and no oftener: what is still missing now will not come.
    await mkdir(path, { mode }).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again;
    });
  }
}

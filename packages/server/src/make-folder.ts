/**
 * Makes a folder and those above it, as `mkdir -p` does. Not Node's own recursive mkdir: that one never returns where the system
 * says that a folder is missing which is there (/proc, for one), and a start would hang without a word. Synchronous, so that it
 * can be done as another user.
 */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export function makeFolder(path: string, { mode }: { readonly mode: number }): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw error;
    makeFolder(parent, { mode });
    makeUnlessThere(path, { mode });
  }
}

/** Whatever is there. */
export function makeUnlessThere(path: string, { mode }: { readonly mode: number }): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

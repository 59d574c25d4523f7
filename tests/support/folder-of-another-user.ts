/** A data folder that belongs to another user than root, who can prepare what they like in it before root starts there. */
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { chmod, lchown, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestFunction, test } from 'vitest';

/** `nobody` and its group on Linux; any user that is not root would do. */
export const ANOTHER_USER = { uid: 65_534, gid: 65_534 };

const isLeftOut = process.geteuid?.() !== 0;

export function testAsRoot(name: string, run: TestFunction): void {
  test.skipIf(isLeftOut)(isLeftOut ? `${name} (needs root: it gives a folder to another user)` : name, run);
}

/** The folder `name` in `parent`, which its owner can reach. Its group is root's, as `chown nobody` leaves it. */
export function folderOfAnotherUser(parent: string, name: string): string {
  const path = join(parent, name);
  chmodSync(parent, 0o755);
  mkdirSync(path, { mode: 0o755 });
  chownSync(path, ANOTHER_USER.uid, 0);
  return path;
}

/** A file that only root may read or write, and a look at whether it is still so. */
export async function secretFile(path: string) {
  await writeFile(path, 'secret\n');
  await chmod(path, 0o600);
  const look = async () => {
    const { uid, mode } = await stat(path);
    return { content: await readFile(path, 'utf8'), uid, mode: mode & 0o777 };
  };
  return { path, look, untouched: { content: 'secret\n', uid: 0, mode: 0o600 } };
}

/** What links of another user can lead root to: a file, a folder and a name that is free; and a look at whether all is as it was. */
export async function temptations(parent: string) {
  const path = join(parent, 'of-root');
  const inner = join(path, 'folder');
  await mkdir(inner, { recursive: true, mode: 0o700 });
  await secretFile(join(path, 'file'));
  await secretFile(join(inner, 'file'));
  const look = async () => {
    const names = ['.', ...(await readdir(path, { recursive: true }))].toSorted();
    const each = names.map(async (name) => {
      const found = await lstat(join(path, name));
      const content = found.isFile() ? await readFile(join(path, name), 'utf8') : '';
      return { name, content, mode: found.mode, uid: found.uid, gid: found.gid, changed: found.ctimeMs };
    });
    return Promise.all(each);
  };
  const plant = async (link: string, target: 'file' | 'folder' | 'missing') => {
    await symlink(join(path, target), link);
    await lchown(link, ANOTHER_USER.uid, ANOTHER_USER.gid);
  };
  return { plant, look, untouched: await look() };
}

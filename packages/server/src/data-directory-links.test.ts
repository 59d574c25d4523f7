/** Links in a data folder, planted by whoever may write there: a start follows none of them, with whatever rights it has. */
import { symlinkSync } from 'node:fs';
import {
  chmod,
  chown,
  lchown,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import {
  ANOTHER_USER,
  folderOfAnotherUser,
  secretFile,
  temptations,
  testAsRoot,
} from '../../../tests/support/folder-of-another-user.ts';
import { makeTestFolder } from '../../../tests/support/test-folder.ts';
import { openDataDirectory } from './data-directory.ts';

const STATE_FILES = ['server.lock', 'admin.key', 'node.id', 'incarnation', 'boots', 'made-here'];

let folder = '';

beforeEach(() => {
  folder = makeTestFolder();
});

/** Everything a start does with its folder. */
async function startAndStop(path: string, options: { isTrusted?: boolean } = {}): Promise<void> {
  const data = await openDataDirectory(path, options);
  try {
    await data.boot();
    await data.nodeId();
    await data.incarnation();
    await data.adminKey();
    await data.announce('http://127.0.0.1:7420');
  } finally {
    await data.close();
  }
}

testAsRoot('links under the names of scratch files leave their targets as they were', async () => {
  const path = folderOfAnotherUser(folder, 'data');
  const targets = await Promise.all(STATE_FILES.map((name) => secretFile(join(folder, `root-${name}`))));
  for (const [index, name] of STATE_FILES.entries())
    symlinkSync(targets[index]!.path, join(path, `${name}.incoming`));
  await startAndStop(path);
  for (const target of targets) expect(await target.look()).toEqual(target.untouched);
});

testAsRoot('whichever name is a link, nothing that it leads to is made, changed or given away', async () => {
  const outside = await temptations(folder);
  const made = [...STATE_FILES, 'server.lock.db', 'server.lock.db-journal', 'server.lock.db-wal'];
  let count = 0;
  for (const name of [...made, ...made.map((each) => `${each}.incoming`)])
    for (const target of ['file', 'folder', 'missing'] as const) {
      const path = folderOfAnotherUser(folder, `data-${count++}`);
      await outside.plant(join(path, name), target);
      // Refused where the name is needed, and of no effect elsewhere.
      await startAndStop(path).catch((error: Error) => expect(error.message).toContain(join(path, name)));
      expect([name, target, await outside.look()]).toEqual([name, target, outside.untouched]);
    }
});

testAsRoot('a lock file that is a link makes no file elsewhere and gives none away', async () => {
  const path = folderOfAnotherUser(folder, 'data');
  const empty = join(folder, 'empty');
  await writeFile(empty, '');
  for (const target of [join(folder, 'not-there'), empty]) {
    await rm(join(path, 'server.lock.db'), { force: true });
    await symlink(target, join(path, 'server.lock.db'));
    await expect(openDataDirectory(path)).rejects.toThrow(`${join(path, 'server.lock.db')} is a link`);
  }
  expect(await readdir(folder)).not.toContain('not-there');
  expect((await stat(empty)).uid).toBe(0);
});

testAsRoot(
  'what root makes in the folder of another user is theirs, and they can start there afterwards',
  async () => {
    const path = folderOfAnotherUser(folder, 'data');
    await startAndStop(path);
    const names = await readdir(path);
    expect(names.toSorted()).toEqual([
      'admin.key',
      'boots',
      'incarnation',
      'made-here',
      'node.id',
      'server.lock.db',
    ]);
    for (const name of names)
      expect(await lstat(join(path, name)), name).toMatchObject({ uid: ANOTHER_USER.uid });
    expect([process.geteuid?.(), process.getegid?.()]).toEqual([0, 0]);
  },
);

testAsRoot('a folder of another user that they cannot reach themselves is used all the same', async () => {
  await mkdir(join(folder, 'private'), { mode: 0o700 });
  const path = join(folder, 'private', 'data');
  await mkdir(path);
  await chown(path, ANOTHER_USER.uid, ANOTHER_USER.gid);
  await startAndStop(path);
  expect(await lstat(join(path, 'server.lock.db'))).toMatchObject(ANOTHER_USER);
});

test.each(['admin.key', 'node.id', 'incarnation', 'boots'])(
  'a link in the place of %s is refused by name',
  async (name) => {
    const path = join(folder, 'data');
    await startAndStop(path);
    const elsewhere = join(folder, 'elsewhere');
    await writeFile(elsewhere, await readFile(join(path, name)), { mode: 0o644 });
    await rm(join(path, name));
    await symlink(elsewhere, join(path, name));
    await expect(startAndStop(path)).rejects.toThrow(`${join(path, name)} is a link`);
    expect((await stat(elsewhere)).mode & 0o777).toBe(0o644);
  },
);

testAsRoot('a link of another user leads root to what is theirs, and nowhere else', async () => {
  const home = folderOfAnotherUser(folder, 'home');
  const secret = join(folder, 'private');
  await mkdir(secret, { mode: 0o700 });
  await mkdir(join(secret, 'inner'), { mode: 0o700 });
  const plant = async (name: string, target: string) => {
    await symlink(target, join(home, name));
    await lchown(join(home, name), ANOTHER_USER.uid, ANOTHER_USER.gid);
    return join(home, name);
  };
  const data = await plant('data', secret);
  const way = await plant('way', folder);
  const round = await plant('round', '../home/data');
  for (const path of [data, join(way, 'private'), join(round, 'inner'), join(data, 'new'), join(way, 'new')])
    await expect(startAndStop(path), path).rejects.toThrow(/is a link of user 65534 and leads to/);
  expect(await readdir(secret)).toEqual(['inner']);
  expect(await readdir(join(secret, 'inner'))).toEqual([]);
  expect((await readdir(folder)).toSorted()).toEqual(['home', 'private']);
  expect((await stat(secret)).mode & 0o777).toBe(0o700);

  await mkdir(join(home, 'own'));
  await chown(join(home, 'own'), ANOTHER_USER.uid, ANOTHER_USER.gid);
  const own = await plant('to-own', join(home, 'own'));
  await startAndStop(own);
  await startAndStop(join(own, 'new', 'newer'));
  expect(await readdir(join(home, 'own'))).toEqual(expect.arrayContaining(['admin.key', 'new']));
});

testAsRoot('who is not root uses no folder of another user, even if they may write to it', async () => {
  await chmod(folder, 0o755);
  const open = async (owner: number) => {
    const path = join(folder, `of-${owner}`);
    await mkdir(path);
    // For the group of the test, which is root's.
    await chmod(path, 0o775);
    await chown(path, owner, 0);
    process.seteuid?.(ANOTHER_USER.uid);
    try {
      await startAndStop(path);
    } finally {
      process.seteuid?.(0);
    }
    return readdir(path);
  };
  await expect(open(ANOTHER_USER.uid - 1)).rejects.toThrow(/of-65533 belongs to user 65533/);
  expect(await readdir(join(folder, 'of-65533'))).toEqual([]);
  expect(await open(ANOTHER_USER.uid)).toContain('admin.key');
  expect(await open(0)).toContain('admin.key');
});

test('a key that is a second name of another file is refused, and the rights of that file stay', async () => {
  const path = join(folder, 'data');
  await startAndStop(path);
  const elsewhere = join(folder, 'elsewhere');
  await writeFile(elsewhere, await readFile(join(path, 'admin.key')), { mode: 0o644 });
  await rm(join(path, 'admin.key'));
  await link(elsewhere, join(path, 'admin.key'));
  await expect(startAndStop(path)).rejects.toThrow(`${join(path, 'admin.key')} is a hard link`);
  expect((await stat(elsewhere)).mode & 0o777).toBe(0o644);
});

const PLANTED = `ck_admin_${'a'.repeat(43)}`;

test.each(['644', '640', '602'])(
  'a key of mode %s, as a cloned repository has it, is refused with the command that corrects it',
  async (mode) => {
    const key = join(folder, 'admin.key');
    await writeFile(key, `${PLANTED}\n`);
    await chmod(key, Number.parseInt(mode, 8));
    await expect(startAndStop(folder, { isTrusted: true })).rejects.toThrow(
      new RegExp(`${key} can be read or changed by others.*remove it.*chmod 600 ${key}`),
    );
    expect(((await stat(key)).mode & 0o777).toString(8)).toBe(mode);
    await chmod(key, 0o600);
    await startAndStop(folder, { isTrusted: true });
    expect(await readFile(key, 'utf8')).toBe(`${PLANTED}\n`);
  },
);

testAsRoot('a key of another user than root and the owner of the folder is refused', async () => {
  for (const path of [join(folder, 'own'), folderOfAnotherUser(folder, 'data')]) {
    await mkdir(path, { recursive: true });
    const key = join(path, 'admin.key');
    await writeFile(key, `${PLANTED}\n`, { mode: 0o600 });
    await chown(key, 65_533, 65_533);
    await expect(startAndStop(path, { isTrusted: true })).rejects.toThrow(`${key} belongs to user 65533`);
    await chown(key, (await stat(path)).uid, 0);
    await startAndStop(path, { isTrusted: true });
  }
});

test('a folder that everybody can write to is refused', async () => {
  await chmod(folder, 0o757);
  await expect(startAndStop(folder)).rejects.toThrow(/ can be written to by .*chmod/);
  expect(await readdir(folder)).toEqual([]);
});

test('the data folder itself may be reached through a link', async () => {
  await mkdir(join(folder, 'real'));
  await symlink(join(folder, 'real'), join(folder, 'data'));
  await startAndStop(join(folder, 'data'));
  expect(await readdir(join(folder, 'real'))).toContain('admin.key');
});

test('scratch files that a killed server left are removed at the next start', async () => {
  const path = join(folder, 'data');
  await startAndStop(path);
  await writeFile(join(path, 'boots.0123456789abcdef.incoming'), 'half');
  await startAndStop(path);
  expect((await readdir(path)).filter((name) => name.endsWith('.incoming'))).toEqual([]);
});

test('a lock file that may not be written is an error, not a lock that keeps nobody out', async () => {
  const path = join(folder, 'data');
  await startAndStop(path);
  // As root the file is read-only for the owner of the folder, in whose name it is opened.
  if (process.geteuid?.() === 0) {
    await chown(path, ANOTHER_USER.uid, ANOTHER_USER.gid);
    await chmod(folder, 0o755);
  }
  await chmod(join(path, 'server.lock.db'), 0o444);
  await expect(openDataDirectory(path)).rejects.toThrow(/server\.lock\.db cannot be written/);
});

/** Root starts in no folder that somebody else can put another one in the place of, at whatever height of its path. */
import { chmod, chown, lchown, lstat, mkdir, readdir, rename, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect } from 'vitest';
import { ANOTHER_USER, testAsRoot } from '../../../tests/support/folder-of-another-user.ts';
import { makeTestFolder } from '../../../tests/support/test-folder.ts';
import { OpenFolder } from './open-folder.ts';

const THIRD_USER = 65_533;
const { uid: OTHER } = ANOTHER_USER;
let root = '';
let count = 0;

beforeEach(async () => {
  root = makeTestFolder();
  await chmod(root, 0o755);
});

interface Made {
  readonly uid?: number;
  readonly gid?: number;
  readonly mode?: number;
}

/** Folders inside each other, from the outermost, in a new folder each time. */
async function nested(...folders: readonly Made[]): Promise<string> {
  root = join(root, `${count++}`);
  await mkdir(root);
  let path = root;
  for (const [index, { uid = 0, gid = 0, mode = 0o755 }] of folders.entries()) {
    path = join(path, `f${index}`);
    await mkdir(path);
    await chown(path, uid, gid);
    await chmod(path, mode);
  }
  return path;
}

const open = async (path: string) => (await OpenFolder.open(path)).close();
const make = async (path: string) => (await OpenFolder.make(path, { mode: 0o700 })).close();

testAsRoot('a folder of root below one of another user is refused with its name and owner', async () => {
  const path = await nested({ uid: OTHER }, {}, {});
  for (const start of [open, make])
    await expect(start(path)).rejects.toThrow(
      `${join(root, 'f0')} belongs to user ${OTHER}, who could put another folder in the place of ${path}`,
    );
  await expect(make(join(path, 'new', 'newer'))).rejects.toThrow(`${join(root, 'f0')} belongs to user`);
  expect(await readdir(path)).toEqual([]);
});

testAsRoot('what anybody can write to must be sticky, and what is in it safe', async () => {
  for (const [mode, gid] of [
    [0o757, 0],
    [0o775, OTHER],
    [0o2775, OTHER],
  ] as const) {
    const path = await nested({ mode, gid }, {});
    await expect(open(path)).rejects.toThrow(`${join(root, 'f0')} can be written to by others (mode 0`);
    await expect(make(join(root, 'f0', 'new'))).rejects.toThrow('can be written to by others');
  }
  const path = await nested({ mode: 0o1777 }, {}, {});
  await open(path);
  await make(join(root, 'f0', 'new'));
  await chown(join(root, 'f0', 'f1'), OTHER, OTHER);
  await expect(open(path)).rejects.toThrow(`f1 belongs to user ${OTHER}`);
});

testAsRoot('the folder itself is no place for others to write to, sticky or not', async () => {
  for (const mode of [0o777, 0o1777])
    await expect(open(await nested({ mode }))).rejects.toThrow('can be written to by others');
  expect((await lstat(tmpdir())).mode & 0o1777).toBe(0o1777);
  await expect(open(tmpdir())).rejects.toThrow('can be written to by others');
});

testAsRoot(
  'a folder of another user may lie below theirs and root’s, not below that of a third',
  async () => {
    await open(await nested({ uid: OTHER, gid: OTHER, mode: 0o775 }, {}, { uid: OTHER }));
    const path = await nested({ uid: THIRD_USER }, { uid: OTHER });
    await expect(open(path)).rejects.toThrow(`f0 belongs to user ${THIRD_USER}`);
  },
);

testAsRoot('what is missing below a folder of another user is made by that user', async () => {
  const path = join(await nested({ uid: OTHER }), 'new', 'newer');
  await make(path);
  for (const made of [path, join(path, '..')]) expect(await lstat(made)).toMatchObject(ANOTHER_USER);
  await using folder = await OpenFolder.open(path);
  await using inner = await folder.makeFolder('inner', { mode: 0o700 });
  expect(await inner.owner()).toEqual(ANOTHER_USER);
});

testAsRoot('a link on the way is followed when root or the owner of the folder made it', async () => {
  const path = await nested({}, { uid: OTHER });
  const link = join(root, 'link');
  await symlink(path, link);
  for (const uid of [0, OTHER]) {
    await lchown(link, uid, uid);
    await open(link);
  }
  await lchown(link, THIRD_USER, THIRD_USER);
  await expect(open(link)).rejects.toThrow(`${link} is a link of user ${THIRD_USER}`);
});

testAsRoot(
  'a folder that was opened is judged by its own owner, wherever its path leads by then',
  async () => {
    const path = await nested({ uid: OTHER }, { uid: OTHER });
    await mkdir(join(root, 'f0', 'of-root'));
    await rename(path, join(root, 'f0', 'aside'));
    await rename(join(root, 'f0', 'of-root'), path);
    await expect(open(path)).rejects.toThrow(`f0 belongs to user ${OTHER}`);
  },
);

testAsRoot('root removes no folder of somebody else that its owner moved there', async () => {
  await using folder = await OpenFolder.open(await nested({ uid: OTHER }));
  await mkdir(join(folder.path, 'socket', 'letters'), { recursive: true });
  await expect(folder.remove('socket')).rejects.toThrow(`${folder.path}/socket belongs to user 0`);
  expect(await readdir(join(folder.path, 'socket'))).toEqual(['letters']);
});

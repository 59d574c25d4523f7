import { execFileSync } from 'node:child_process';
import { link, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { ANOTHER_USER, secretFile, testAsRoot } from '../../../tests/support/folder-of-another-user.ts';
import { makeTestFolder } from '../../../tests/support/test-folder.ts';
import { LinkRefused, OpenFolder } from './open-folder.ts';

let root = '';
let path = '';
let elsewhere = '';

beforeEach(async () => {
  root = makeTestFolder();
  path = join(root, 'folder');
  elsewhere = join(root, 'elsewhere');
  await mkdir(join(path, 'inner'), { recursive: true });
  await mkdir(join(elsewhere, 'inner'), { recursive: true });
  await writeFile(join(elsewhere, 'file'), 'kept');
  await writeFile(join(elsewhere, 'inner', 'file'), 'kept');
});

const untouched = async () => {
  expect((await readdir(elsewhere, { recursive: true })).toSorted()).toEqual(['file', 'inner', 'inner/file']);
  expect(await readFile(join(elsewhere, 'file'), 'utf8')).toBe('kept');
};

test('a file is written whole, for its owner alone, in the place of a link too, and leaves no scratch file', async () => {
  await using folder = await OpenFolder.open(path);
  await symlink(join(elsewhere, 'file'), join(path, 'file'));
  await folder.write('file', 'new');
  expect(await folder.read('file')).toBe('new');
  expect((await stat(join(path, 'file'))).mode & 0o777).toBe(0o600);
  expect(await readdir(path)).toEqual(['file', 'inner']);
  await untouched();
});

test('a file that cannot be put in place leaves no scratch file either', async () => {
  await using folder = await OpenFolder.open(path);
  await writeFile(join(path, 'inner', 'file'), '');
  await expect(folder.write('inner', 'new')).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await readdir(path)).toEqual(['inner']);
});

test('links are refused with their path, to files and to folders, also where they lead nowhere', async () => {
  await using folder = await OpenFolder.open(path);
  for (const target of [elsewhere, join(elsewhere, 'file'), join(root, 'nowhere')]) {
    await symlink(target, join(path, 'link'));
    const refused = { name: LinkRefused.name, message: expect.stringContaining(`${path}/link is a link`) };
    await expect(folder.read('link')).rejects.toMatchObject(refused);
    await expect(folder.folder('link')).rejects.toMatchObject(refused);
    await expect(folder.makeFolder('link', { mode: 0o700 })).rejects.toMatchObject(refused);
    expect(() => folder.touchSync('link')).toThrow(`${path}/link is a link`);
    await rm(join(path, 'link'));
  }
  await untouched();
});

testAsRoot('a folder of its own is new and root’s, and no other is taken for it', async () => {
  await using folder = await OpenFolder.open(path);
  await using made = await folder.makeOwnFolder('own', { mode: 0o755 });
  expect(await made.owner()).toMatchObject({ uid: 0 });
  await expect(folder.makeOwnFolder('own', { mode: 0o755 })).rejects.toMatchObject({ code: 'EEXIST' });
  await symlink(elsewhere, join(path, 'link'));
  await expect(folder.makeOwnFolder('link', { mode: 0o755 })).rejects.toMatchObject({ code: 'EEXIST' });
  await untouched();
});

test('what is removed is never what a link leads to', async () => {
  await using folder = await OpenFolder.open(path);
  await symlink(elsewhere, join(path, 'inner', 'link'));
  await symlink(elsewhere, join(path, 'link'));
  for (const name of ['inner', 'link', 'nothing']) await folder.remove(name);
  expect(await readdir(path)).toEqual([]);
  await untouched();
});

test('a pipe in the place of a file is refused, not waited for', async () => {
  await using folder = await OpenFolder.open(path);
  execFileSync('mkfifo', [join(path, 'pipe')]);
  await expect(folder.read('pipe')).rejects.toThrow(`${path}/pipe is not a file`);
});

test('an error names the path as the operator knows it', async () => {
  await using folder = await OpenFolder.open(path);
  await rm(path, { recursive: true });
  await expect(folder.write('file', 'new')).rejects.toThrow(`'${path}/file.`);
});

const isLeftOut = process.platform !== 'linux';
const exchanged = 'a folder that is exchanged for a link while it is open stays the folder it was';
test.skipIf(isLeftOut)(isLeftOut ? `${exchanged} (needs /proc/self/fd)` : exchanged, async () => {
  await using folder = await OpenFolder.open(path);
  await using inner = await folder.makeFolder('inner', { mode: 0o700 });
  await rename(path, join(root, 'moved'));
  await symlink(elsewhere, path);
  await folder.write('file', 'new');
  await inner.write('file', 'new');
  expect(await readFile(join(root, 'moved', 'inner', 'file'), 'utf8')).toBe('new');
  await folder.remove('inner');
  await folder.remove('file');
  expect(await readdir(join(root, 'moved'))).toEqual([]);
  await untouched();
});

testAsRoot(
  'a folder is given away with what is in it, but not with a file that has a name elsewhere',
  async () => {
    await using folder = await OpenFolder.open(path);
    await writeFile(join(path, 'inner', 'file'), '');
    await folder.giveAllTo(ANOTHER_USER);
    for (const name of ['', 'inner', 'inner/file'])
      expect(await stat(join(path, name))).toMatchObject(ANOTHER_USER);
    const secret = await secretFile(join(root, 'secret'));
    await link(secret.path, join(path, 'inner', 'name'));
    await expect(folder.giveAllTo(ANOTHER_USER)).rejects.toThrow(`${path}/inner/name is a hard link`);
    expect(await secret.look()).toEqual(secret.untouched);
  },
);

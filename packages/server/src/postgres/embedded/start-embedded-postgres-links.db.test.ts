/** Links in the folder of the embedded database, planted by whoever may write there: a start follows none, also as root. */
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
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
} from '../../../../../tests/support/folder-of-another-user.ts';
import { makeTestFolder } from '../../../../../tests/support/test-folder.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './start-embedded-postgres.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
let folder = '';

beforeEach(() => {
  folder = makeTestFolder();
});

const start = (data: string, runAs?: 'system_user'): Promise<EmbeddedPostgres> =>
  startEmbeddedPostgres({ dataDir: join(data, 'postgres'), log: silent, ...(runAs && { runAs }) });

/** A folder with a file in each folder that a start empties, to see that nothing was made or removed there. */
async function elsewhere(): Promise<{ path: string; names(): Promise<string[]> }> {
  const path = join(folder, 'elsewhere');
  await mkdir(join(path, 'socket'), { recursive: true });
  await writeFile(join(path, 'socket', 'kept'), '');
  const names = async () => (await readdir(path, { recursive: true })).toSorted();
  return { path, names };
}

test('a link in the place of the whole folder is refused, and nothing is made or removed where it leads', async () => {
  const target = await elsewhere();
  await symlink(target.path, join(folder, 'postgres'));
  await expect(start(folder)).rejects.toThrow(`${join(folder, 'postgres')} is a link`);
  expect(await target.names()).toEqual(['socket', 'socket/kept']);
});

test.each(['cluster', 'socket'])(
  'a link in the place of %s is refused by name, and what it leads to stays',
  async (name) => {
    await (await start(folder)).stop();
    const target = await elsewhere();
    const path = join(folder, 'postgres', name);
    await rm(path, { recursive: true });
    await symlink(target.path, path);
    await expect(start(folder)).rejects.toThrow(`${path} is a link`);
    expect(await target.names()).toEqual(['socket', 'socket/kept']);
  },
);

test('links under the names that a first start uses are replaced, and what they lead to stays', async () => {
  const target = await elsewhere();
  const secret = join(folder, 'secret');
  await writeFile(secret, 'secret\n');
  await mkdir(join(folder, 'postgres'));
  await symlink(target.path, join(folder, 'postgres', 'cluster.incoming'));
  await symlink(secret, join(folder, 'postgres', 'password'));
  await (await start(folder)).stop();
  expect(await target.names()).toEqual(['socket', 'socket/kept']);
  expect(await readFile(secret, 'utf8')).toBe('secret\n');
});

test('a record of the postmaster that is a link is not written through', async () => {
  await (await start(folder)).stop();
  const stranger = join(folder, 'stranger');
  await writeFile(stranger, `${process.pid}\n`);
  await symlink(stranger, join(folder, 'postgres/cluster/postmaster.pid'));
  await expect(start(folder)).rejects.toThrow('postmaster.pid is a link');
  expect(await readFile(stranger, 'utf8')).toBe(`${process.pid}\n`);
});

testAsRoot(
  'in the folder of another user PostgreSQL runs as that user, and all its files are theirs',
  async () => {
    const data = folderOfAnotherUser(folder, 'data');
    for (let round = 0; round < 2; round += 1) {
      const server = await start(data);
      const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
      expect(status).toMatch(/^Uid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534$/m);
      expect(status).toMatch(/^Groups:\s*$/m);
      await server.stop();
    }
    for (const name of await readdir(join(data, 'postgres'), { recursive: true }))
      if (!name.startsWith('binaries'))
        expect(await lstat(join(data, 'postgres', name)), name).toMatchObject(ANOTHER_USER);
  },
);

testAsRoot('in the folder of another user no link leads out of it, whichever name it has', async () => {
  const outside = await temptations(folder);
  const planted = [
    ...['', 'cluster', 'socket'].flatMap((name) => [`${name}:folder`, `${name}:missing`]),
    ...['password:file', 'password:missing', 'cluster.incoming:folder', 'binaries:folder'],
  ];
  for (const [index, words] of planted.entries()) {
    const [name = '', target] = words.split(':');
    const data = folderOfAnotherUser(folder, `data-${index}`);
    const path = join(data, 'postgres');
    if (name !== '') {
      await mkdir(path);
      await chown(path, ANOTHER_USER.uid, ANOTHER_USER.gid);
    }
    await outside.plant(join(path, name), target as 'file' | 'folder' | 'missing');
    await start(data).then(
      (server) => server.stop(),
      (error: Error) => expect(error.message).toContain(`${join(path, name)} is a link`),
    );
    expect([words, await outside.look()]).toEqual([words, outside.untouched]);
  }
});

testAsRoot(
  'nothing of root under a name of the database is given to the owner of the folder above',
  async () => {
    const data = folderOfAnotherUser(folder, 'data');
    const path = join(data, 'postgres');
    await (await start(folder)).stop();
    const ownersIn = async () => {
      const names = ['.', ...(await readdir(path, { recursive: true }))];
      return new Set(await Promise.all(names.map(async (name) => (await lstat(join(path, name))).uid)));
    };
    // A database of root that somebody else moved: all of it, then the cluster alone.
    await rename(join(folder, 'postgres'), path);
    const before = await ownersIn();
    await expect(start(data)).rejects.toThrow(`${path} belongs to user`);
    expect(await ownersIn()).toEqual(before);
    await chown(path, ANOTHER_USER.uid, ANOTHER_USER.gid);
    await chown(join(path, 'cluster'), 0, 0);
    await expect(start(data)).rejects.toThrow(`${path}/cluster belongs to user 0`);
    expect(await stat(join(path, 'cluster'))).toMatchObject({ uid: 0 });
    expect((await stat(join(path, 'cluster', 'PG_VERSION'))).uid).not.toBe(ANOTHER_USER.uid);
  },
);

testAsRoot('a folder of root with other things in it is given to nobody', async () => {
  const path = join(folder, 'postgres');
  await mkdir(path, { mode: 0o700 });
  await writeFile(join(path, 'letters'), '');
  await expect(start(folder, 'system_user')).rejects.toThrow(`${path} holds letters`);
  expect(await stat(path)).toMatchObject({ uid: 0 });
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

testAsRoot(
  'files that change their owner are those of the cluster, and none that a link leads to',
  async () => {
    await chmod(folder, 0o755);
    await (await start(folder, 'system_user')).stop();
    const cluster = join(folder, 'postgres', 'cluster');
    const { uid } = await stat(cluster);
    const secret = await secretFile(join(folder, 'secret'));
    await mkdir(join(folder, 'private'));
    await writeFile(join(folder, 'private', 'file'), '');
    await symlink(secret.path, join(cluster, 'a-file'));
    await symlink(join(folder, 'private'), join(cluster, 'a-folder'));
    for (const name of ['.', 'PG_VERSION']) await chown(join(cluster, name), 0, 0);
    await (await start(folder, 'system_user')).stop();
    for (const name of ['.', 'PG_VERSION']) expect((await stat(join(cluster, name))).uid).toBe(uid);
    expect(await secret.look()).toEqual(secret.untouched);
    expect((await stat(join(folder, 'private', 'file'))).uid).toBe(0);
  },
);

testAsRoot('whoever ran the database last runs it again, for its settings are theirs to write', async () => {
  await chmod(folder, 0o755);
  await (await start(folder, 'system_user')).stop();
  const { uid } = await stat(join(folder, 'postgres'));
  const server = await start(folder);
  expect((await stat(join(folder, 'postgres'))).uid).toBe(uid);
  expect(await readFile(`/proc/${server.pid}/status`, 'utf8')).toMatch(new RegExp(`^Uid:\\t${uid}\\t`, 'm'));
  await server.stop();
});

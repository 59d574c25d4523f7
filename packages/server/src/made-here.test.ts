/** A data folder that came from elsewhere brings a key that others know, and a database that runs what they wrote. */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { makeTestFolder } from '../../../tests/support/test-folder.ts';
import { openDataDirectory } from './data-directory.ts';
import { FolderFromElsewhere } from './made-here.ts';

let folder: string;
let path: string;

async function start(at = path, options: { isTrusted?: boolean } = {}): Promise<string> {
  const data = await openDataDirectory(at, options);
  const key = await data.adminKey();
  await data.close();
  return key;
}

beforeEach(() => {
  folder = makeTestFolder();
  path = join(folder, 'data');
});

test('a folder that a server made is used again, also under another name', async () => {
  const key = await start();
  expect(await start()).toBe(key);
  await rename(path, join(folder, 'moved'));
  expect(await start(join(folder, 'moved'))).toBe(key);
});

test('what others keep in a folder before its first start is no matter', async () => {
  await mkdir(join(path, 'lost+found'), { recursive: true, mode: 0o700 });
  await writeFile(join(path, 'tls.pem'), 'x');
  const key = await start();
  expect(await start()).toBe(key);
});

test('a clone of a repository that holds a data folder is refused, whatever its modes', async () => {
  const repository = join(folder, 'repository');
  await start(join(repository, '.carillon'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { stdio: 'pipe' });
  git('init', '-q', repository);
  git('-C', repository, 'add', '-A', '-f');
  git('-C', repository, 'commit', '-q', '-m', 'x');
  const clone = join(folder, 'clone');
  execFileSync('/bin/sh', ['-c', 'umask 077; git clone -q "$0" "$1"', repository, clone], { stdio: 'pipe' });
  await expect(start(join(clone, '.carillon'))).rejects.toThrow(FolderFromElsewhere);
});

describe('a folder of which no server here knows', () => {
  test.each(['admin.key', 'postgres/cluster/PG_VERSION', 'server.lock.db-journal'])(
    'is refused when it holds %s, and nothing is made in it',
    async (name) => {
      await mkdir(join(path, name, '..'), { recursive: true, mode: 0o700 });
      await writeFile(join(path, name), `ck_admin_${'a'.repeat(43)}\n`, { mode: 0o600 });
      const [top] = name.split('/');
      await expect(start()).rejects.toThrow(`${join(path, top!)} was not made by a server in this place`);
      await expect(start()).rejects.toThrow('--trust-folder');
      await rm(join(path, top!), { recursive: true });
      await start();
    },
  );

  test('is used for good once somebody said that it is theirs', async () => {
    const key = await start();
    const copy = join(folder, 'copy');
    await cp(path, copy, { recursive: true, preserveTimestamps: true });
    await expect(start(copy)).rejects.toThrow(FolderFromElsewhere);
    expect(await start(copy, { isTrusted: true })).toBe(key);
    expect(await start(copy)).toBe(key);
    expect(await start()).toBe(key);
  });

  test.each(['', '{}', 'null', '{"inode":"x"}'])('is refused with the record %j', async (record) => {
    await start();
    expect(await readFile(join(path, 'made-here'), 'utf8')).toContain('born');
    await writeFile(join(path, 'made-here'), record);
    await expect(start()).rejects.toThrow(FolderFromElsewhere);
  });

  test('is refused with a record that guesses the number of the folder alone', async () => {
    await start();
    const record = JSON.parse(await readFile(join(path, 'made-here'), 'utf8'));
    // Where the system does not tell when a folder was made, its number has to do.
    if (record.born === '0') return;
    await writeFile(join(path, 'made-here'), JSON.stringify({ ...record, born: '0' }));
    await expect(start()).rejects.toThrow(FolderFromElsewhere);
  });
});

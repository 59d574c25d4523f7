import { chmod, mkdir, mkdtemp, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { OpenFolder } from '../../open-folder.ts';
import { copyPostgresBinaries, preparePostgresBinaries } from './postgres-binaries.ts';

let folder = '';
let packageDir = '';
let data: OpenFolder;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-binaries-'));
  packageDir = join(folder, 'package');
  data = await OpenFolder.open(folder);
  await mkdir(join(packageDir, 'native/bin'), { recursive: true });
  await mkdir(join(packageDir, 'native/lib'));
  for (const name of ['postgres', 'initdb'])
    await writeFile(join(packageDir, 'native/bin', name), '', { mode: 0o755 });
  await writeFile(join(packageDir, 'native/lib/libpq.so.5.18'), 'library');
  await writeFile(join(packageDir, 'package.json'), '{ "version": "18.4.0" }');
  await writeFile(
    join(packageDir, 'native/pg-symlinks.json'),
    JSON.stringify([{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]),
  );
});

afterEach(async () => {
  await data.close();
  await chmod(join(packageDir, 'native/lib'), 0o755);
  await rm(folder, { recursive: true, force: true });
});

it('the links a package could not contain are made beside the originals, once', async () => {
  for (let start = 0; start < 2; start += 1) {
    const binaries = await preparePostgresBinaries(packageDir, data);
    expect(binaries.postgres).toBe(join(packageDir, 'native/bin/postgres'));
    expect(await readlink(join(packageDir, 'native/lib/libpq.so.5'))).toBe('libpq.so.5.18');
  }
});

it('a package that may not be written is copied, complete with its links', async () => {
  await chmod(join(packageDir, 'native/lib'), 0o555);
  // Root may write anywhere, so it is shown the copy directly.
  const make = process.geteuid?.() === 0 ? copyPostgresBinaries : preparePostgresBinaries;
  const binaries = await make(packageDir, data);
  expect(binaries.initdb).toBe(join(folder, 'binaries/18.4.0/native/bin/initdb'));
  expect(await readlink(join(folder, 'binaries/18.4.0/native/lib/libpq.so.5'))).toBe('libpq.so.5.18');
  await expect(stat(join(packageDir, 'native/lib/libpq.so.5'))).rejects.toThrow();
});

it('a package without programs is reported with the way out', async () => {
  await rm(join(packageDir, 'native/bin/initdb'));
  await expect(preparePostgresBinaries(packageDir, data)).rejects.toThrow(/--database-url/);
});

it('a copy is made in no folder that a link leads to, and replaces one that was interrupted', async () => {
  await mkdir(join(folder, 'elsewhere'));
  await symlink(join(folder, 'elsewhere'), join(folder, 'binaries'));
  await expect(copyPostgresBinaries(packageDir, data)).rejects.toThrow('binaries is a link');
  await rm(join(folder, 'binaries'));
  await mkdir(join(folder, 'binaries/18.4.0.incoming/native'), { recursive: true });
  await symlink(join(folder, 'elsewhere'), join(folder, 'binaries/18.4.0.incoming/native/lib'));
  await chmod(join(folder, 'binaries/18.4.0.incoming/native'), 0o555);
  await copyPostgresBinaries(packageDir, data);
  expect(await readdir(join(folder, 'binaries'))).toEqual(['18.4.0']);
  expect(await readdir(join(folder, 'elsewhere'))).toEqual([]);
});

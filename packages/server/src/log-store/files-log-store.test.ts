import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunId } from '@carillon/domain';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeLogStore } from './conformance.ts';
import { FilesLogStore } from './files-log-store.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-logs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describeLogStore('logs in files', () => FilesLogStore.open(join(folder, randomUUID())));

describe('the files of logs', () => {
  const log = { day: '2030-01-31', runId: randomUUID() as RunId, epoch: 3 };
  const hello = Buffer.from('hello\n');

  test('are named by day, run and epoch, and are their owner’s alone', async () => {
    const root = join(folder, 'named');
    await using store = disposable(await FilesLogStore.open(root));
    await store.write(log, { segment: 0, offset: 0 }, hello);
    const file = join(root, log.day, log.runId, '3.log');
    expect(await readFile(file, 'utf8')).toBe('hello\n');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(root, log.day, log.runId))).mode & 0o777).toBe(0o700);
    expect((await stat(root)).mode & 0o777).toBe(0o700);
  });

  test('another opening of the folder reads them', async () => {
    const root = join(folder, 'again');
    {
      await using store = disposable(await FilesLogStore.open(root));
      await store.write(log, { segment: 0, offset: 0 }, hello);
    }
    await using store = disposable(await FilesLogStore.open(root));
    expect(await store.segments(log)).toEqual([{ start: 0, bytes: 6 }]);
  });

  test('of a day of many runs are removed in steps, also by several servers at once', async () => {
    const root = join(folder, 'many');
    const open = () => FilesLogStore.open(root, { isShared: true });
    await using one = disposable(await open());
    await using other = disposable(await open());
    const old = { ...log, day: '2030-01-30' };
    await one.write(log, { segment: 0, offset: 0 }, hello);
    await one.write(old, { segment: 0, offset: 0 }, hello);
    for (let runs = 0; runs < 1_200; runs += 1) {
      const run = join(root, old.day, randomUUID());
      await mkdir(run);
      await writeFile(join(run, '1.log'), 'x');
    }
    const count = async () => (await readdir(join(root, old.day))).length;
    const beforeDay = log.day;
    expect(await one.dropSome({ beforeDay })).toBe(true);
    expect(await count()).toBe(701);
    // A clock that went ahead and was set back: what it took for old is not.
    expect(await one.dropSome({ beforeDay: old.day })).toBe(false);
    expect(await count()).toBe(701);
    for (let steps = 0; steps < 10; steps += 1)
      await Promise.all([one.dropSome({ beforeDay }), other.dropSome({ beforeDay })]);
    expect(await one.dropSome({ beforeDay })).toBe(false);
    expect(await readdir(root)).toEqual([log.day]);
    expect(await one.segments(log)).toEqual([{ start: 0, bytes: 6 }]);
  });

  test('a link in the place of a file, a run or a day is not followed', async () => {
    const outside = join(folder, 'outside');
    await writeFile(outside, 'precious');
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    for (const [name, link] of [
      ['file', (root: string) => symlink(outside, join(root, log.day, log.runId, '3.log'))],
      ['run', (root: string) => symlink(elsewhere, join(root, log.day, log.runId))],
      ['day', (root: string) => symlink(elsewhere, join(root, log.day))],
    ] as const) {
      const root = join(folder, `linked-${name}`);
      const above = { file: join(root, log.day, log.runId), run: join(root, log.day), day: root }[name];
      await mkdir(above, { recursive: true });
      await link(root);
      await using store = disposable(await FilesLogStore.open(root));
      await expect(store.write(log, { segment: 0, offset: 0 }, hello)).rejects.toThrow();
      await expect(store.read(log, { segment: 0, from: 0, bytesMax: 10 })).rejects.toThrow();
    }
    expect(await readFile(outside, 'utf8')).toBe('precious');
    await expect(stat(join(elsewhere, log.runId))).rejects.toThrow('ENOENT');
    await expect(stat(join(elsewhere, '3.log'))).rejects.toThrow('ENOENT');
  });
});

function disposable<T extends { close(): Promise<void> }>(store: T): T & AsyncDisposable {
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

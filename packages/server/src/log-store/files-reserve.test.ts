/** Hazard 48: what runs write leaves the rest of their disk to the database. The disks of these tests are folders that are measured. */
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JobId, type LeaseId, type NodeId, RESULT_BYTES_MAX, type RunId } from '@carillon/domain';
import { type Log, ManualClock, silentLog, systemClock } from '@carillon/foundation';
import type { HeldRun } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { RunOutput } from '../run-output/run-output.ts';
import { StoredResults } from '../run-results/stored-results.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { MemoryRunLogStore } from '../storage/memory/memory-run-log-store.ts';
import { FilesLogStore, type FilesLogStoreOptions } from './files-log-store.ts';
import { dayOf, LogDiskShort, type LogKey } from './log-store.ts';

const SOON = { withinMs: 60_000 };
const KIB = 1_024;
const MIB = 1_024 * KIB;
const BLOCK = 4 * KIB;

let folder: string;
let clock: ManualClock;
let told: { warnings: string[]; infos: string[] };
let opened: FilesLogStore[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-reserve-'));
  clock = new ManualClock();
  told = { warnings: [], infos: [] };
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.close();
  await rm(folder, { recursive: true, force: true });
});

const log: Log = {
  ...silentLog,
  warn: (_facts, message) => void told.warnings.push(message),
  info: (_facts, message) => void told.infos.push(message),
};

/** Blocks and files of all that is in the folder. */
async function taken(path = folder): Promise<{ blocks: number; files: number }> {
  const sums = { blocks: 0, files: 0 };
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined);
    sums.files += found ? 1 : 0;
    sums.blocks += found ? Math.max(1, Math.ceil(found.size / BLOCK)) : 0;
  }
  return sums;
}

/** A disk of this size that holds the folder, with all that is written there, whoever writes it. */
function disk({ bytes, files = 0 }: { bytes: number; files?: number }) {
  return async () => {
    const used = await taken();
    const blocks = bytes / BLOCK;
    return { bsize: BLOCK, blocks, bavail: blocks - used.blocks, files, ffree: files - used.files };
  };
}

async function open(reserve: Partial<FilesLogStoreOptions['reserve']> = {}): Promise<FilesLogStore> {
  const store = await FilesLogStore.open(join(folder, 'logs'), { reserve: { clock, log, ...reserve } });
  opened.push(store);
  return store;
}

const newLog = (over: Partial<LogKey> = {}): LogKey => ({
  ...{ day: '2030-01-01', runId: newId<RunId>(), epoch: 1, ...over },
});
const begin = (store: FilesLogStore, bytes: number, key = newLog()) =>
  store.write(key, { segment: 0, offset: 0 }, new Uint8Array(bytes));

/** Runs that write at once, time standing still or passing, until the store refuses them. */
async function fill(store: FilesLogStore, { bytes, passesMs = 0 }: { bytes: number; passesMs?: number }) {
  for (;;) {
    const tried = await Promise.allSettled(Array.from({ length: 8 }, () => begin(store, bytes)));
    clock.advance(passesMs);
    const refusals = tried.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    if (refusals.length > 0) return expect(refusals[0]).toBeInstanceOf(LogDiskShort);
  }
}

describe.each([
  ['within one measurement', 0],
  ['over many of them', 300],
])('runs that write without end, %s,', (_, passesMs) => {
  test('leave a quarter of a small disk, and use what is before it', async () => {
    const store = await open({ statfs: disk({ bytes: 20 * MIB }) });
    await fill(store, { bytes: 64 * KIB, passesMs });
    const left = 20 * MIB - (await taken()).blocks * BLOCK;
    expect(left).toBeGreaterThanOrEqual(5 * MIB);
    expect(left).toBeLessThan(9 * MIB);
  });

  test('leave files for others to make', async () => {
    const store = await open({ statfs: disk({ bytes: 20 * MIB, files: 1_000 }) });
    await fill(store, { bytes: 1, passesMs });
    expect(1_000 - (await taken()).files).toBeGreaterThanOrEqual(250);
    expect(told.warnings[0]).toMatch(/can have \d+ files more, and 250 are left/);
  });
});

test('a large disk keeps 1 GiB, and any disk what logs.reserve_mb says', async () => {
  const bytes = 1_000 * KIB * MIB;
  const free = (mib: number) => async () => ({
    ...{ bsize: BLOCK, blocks: bytes / BLOCK, bavail: (mib * MIB) / BLOCK, files: 0, ffree: 0 },
  });
  await begin(await open({ statfs: free(1_025) }), 64 * KIB);
  await expect(begin(await open({ statfs: free(1_024) }), 64 * KIB)).rejects.toThrow(LogDiskShort);
  await begin(await open({ statfs: free(101), reserveMb: 100 }), 64 * KIB);
  await expect(begin(await open({ statfs: free(100), reserveMb: 100 }), 64 * KIB)).rejects.toThrow(
    LogDiskShort,
  );
  await begin(await open({ statfs: free(0), reserveMb: 0 }), 64 * KIB);
});

test('the disk of the system is asked, and a disk that tells nothing refuses nothing', async () => {
  await expect(begin(await open({ reserveMb: 2 ** 40 }), 1)).rejects.toThrow(LogDiskShort);
  await begin(await open({ reserveMb: 1 }), 1);
  await begin(await open({ statfs: () => Promise.reject(new Error('not implemented')) }), 1);
  const nothing = { bsize: BLOCK, blocks: 0, bavail: 0, files: 0, ffree: 0 };
  await begin(await open({ statfs: () => Promise.resolve(nothing) }), 1);
});

test('the operator is told once what to do, and once when it is over; what is refused leaves nothing behind', async () => {
  const store = await open({ statfs: disk({ bytes: 20 * MIB }) });
  const others = join(folder, 'others');
  await mkdir(others);
  await writeFile(join(others, 'base'), new Uint8Array(15 * MIB));
  const before = await taken();
  for (let tries = 0; tries < 10; tries += 1) {
    await expect(begin(store, 1)).rejects.toThrow(LogDiskShort);
    clock.advance(1_000);
  }
  expect(await taken()).toEqual(before);
  expect(told.warnings).toEqual([
    expect.stringMatching(
      /has 5 MiB free, and 5 MiB are left .* Make room on that disk, lower logs\.retention_days/,
    ),
  ]);
  expect(told.infos).toEqual([]);
  await rm(join(others, 'base'));
  await begin(store, 1);
  await begin(store, 1);
  expect(told.infos).toEqual([expect.stringContaining('the disk has room again')]);
});

test('it is over only when there is room for more than the next line', async () => {
  let free = 0;
  const statfs = async () => ({ bsize: MIB, blocks: 400, bavail: free, files: 0, ffree: 0 });
  const store = await open({ statfs });
  const tried = async (mib: number) => {
    free = mib;
    clock.advance(1_000);
    return begin(store, 1).then(
      () => true,
      () => false,
    );
  };
  // A quarter is 100; an eighth of that above it.
  expect([await tried(99), await tried(101), await tried(112)]).toEqual([false, false, false]);
  expect(told.infos).toEqual([]);
  expect([await tried(113), await tried(101)]).toEqual([true, true]);
  expect(told.infos).toHaveLength(1);
});

describe('a run on a disk that is nearly full', () => {
  const NODE = newId<NodeId>();
  const held = (): HeldRun => ({
    ...{ leaseId: newId<LeaseId>(), position: 0, epoch: 1, claimedAtMs: systemClock.now() },
    ...{ jobId: newId<JobId>(), runId: newId<RunId>() },
  });
  const others = () => join(folder, 'others');

  test('ends without its log and without its large result, with one warning in all', async () => {
    await writeFile(others(), new Uint8Array(20 * MIB));
    const store = await open({ clock: systemClock, statfs: disk({ bytes: 20 * MIB }) });
    const records = new MemoryRunLogStore();
    const output = new RunOutput({ store, records, nodeId: NODE, clock: systemClock, log });
    const results = new StoredResults({ store, nodeId: NODE, bytesMax: 64 * MIB });
    const run = held();
    void output.output(run, { stream: 'stdout', atMs: 1, bytes: Buffer.from('lost\n') });
    await expect(results.save(run, new Uint8Array(RESULT_BYTES_MAX + 1))).rejects.toThrow(
      'the disk for logs and results is nearly full',
    );
    await output.close(run);
    expect(await records.logsOf(run.runId)).toMatchObject([{ incomplete: true, ended: true }]);
    expect(told.warnings).toEqual([
      expect.stringContaining('the output and large results of runs are not kept'),
    ]);
    await output.stop();
  });

  test('has a mark in its log for what was lost, and the rest of it once there is room', async () => {
    await writeFile(others(), new Uint8Array(20 * MIB));
    const store = await open({ clock: systemClock, statfs: disk({ bytes: 20 * MIB }) });
    const records = new MemoryRunLogStore();
    const output = new RunOutput({ store, records, nodeId: NODE, clock: systemClock, log });
    const run = held();
    const line = Buffer.from(`${'x'.repeat(60_000)}\n`);
    const say = (bytes: Buffer) => void output.output(run, { stream: 'stdout', atMs: 1, bytes });
    say(line);
    await eventually(() => expect(told.warnings).toHaveLength(1), SOON);
    for (let lines = 0; lines < 40; lines += 1) say(line);
    await rm(others());
    await eventually(() => expect(output.counts().unwrittenBytes).toBe(0), SOON);
    say(Buffer.from('back\n'));
    await output.close(run);
    const key = newLog({ day: dayOf(run.claimedAtMs), runId: run.runId });
    const text = Buffer.from(await store.read(key, { segment: 0, from: 0, bytesMax: 4 * MIB })).toString();
    expect(text.split('\n').slice(-3)).toEqual([
      expect.stringMatching(/ s \d+ bytes of output are missing here: it could not be kept \(ENOSPC\)\.$/),
      '1 o back',
      '',
    ]);
    expect(told).toEqual({
      warnings: [expect.any(String)],
      infos: [expect.stringContaining('has room again')],
    });
    await output.stop();
  });
});

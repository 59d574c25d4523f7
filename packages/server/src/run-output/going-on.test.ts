/** Logs over restarts of their server, workers that go to another server, attempts without end, and workers that die. */
import { randomUUID } from 'node:crypto';
import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClaimedRun, LeaseId, NodeId, RunId } from '@carillon/domain';
import { type Clock, silentLog, systemClock, systemRandom } from '@carillon/foundation';
import type { HeldRun } from '@carillon/worker';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { S3_BUCKET, S3_KEY, S3Server } from '../../../../tests/support/s3-server.ts';
import { FilesLogStore } from '../log-store/files-log-store.ts';
import type { LogStore } from '../log-store/log-store.ts';
import { MemoryLogStore } from '../log-store/memory-log-store.ts';
import { S3LogStore } from '../log-store/s3/s3-log-store.ts';
import { RunLogs } from '../run-logs/run-logs.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { RoleStage } from '../testing/role-stage.fixture.ts';
import { HEAD_BYTES_MAX, TAIL_SEGMENT_BYTES_MAX } from './attempt-log.ts';
import { LogCloser } from './log-closer.ts';
import { QUIET_MS_MIN, RunOutput } from './run-output.ts';

const SOON = { withinMs: 60_000 };
const MARK = 'Output may be missing here: the server stopped before all of it was kept.';
const NODES = [1, 2].map(() => randomUUID() as NodeId);

let folder: string;
let s3: S3Server;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-going-on-'));
  s3 = await S3Server.start();
});
afterAll(async () => {
  await s3.stop();
  await rm(folder, { recursive: true, force: true });
});

let stage: RoleStage;
let clock: Clock;
let aheadMs: number;
let store: LogStore;
const outputs: RunOutput[] = [];
beforeEach(async () => {
  stage = await RoleStage.set();
  aheadMs = 0;
  const startedAt = systemClock.monotonic();
  const monotonic = () => systemClock.monotonic() + aheadMs;
  clock = { ...systemClock, monotonic, now: () => BASE_MS + Math.round(monotonic() - startedAt) };
  store = new MemoryLogStore();
});
afterEach(async () => {
  await Promise.all(outputs.splice(0).map((output) => output.stop()));
  await store.close();
});

function serve({ node = NODES[0]!, runBytesMax }: { node?: NodeId; runBytesMax?: number } = {}): RunOutput {
  const records = stage.storage.runLogs;
  const output = new RunOutput({
    ...{ store, records, nodeId: node, clock, log: silentLog },
    ...(runBytesMax !== undefined && { runBytesMax }),
  });
  outputs.push(output);
  return output;
}

/** As after a kill: what is in memory is lost. */
function kill(output: RunOutput): void {
  outputs.splice(outputs.indexOf(output), 1);
}

async function claimed(): Promise<ClaimedRun> {
  const { job } = await stage.world.oneOff();
  return { ...(await stage.world.claimOne(job)), claimedAtMs: clock.now() };
}
const fromEarlier = (run: HeldRun): HeldRun => ({ ...run, isFromEarlier: true });

function say(output: RunOutput, run: HeldRun, text: string): void {
  void output.output(run, { stream: 'stdout', atMs: clock.now(), bytes: Buffer.from(text) });
}

async function read(runId: RunId, node = NODES[0]!): Promise<string[]> {
  const logs = new RunLogs({ records: stage.storage.runLogs, store, nodeId: node });
  const lines: string[] = [];
  for (const record of await logs.of(runId))
    for await (const { text } of logs.lines(record)) lines.push(text);
  return lines;
}
const recorded = (run: HeldRun) => stage.storage.runLogs.logsOf(run.runId);
const kept = (run: HeldRun, count: number) =>
  eventually(
    async () => expect((await recorded(run)).length && (await read(run.runId)).length).toBe(count),
    SOON,
  );

const STORES: [string, () => Promise<LogStore>][] = [
  ['in a folder of its own', () => FilesLogStore.open(join(folder, randomUUID()))],
  ['in a shared folder', () => FilesLogStore.open(join(folder, randomUUID()), { isShared: true })],
  [
    'in a bucket',
    async () =>
      new S3LogStore({
        ...{ bucket: S3_BUCKET, endpoint: s3.endpoint, region: 'us-east-1', credentials: S3_KEY },
        ...{ prefix: randomUUID(), clock: systemClock, random: systemRandom },
      }),
  ],
];

describe.each(STORES)('a log %s', (_name, open) => {
  beforeEach(async () => {
    store = await open();
  });

  test('goes on after a restart of its server within the epoch: no line is lost, none stands there twice', async () => {
    const run = await claimed();
    const before = serve();
    say(before, run, 'one\ntwo\nand a ');
    await before.stop();
    const after = serve();
    say(after, fromEarlier(run), 'half\nthree\n');
    await after.close(run);
    expect(await read(run.runId)).toEqual(['one', 'two', 'and a ', 'half', 'three']);
    expect(await recorded(run)).toMatchObject([{ lines: 5, ended: true, incomplete: false }]);
  });

  test('has a part at each server that the worker was connected to, in their order', async () => {
    const run = await claimed();
    const [one, other] = [serve(), serve({ node: NODES[1]! })];
    say(one, run, 'here\n');
    await one.stop();
    aheadMs += 1_000;
    say(other, fromEarlier(run), 'there\n');
    await other.close(run);
    const records = await recorded(run);
    expect(records.map(({ nodeId, writer }) => nodeId ?? writer)).toEqual(NODES);
    if (store.isShared) expect(await read(run.runId)).toEqual(['here', 'there']);
  });

  test('of a server that stood still overwrites nothing of the one that took its place', async () => {
    const run = await claimed();
    const [frozen, other] = [serve(), serve({ node: NODES[1]! })];
    say(frozen, run, 'before\n');
    aheadMs += 1_000;
    say(other, fromEarlier(run), 'meanwhile, and longer than what comes late\n');
    await other.close(run);
    say(frozen, run, 'late\n');
    await frozen.close(run);
    const [first, second] = await recorded(run);
    expect([first!.lines, second!.lines]).toEqual([2, 1]);
    if (store.isShared)
      expect(await read(run.runId)).toEqual(['before', 'late', 'meanwhile, and longer than what comes late']);
  });
});

describe('after a server was killed', () => {
  let root: string;
  beforeEach(async () => {
    root = join(folder, randomUUID());
    store = await FilesLogStore.open(root);
  });

  test('a mark stands where lines may be missing, also behind half a line', async () => {
    const run = await claimed();
    const before = serve();
    say(before, run, 'one\n');
    await kept(run, 1);
    kill(before);
    const [day] = await readdir(root);
    await appendFile(join(root, day!, run.runId, '1.log'), '189348 o ha');
    const after = serve();
    say(after, fromEarlier(run), 'two\n');
    await after.close(run);
    expect(await read(run.runId)).toEqual(['one', 'ha', MARK, 'two']);
    expect(await recorded(run)).toMatchObject([{ ended: true, incomplete: true }]);
  });

  test('the mark has the instant of the line before it, however late it is noticed', async () => {
    const run = await claimed();
    const before = serve();
    say(before, run, 'one\ntwo\n');
    await kept(run, 2);
    kill(before);
    aheadMs += 60_000;
    await serve().closeLeft((await recorded(run))[0]!);
    const logs = new RunLogs({ records: stage.storage.runLogs, store, nodeId: NODES[0]! });
    const lines: { text: string; atMs: number }[] = [];
    for await (const line of logs.lines((await recorded(run))[0]!)) lines.push(line);
    expect(lines.map(({ text }) => text)).toEqual(['one', 'two', MARK]);
    expect(lines[2]!.atMs).toBe(lines[1]!.atMs);
  });

  test('the log goes on in its last segment, and its middle is dropped as before', async () => {
    const run = await claimed();
    const line = `${'x'.repeat(60_000)}\n`;
    const before = serve();
    for (let bytes = 0; bytes < HEAD_BYTES_MAX + TAIL_SEGMENT_BYTES_MAX; bytes += line.length)
      await before.output(run, { stream: 'stdout', atMs: clock.now(), bytes: Buffer.from(line) });
    await before.stop();
    const after = serve();
    for (let bytes = 0; bytes < 6 * TAIL_SEGMENT_BYTES_MAX; bytes += line.length)
      await after.output(fromEarlier(run), { stream: 'stdout', atMs: clock.now(), bytes: Buffer.from(line) });
    say(after, run, 'the end\n');
    await after.close(run);
    const lines = await read(run.runId);
    expect(lines.at(-1)).toBe('the end');
    expect(lines.filter((each) => /bytes of output are left out here/.test(each))).toHaveLength(1);
    const [record] = await recorded(run);
    const segments = await store.segments({ day: record!.day, runId: run.runId, epoch: 1 });
    expect(segments.length).toBeLessThanOrEqual(5);
    expect(segments[0]!.bytes).toBeGreaterThan(HEAD_BYTES_MAX - 2 * line.length);
  });
});

describe('the logs of one run together', () => {
  test('are bounded over its attempts: a mark, then nothing is kept, and nothing recorded', async () => {
    const run = await claimed();
    const output = serve({ runBytesMax: 60_000 });
    const line = `${'x'.repeat(9_000)}\n`;
    for (let epoch = 1; epoch <= 40; epoch += 1) {
      const attempt = { ...run, epoch };
      say(output, attempt, line);
      await output.close(attempt);
    }
    const lines = await read(run.runId);
    expect(lines.length).toBeLessThan(10);
    expect(lines.filter((each) => each.startsWith('Nothing more of this run is kept')).length).toBeLessThan(
      4,
    );
    expect(lines.at(-1)).toMatch(/^Nothing more of this run is kept/);
    expect((await recorded(run)).length).toBe(lines.length);
    expect(output.counts()).toMatchObject({ openLogs: 0, unwrittenBytes: 0 });
  });

  test('are bounded for many attempts that say little, each of which has a file', async () => {
    const run = await claimed();
    const output = serve({ runBytesMax: 60_000 });
    for (let epoch = 1; epoch <= 40; epoch += 1) {
      const attempt = { ...run, epoch };
      say(output, attempt, 'x\n');
      await output.close(attempt);
    }
    expect((await recorded(run)).length).toBeLessThan(20);
  });
});

describe('the log of an attempt that is over', () => {
  const closerOf = (output: RunOutput) =>
    new LogCloser({
      ...{ output, leases: stage.storage.leases, runs: stage.storage.runs, records: stage.storage.runLogs },
      ...{ nodeId: NODES[0]!, clock, random: systemRandom, log: silentLog },
    });
  const lost = {
    status: 'FAILED',
    error: 'lost',
    next: { kind: 'dead', reason: 'crashed_workers' },
  } as const;

  test('is closed though its worker died, with its last words; that of a run that goes on is not', async () => {
    const [over, living] = [await claimed(), await claimed()];
    const output = serve();
    const closer = closerOf(output);
    for (const run of [over, living]) say(output, run, 'whole line\nthe last words');
    await stage.world.settle(over, lost);
    await closer.runOnce();
    expect(output.counts().openLogs).toBe(2);
    aheadMs += QUIET_MS_MIN;
    await closer.runOnce();
    expect(output.counts().openLogs).toBe(1);
    expect(await recorded(over)).toMatchObject([{ ended: true, lines: 2 }]);
    expect(await read(over.runId)).toEqual(['whole line', 'the last words']);
    // What a worker says that stood still is still kept.
    say(output, over, 'late\n');
    await output.close(over);
    expect(await read(over.runId)).toEqual(['whole line', 'the last words', 'late']);
  });

  test('is closed by the server that was killed meanwhile, when it is back', async () => {
    const [over, living] = [await claimed(), await claimed()];
    const before = serve();
    for (const run of [over, living]) say(before, run, 'one\n');
    await kept(over, 1);
    await kept(living, 1);
    kill(before);
    await stage.world.settle(over, lost);
    const output = serve();
    const closer = closerOf(output);
    await closer.runOnce();
    expect(await recorded(over)).toMatchObject([{ ended: true, incomplete: true }]);
    expect(await read(over.runId)).toEqual(['one', MARK]);
    expect(await recorded(living)).toMatchObject([{ ended: false }]);
    await closer.runOnce();
    expect(await read(over.runId)).toEqual(['one', MARK]);
    expect(output.counts()).toMatchObject({ openLogs: 0, unwrittenBytes: 0 });
  });

  test('of a run that has moved to another server is closed there and here', async () => {
    const run = await claimed();
    const output = serve();
    say(output, run, 'here\n');
    const gone = { ...run, leaseId: randomUUID() as LeaseId };
    await stage.world.settle(run);
    aheadMs += QUIET_MS_MIN;
    await closerOf(output).runOnce();
    expect(output.counts().openLogs).toBe(0);
    expect(output.close(gone)).toBeUndefined();
  });
});

/** Logs in a real S3-compatible server, which is stopped in the middle, and in one that never answers. */
import { randomUUID } from 'node:crypto';
import type { JobId, LeaseId, NodeId, RunId } from '@carillon/domain';
import { silentLog, systemClock, systemRandom } from '@carillon/foundation';
import type { HeldRun } from '@carillon/worker';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { S3_BUCKET, S3_KEY, S3Server } from '../../../../../tests/support/s3-server.ts';
import { StallableProxy } from '../../../../../tests/support/stallable-proxy.ts';
import { RunLogs, readParts } from '../../run-logs/run-logs.ts';
import { RunOutput } from '../../run-output/run-output.ts';
import { MemoryRunLogStore } from '../../storage/memory/memory-run-log-store.ts';
import { describeLogStore } from '../conformance.ts';
import { dayOf, type LogKey } from '../log-store.ts';
import { S3Bucket } from './s3-bucket.ts';
import { S3LogStore, type S3LogStoreOptions } from './s3-log-store.ts';

const SOON = { withinMs: 60_000 };
let server: S3Server;
const opened: { close(): unknown }[] = [];
beforeAll(async () => {
  server = await S3Server.start();
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});
afterAll(() => server.stop());

const options = (over: Partial<S3LogStoreOptions> = {}): S3LogStoreOptions => ({
  ...{ endpoint: server.endpoint, bucket: S3_BUCKET, region: 'us-east-1', credentials: S3_KEY },
  ...{ prefix: `logs/${randomUUID()}`, clock: systemClock, random: systemRandom, ...over },
});
const kept = <T extends { close(): unknown }>(store: T): T => {
  opened.push(store);
  return store;
};
const newLog = () => ({ day: '2030-01-31', runId: randomUUID() as RunId, epoch: 3 });
const START = { segment: 0, offset: 0 };

describeLogStore('logs in an S3 store', async () => new S3LogStore(options()));

describe('the objects of logs', () => {
  test('are named by day, run, epoch and the bytes they hold; small ones become one that all servers read', async () => {
    const shared = options();
    const [one, other] = [kept(new S3LogStore(shared)), kept(new S3LogStore(shared))];
    const bucket = kept(new S3Bucket(shared));
    const log = newLog();
    await one.write(log, START, Buffer.from('one\n'));
    await one.write(log, { segment: 0, offset: 4 }, Buffer.from('two\n'));
    const folder = `${shared.prefix}/2030-01-31/${log.runId}/3`;
    expect(await bucket.keys(folder)).toEqual([expect.stringMatching(/\/3\/0-0-8-\d{13}\.log$/)]);
    const big = Buffer.alloc(256 * 1_024, 'x');
    await one.write(log, { segment: 0, offset: 8 }, big);
    await one.write(log, { segment: 0, offset: 8 + big.length }, Buffer.from('end\n'));
    expect((await bucket.keys(folder)).length).toBe(3);
    expect(await other.segments(log)).toEqual([{ start: 0, bytes: big.length + 12 }]);
    const read = await other.read(log, { segment: 0, from: 6, bytesMax: big.length + 4 });
    expect(Buffer.from(read).toString()).toBe(`o\n${big.toString()}en`);
    expect(other.isShared).toBe(true);
  });

  test('stay few however many runs write a little in turn', async () => {
    const shared = options();
    const [store, bucket] = [kept(new S3LogStore(shared)), kept(new S3Bucket(shared))];
    const logs = Array.from({ length: 70 }, () => newLog());
    for (const offset of [0, 2, 4])
      await Promise.all(logs.map((log) => store.write(log, { segment: 0, offset }, Buffer.from('x\n'))));
    expect((await bucket.keys(`${shared.prefix}/`)).length).toBe(logs.length);
  });

  test('have their ends in memory up to a bound, those that were written last', async () => {
    const shared = options({ lastPartsBytesMax: 3 * 2_048 });
    const [store, bucket] = [kept(new S3LogStore(shared)), kept(new S3Bucket(shared))];
    const objects = (log: LogKey) => bucket.keys(`${shared.prefix}/${log.day}/${log.runId}/`);
    const write = (log: LogKey, offset: number) =>
      store.write(log, { segment: 0, offset }, Buffer.alloc(1_000, 'x'));
    const logs = Array.from({ length: 4 }, () => newLog());
    for (const log of logs) await write(log, 0);
    const [first, , , last] = logs;
    for (const log of [last!, first!]) await write(log, 1_000);
    expect((await objects(last!)).length).toBe(1);
    expect((await objects(first!)).length).toBe(2);
    expect(await store.segments(first!)).toEqual([{ start: 0, bytes: 2_000 }]);
    // What begins anew, or is dropped, leaves its room.
    for (let times = 0; times < 10; times += 1) await write(last!, 0);
    await store.dropSegment(logs[1]!, 0);
    await write(first!, 2_000);
    expect((await objects(first!)).length).toBe(2);
  });

  test('that arrive late, or stay beside a longer one, are read once', async () => {
    const shared = options();
    const [store, bucket] = [kept(new S3LogStore(shared)), kept(new S3Bucket(shared))];
    const log = newLog();
    const folder = `${shared.prefix}/2030-01-31/${log.runId}/3`;
    await bucket.put(`${folder}/0-0-10.log`, Buffer.from('0123456789'));
    await bucket.put(`${folder}/0-0-4.log`, Buffer.from('0123'));
    await bucket.put(`${folder}/0-8-12.log`, Buffer.from('89ab'));
    expect(await store.segments(log)).toEqual([{ start: 0, bytes: 12 }]);
    const read = await store.read(log, { segment: 0, from: 2, bytesMax: 100 });
    expect(Buffer.from(read).toString()).toBe('23456789ab');
  });

  describe('of a process that died and arrive when the next one has gone on', () => {
    const text = async (store: S3LogStore, log: LogKey) =>
      Buffer.from(await store.read(log, { segment: 0, from: 0, bytesMax: 1_000 })).toString();
    const write = (store: S3LogStore, offset: number, log: LogKey, said: string) =>
      store.write(log, { segment: 0, offset }, Buffer.from(said));

    test.each([
      ['', 'after it', 1],
      ['one\n', 'after it', 1],
      ['one\n', 'before it, as its clock says', -3_600_000],
    ])('after %j hide nothing of the next, which started %s', async (begun, _when, laterMs) => {
      const shared = options();
      const bucket = kept(new S3Bucket(shared));
      const log = { ...newLog(), day: dayOf(Date.now()) };
      const nowMs = Date.now();
      const startedAt = (atMs: number) =>
        kept(new S3LogStore({ ...shared, clock: { ...systemClock, now: () => atMs } }));
      const objects = async () =>
        Promise.all(
          (await bucket.keys(`${shared.prefix}/`)).map(async (key) => ({
            ...{ key, bytes: (await bucket.get(key, { from: 0, bytes: 1_000 }))! },
          })),
        );
      const dead = startedAt(nowMs);
      const end = begun.length;
      if (end > 0) await write(dead, 0, log, begun);
      const before = await objects();
      await write(dead, end, log, 'lost two\nlost three\n');
      // Its last request is still under way.
      const [late] = await objects();
      await bucket.remove(late!.key);
      for (const { key, bytes } of before) await bucket.put(key, bytes);

      const next = startedAt(nowMs + laterMs);
      expect(await next.segments(log)).toEqual(end === 0 ? [] : [{ start: 0, bytes: end }]);
      await write(next, end, log, 'next\n');
      await bucket.put(late!.key, late!.bytes);
      expect(await text(next, log)).toBe(`${begun}next\n`);
      await write(next, end + 5, log, 'and more of the next one\n');
      expect(await text(next, log)).toBe(`${begun}next\nand more of the next one\n`);
      expect(await next.segments(log)).toEqual([{ start: 0, bytes: end + 30 }]);
    });
  });

  test('of many pages are all listed, and removed in steps', async () => {
    const shared = options({ listedMax: 20 });
    const [store, bucket] = [kept(new S3LogStore(shared)), kept(new S3Bucket(shared))];
    const log = newLog();
    const folder = `${shared.prefix}/2030-01-31/${log.runId}/3`;
    for (let at = 0; at < 50; at += 1)
      await bucket.put(`${folder}/0-${at}-${at + 1}.log`, Buffer.from(String(at % 10)));
    expect(await store.segments(log)).toEqual([{ start: 0, bytes: 50 }]);
    const read = await store.read(log, { segment: 0, from: 0, bytesMax: 1_000 });
    expect(Buffer.from(read).toString()).toBe('0123456789'.repeat(5));
    for (const left of [30, 10, 0]) {
      expect(await store.dropSome({ beforeDay: '2030-02-01' })).toBe(true);
      expect((await bucket.keys(folder)).length).toBe(left);
    }
    expect(await store.dropSome({ beforeDay: '2030-02-01' })).toBe(false);
  });
});

describe('a store that refuses', () => {
  test.each([
    ['an unknown key', { credentials: { ...S3_KEY, accessKeyId: 'unknown' } }, 'InvalidAccessKeyId'],
    ['another bucket', { bucket: 'no-such-bucket' }, 'NoSuchBucket'],
  ])('because of %s says so by its code', async (_name, over, code) => {
    const store = kept(new S3LogStore(options(over)));
    await expect(store.write(newLog(), START, Buffer.from('x'))).rejects.toMatchObject({ code });
    await expect(store.segments(newLog())).rejects.toMatchObject({ code });
  });
});

describe('a store that is away', () => {
  const NODE = randomUUID() as NodeId;
  const held = (): HeldRun => ({
    ...{ leaseId: randomUUID() as LeaseId, position: 0, epoch: 1, claimedAtMs: Date.now() },
    ...{ jobId: randomUUID() as JobId, runId: randomUUID() as RunId },
  });
  const make = (store: S3LogStore) => {
    const warnings: string[] = [];
    const records = new MemoryRunLogStore();
    const log = { ...silentLog, warn: (_facts: object, message: string) => void warnings.push(message) };
    const output = new RunOutput({ store, records, nodeId: NODE, clock: systemClock, log });
    const say = (run: HeldRun, text: string) =>
      void output.output(run, { stream: 'stdout', atMs: Date.now(), bytes: Buffer.from(text) });
    // Another server.
    const logs = new RunLogs({ records, store, nodeId: randomUUID() as NodeId });
    const read = async ({ runId }: HeldRun) => {
      const [record] = await logs.of(runId);
      const chunks: Uint8Array[] = [];
      const range = { from: 0, bytes: Number.MAX_SAFE_INTEGER };
      for await (const chunk of readParts(await logs.parts(record!), range)) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    };
    return { output, say, read, records, warnings };
  };
  const LONG = `${'x'.repeat(1_023)}\n`.repeat(300);

  test('and comes back: what is in memory is written, and a line tells what is missing', async () => {
    const { output, say, read, warnings } = make(kept(new S3LogStore(options())));
    const run = held();
    say(run, LONG);
    await eventually(async () => expect(await read(run)).toContain('xxx\n'), SOON);
    await server.pause();
    try {
      say(run, LONG);
      await eventually(() => expect(warnings.length).toBe(1), SOON);
      await expect(read(run)).rejects.toMatchObject({ code: 'logs_unavailable', status: 503 });
      // More than is held in memory.
      for (let times = 0; times < 5; times += 1) say(run, LONG);
    } finally {
      await server.resume();
    }
    await eventually(() => expect(output.counts().unwrittenBytes).toBe(0), SOON);
    say(run, 'back again\n');
    await output.close(run);
    const text = await read(run);
    expect(text).toMatch(/ s \d+ bytes of output are missing here: it could not be kept \(E[A-Z]+\)\.\n/);
    expect(text).toMatch(/ o back again\n$/);
    await output.stop();
  });

  test('at the end of a run costs its log and not the run, and the log says so', async () => {
    const { output, say, read, records } = make(kept(new S3LogStore(options())));
    const run = held();
    await server.pause();
    try {
      say(run, 'lost\n');
      await output.close(run);
    } finally {
      await server.resume();
    }
    expect(await records.logsOf(run.runId)).toMatchObject([{ ended: true, incomplete: true, lines: 1 }]);
    expect((await records.logsOf(run.runId))[0]!.nodeId).toBeUndefined();
    expect(await read(run)).toMatch(/ s \d+ bytes of output are missing here: they could not be kept/);
    await output.stop();
  });

  test('without a word is given up after a time, and works again after that', async () => {
    const proxy = await new StallableProxy(server.endpoint).start();
    const store = kept(new S3LogStore(options({ endpoint: proxy.url, tryMsMax: 300 })));
    const log = newLog();
    await store.write(log, START, Buffer.from('one\n'));
    proxy.stall();
    await expect(store.write(log, { segment: 0, offset: 4 }, Buffer.from('two\n'))).rejects.toMatchObject({
      code: 'ETIMEDOUT',
    });
    proxy.recover();
    await eventually(async () => {
      await store.write(log, { segment: 0, offset: 4 }, Buffer.from('two\nthree\n'));
      expect(await store.segments(log)).toEqual([{ start: 0, bytes: 14 }]);
    }, SOON);
    await store.close();
    await proxy.stop();
  });

  test('does not keep a server from stopping: closing ends what is under way', async () => {
    const proxy = await new StallableProxy(server.endpoint).start();
    const store = new S3LogStore(options({ endpoint: proxy.url, tryMsMax: 600_000 }));
    proxy.stall();
    const writing = store.write(newLog(), START, Buffer.from('x'));
    const failed = expect(writing).rejects.toThrow('did not answer');
    await store.close();
    await failed;
    await proxy.stop();
  });
});

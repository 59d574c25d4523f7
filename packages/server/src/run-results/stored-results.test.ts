/** Large results of workers in both shapes, over real streams, in a store of logs. */
import type { JobId, LeaseId, NodeId, RunId } from '@carillon/domain';
import { RESULT_BYTES_MAX, readStoredResult } from '@carillon/domain';
import type { HeldRun } from '@carillon/worker';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import type { LogStore } from '../log-store/log-store.ts';
import { MemoryLogStore } from '../log-store/memory-log-store.ts';
import { RunLogs } from '../run-logs/run-logs.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { MemoryRunLogStore } from '../storage/memory/memory-run-log-store.ts';
import { SHAPES, type Shape, WorkerHomeFixture } from '../worker-home/worker-home.fixture.ts';
import { resultKey, StoredResults } from './stored-results.ts';

const SOON = { withinMs: 60_000 };
const NODE = newId<NodeId>();
const BYTES_MAX = 2_000_000;
let fixture: WorkerHomeFixture | undefined;
afterEach(() => fixture?.close());

async function open(shape: Shape, store: LogStore) {
  const results = new StoredResults({ store, nodeId: NODE, bytesMax: BYTES_MAX });
  fixture = await WorkerHomeFixture.open({ results });
  await fixture.start(shape, {
    large: ({ payload }) => 'é"'.repeat(Number(payload.count)),
    small: () => ({ fine: true }),
  });
  const started = fixture;
  await eventually(() => expect(started.freeSlots()).toEqual([4]), SOON);
  return started;
}

async function resultsOf(started: WorkerHomeFixture, handler: string, payload: object, count = 1) {
  const { jobs, batch } = await started.hand(handler, { count, payload: JSON.stringify(payload) });
  return eventually(async () => {
    const views = (
      await Promise.all(jobs.map((job) => started.world.runsOf(job.jobId, started.clock.now())))
    ).flat();
    expect(views.map(({ status }) => status)).toEqual(jobs.map(() => 'SUCCESS'));
    return { views, batch };
  }, SOON);
}

describe.each(SHAPES)('a worker %s', (shape) => {
  test('has large results kept whole, several at a time, and small ones told as ever', async () => {
    const store = new MemoryLogStore();
    const started = await open(shape, store);
    const text = JSON.stringify('é"'.repeat(200_000));
    const { views } = await resultsOf(started, 'large', { count: 200_000 }, 3);
    for (const view of views) {
      const stored = readStoredResult(view.result);
      expect(stored).toEqual({ bytes: Buffer.byteLength(text), day: expect.any(String), server: NODE });
      const key = resultKey(view, stored!);
      expect(await store.segments(key)).toEqual([{ start: 0, bytes: stored!.bytes }]);
      const read = await store.read(key, { segment: 0, from: 0, bytesMax: BYTES_MAX });
      expect(Buffer.from(read).toString() === text).toBe(true);
    }
    const { views: small } = await resultsOf(started, 'small', {});
    expect(small[0]?.result).toBe('{"fine":true}');
    const { views: fitting } = await resultsOf(started, 'large', { count: 10 });
    expect(Buffer.byteLength(fitting[0]!.result!)).toBeLessThan(RESULT_BYTES_MAX);
    expect(readStoredResult(fitting[0]!.result)).toBeUndefined();
  });

  test('is told when a result is larger than this server takes', async () => {
    const started = await open(shape, new MemoryLogStore());
    const { views } = await resultsOf(started, 'large', { count: BYTES_MAX });
    expect(JSON.parse(views[0]!.result!)).toEqual({
      note: `the result is larger than ${BYTES_MAX} bytes and was not kept`,
    });
  });

  test('loses a result to a store that fails, and no run', async () => {
    const store = new MemoryLogStore();
    store.write = () => Promise.reject(new Error('the disk is full'));
    const started = await open(shape, store);
    const { views } = await resultsOf(started, 'large', { count: 100_000 });
    expect(JSON.parse(views[0]!.result!)).toEqual({
      note: 'the result could not be kept: the disk is full',
    });
  });
});

test('a mark counts where its result was taken: of this attempt, by this server, or by one before', async () => {
  const results = new StoredResults({ store: new MemoryLogStore(), nodeId: NODE, bytesMax: 1_000 });
  const run = {
    leaseId: newId<LeaseId>(),
    position: 0,
    epoch: 1,
    runId: newId<RunId>(),
    jobId: newId<JobId>(),
  };
  const held: HeldRun = { ...run, claimedAtMs: 0 };
  const stored = { bytes: 500, day: '1970-01-01', server: NODE };
  expect(results.isTaken(held, stored)).toBe(false);
  expect(readStoredResult(await results.save(held, new Uint8Array(500)))).toEqual(stored);
  expect(results.isTaken(held, stored)).toBe(true);
  expect(results.isTaken({ ...held, epoch: 2 }, stored)).toBe(false);
  for (const other of [{ bytes: 501 }, { day: '1970-01-02' }, { server: newId() }, { server: undefined }])
    expect(results.isTaken(held, { ...stored, ...other })).toBe(false);
  const earlier = { ...held, runId: newId<RunId>(), isFromEarlier: true };
  expect(results.isTaken(earlier, { ...stored, server: newId() })).toBe(true);
  expect(results.isTaken(earlier, { ...stored, day: '1970-01-02' })).toBe(false);
});

describe('what attempts of a run leave', () => {
  const store = new MemoryLogStore();
  const results = new StoredResults({ store, nodeId: NODE, bytesMax: 1_000 });
  const attempt = (runId: RunId, epoch: number): HeldRun => ({
    ...{ leaseId: newId<LeaseId>(), position: 0, epoch, runId, jobId: newId<JobId>(), claimedAtMs: 0 },
  });
  const save = (run: HeldRun, bytes = 1_000) => results.save(run, new Uint8Array(bytes));
  const lengthOf = async (run: HeldRun) =>
    (await store.segments(resultKey(run, { day: '1970-01-01' }))).map(({ bytes }) => bytes);

  test('is dropped when the attempt ends without naming it, and kept when it does', async () => {
    const returned = attempt(newId<RunId>(), 1);
    await save(returned);
    expect(await lengthOf(returned)).toEqual([1_000]);
    await results.settled(returned, { kind: 'RETURNED', error: 'the worker stops' });
    expect(await lengthOf(returned)).toEqual([]);
    const named = attempt(newId<RunId>(), 1);
    await results.settled(named, { kind: 'SUCCESS', result: await save(named) });
    expect(await lengthOf(named)).toEqual([1_000]);
  });

  test('has a bound over all of them, in which what was dropped does not count', async () => {
    const runId = newId<RunId>();
    for (let epoch = 1; epoch <= 20; epoch += 1) {
      await save(attempt(runId, epoch));
      await results.settled(attempt(runId, epoch), { kind: 'RETURNED', error: 'the worker stops' });
    }
    for (let epoch = 21; epoch <= 24; epoch += 1) await save(attempt(runId, epoch));
    // The same again is no more.
    await save(attempt(runId, 24));
    await expect(save(attempt(runId, 25), 1)).rejects.toThrow('may leave 4000 bytes of results');
    expect(await lengthOf(attempt(runId, 25))).toEqual([]);
    await save(attempt(newId<RunId>(), 1));
  });
});

describe('of several servers that share a store', () => {
  const [one, other] = [newId<NodeId>(), newId<NodeId>()];
  const run: HeldRun = {
    ...{ leaseId: newId<LeaseId>(), position: 0, epoch: 1, runId: newId<RunId>(), jobId: newId<JobId>() },
    claimedAtMs: 0,
  };
  const half = Buffer.alloc(1_000, 'x');
  const bytesTotal = 2 * half.length;
  const make = (store: LogStore, nodeId: NodeId) => new StoredResults({ store, nodeId, bytesMax: BYTES_MAX });
  const shared = () => Object.assign(new MemoryLogStore(), { isShared: true });
  const read = (store: LogStore, stored: string | undefined) =>
    new RunLogs({ records: new MemoryRunLogStore(), store, nodeId: other }).result(
      run,
      readStoredResult(stored)!,
    );

  test('one that stood still takes nothing from a result that another has kept', async () => {
    const store = shared();
    // The first part reached one, which stood still. The worker went to the other, and began again.
    await make(store, other).savePart(run, { offset: 0, bytes: half, bytesTotal });
    const stored = await make(store, other).savePart(run, { offset: 1_000, bytes: half, bytesTotal });
    const late = make(store, one);
    await late.savePart(run, { offset: 0, bytes: half, bytesTotal });
    expect((await read(store, stored)).bytes).toBe(bytesTotal);
    await late.settled(run, { kind: 'RETURNED', error: 'the worker stops' });
    expect((await read(store, stored)).bytes).toBe(bytesTotal);
  });

  test('a part that the store takes late is not taken after the parts that came later', async () => {
    const store = shared();
    const results = make(store, one);
    const gate = Promise.withResolvers<void>();
    const write = store.write.bind(store);
    let writes = 0;
    store.write = async (...given) => {
      writes += 1;
      if (writes === 1) await gate.promise;
      return write(...given);
    };
    // The worker has lost its connection before the first part was answered, and connected again.
    const parts = [0, 0, 1_000].map((offset) => results.savePart(run, { offset, bytes: half, bytesTotal }));
    gate.resolve();
    const [, , stored] = await Promise.all(parts);
    expect((await read(store, stored)).bytes).toBe(bytesTotal);
  });

  test('a result from before its writer was named is read', async () => {
    const store = shared();
    await store.write(
      { day: '1970-01-01', runId: run.runId, epoch: 1, part: 'result' },
      { segment: 0, offset: 0 },
      half,
    );
    expect((await read(store, '{"$stored":{"bytes":1000,"day":"1970-01-01"}}')).bytes).toBe(1_000);
  });
});

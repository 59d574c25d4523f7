/** Live updates over a storage in memory: who is told what, how often, and what it costs. */
import { type Caller, type EventCursor, type JobId, SERVER } from '@carillon/domain';
import { ManualClock, silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { newId, sampleJob } from '../storage/conformance/sample-job.ts';
import { onceRun } from '../storage/conformance/storage-world.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import { EventFeed } from './event-feed.ts';
import type { LiveUpdate } from './live-change.ts';
import type { LiveQuery } from './live-feed.ts';

let clock: ManualClock;
let storage: MemoryStorage;
let feed: EventFeed;
let reads: number;
/** Views of callers with namespaces cannot be read. */
let isViewFailing: boolean;

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  storage = new MemoryStorage({ clock });
  reads = 0;
  isViewFailing = false;
  const store = {
    end: () => storage.events.end(),
    oldest: () => storage.events.oldest(),
    namespacesBegan: async (names: readonly string[]) => {
      if (isViewFailing) throw new Error('a timeout');
      return storage.events.namespacesBegan(names);
    },
    countAfter: (after: EventCursor, max: number) => storage.events.countAfter(after, max),
    recordedAfter: (after: EventCursor) => storage.events.recordedAfter(after),
    read: (after: EventCursor, limit: number) => {
      reads += 1;
      return storage.events.read(after, limit);
    },
  };
  feed = new EventFeed({ store, clock, log: silentLog, listenersMax: 2_000 });
});

async function makeJob(over: Parameters<typeof sampleJob>[0] = {}): Promise<JobId> {
  const job = sampleJob(over);
  await storage.accounts.createNamespace({ name: job.namespace, description: '', createdAtMs: 0 });
  await storage.jobs.insert([
    { job, first: { kind: 'run', run: onceRun(clock.now()) }, idempotency: undefined },
  ]);
  return job.jobId;
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

async function pass(ms = 1_000): Promise<void> {
  await settle();
  clock.advance(ms);
  await settle();
}

const callerWith = (grants: Caller['grants'], over: Partial<Caller> = {}): Caller => ({
  ...{ ...SERVER, kind: 'user', id: newId<string>(), name: 'somebody', grants },
  ...over,
});

async function listen(caller: Caller = SERVER, query: LiveQuery = {}) {
  const heard: LiveUpdate[] = [];
  const reader = { isReady: true, isEnded: false };
  const connection = await feed.live.open(caller, query, {
    isReady: () => reader.isReady,
    send: (update) => void heard.push(update),
    end: () => {
      reader.isEnded = true;
    },
  });
  return { heard, reader, connection };
}

describe('live updates', () => {
  test('begin with where the reader is, then name what changed, at most once a second', async () => {
    const { heard } = await listen();
    await settle();
    expect(heard).toMatchObject([{ jobs: [], runs: [], refetch: false, position: expect.anything() }]);
    const made: JobId[] = [];
    for (let i = 0; i < 10; i += 1) {
      made.push(await makeJob());
      feed.nudge();
      await pass(100);
    }
    expect(heard.length).toBeLessThanOrEqual(2);
    await pass();
    await pass();
    expect(heard.slice(1).flatMap(({ jobs }) => jobs)).toEqual(made);
    expect(heard.length).toBeLessThanOrEqual(4);
    await pass(60_000);
    expect(heard.length).toBeLessThanOrEqual(4);
  });

  test('a hint brings what changed sooner, when the last update is longer ago than a second', async () => {
    const { heard } = await listen();
    await pass(990);
    await makeJob();
    feed.nudge();
    await pass(20);
    expect(heard.at(-1)?.jobs).toHaveLength(1);
  });

  test('name the runs of jobs, dead letters, and that workers came or went', async () => {
    const { heard } = await listen();
    const jobId = await makeJob();
    const [run] = await storage.runs.ofJob(jobId, { limit: 1 }, clock.now());
    await pass();
    await storage.jobs.cancelRun(run!.runId, clock.now());
    await storage.members.beatNode({
      ...{ nodeId: newId(), incarnation: 1, bootId: newId(), address: 'x', nowMs: 1, ttlMs: 1 },
    });
    await pass();
    expect(heard.at(-1)).toMatchObject({ jobs: [jobId], runs: [run!.runId], workers: true });
  });

  test('read the storage once for any number of connections, and compute once for those who see the same', async () => {
    const callers = Array.from({ length: 40 }, () => callerWith(SERVER.grants));
    const ears = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => listen(callers[i % callers.length]!)),
    );
    await pass();
    reads = 0;
    await makeJob();
    await pass();
    expect(reads).toBe(1);
    const updates = ears.map(({ heard }) => heard.at(-1)!);
    expect(new Set(updates).size).toBe(1);
    expect(updates[0]!.jobs).toHaveLength(1);
    for (const { connection } of ears) connection.close();
    await pass(31_000);
    await pass(31_000);
    reads = 0;
    await pass(60_000);
    expect(reads).toBe(0);
    expect(feed.counts().listeners).toBe(0);
  });

  test('tell nobody of what they may not see, and of one namespace if asked', async () => {
    const team = callerWith([{ namespace: 'team', role: 'viewer', ownOnly: false }]);
    const own = callerWith([{ namespace: 'team', role: 'viewer', ownOnly: true }], { userId: 'ada' });
    const ears = await Promise.all([
      listen(team),
      listen(own),
      listen(SERVER),
      listen(SERVER, { namespace: 'other' }),
    ]);
    await pass();
    const other = await makeJob({ namespace: 'other' });
    const bobs = await makeJob({ namespace: 'team', userId: 'bob' });
    const adas = await makeJob({ namespace: 'team', userId: 'ada' });
    await pass();
    const jobs = ears.map(({ heard }) => heard.slice(1).flatMap((update) => update.jobs));
    expect(jobs).toEqual([[bobs, adas], [adas], [other, bobs, adas], [other]]);
    await expect(listen(callerWith([]))).rejects.toThrow(/events.read/);
  });

  test('rights that change hold from then on', async () => {
    const team = callerWith([{ namespace: 'team', role: 'viewer', ownOnly: false }]);
    const { heard, connection } = await listen(team);
    await pass();
    const grants = [{ namespace: 'other', role: 'viewer', ownOnly: false } as const];
    await connection.updateCaller({ ...team, grants });
    await makeJob({ namespace: 'team' });
    const seen = await makeJob({ namespace: 'other' });
    await pass();
    expect(heard.slice(1).flatMap(({ jobs }) => jobs)).toEqual([seen]);
  });

  test('a view that cannot be read again costs nobody a change: its own readers are told to read again, others as ever', async () => {
    const team = callerWith([{ namespace: 'team', role: 'viewer', ownOnly: false }]);
    const teams = await listen(team);
    const all = await listen();
    for (let second = 0; second < 14; second += 1) await pass();
    isViewFailing = true;
    // Its first update comes when it is known again what it may see.
    const late = await listen(team);
    const made = await makeJob({ namespace: 'team' });
    await pass();
    expect(all.heard.slice(1)).toMatchObject([{ jobs: [made], refetch: false }]);
    expect([teams.heard.length, late.heard.length]).toEqual([1, 0]);
    isViewFailing = false;
    await pass();
    expect(teams.heard.slice(1)).toMatchObject([{ jobs: [], refetch: true }]);
    expect(late.heard).toHaveLength(1);
    const next = await makeJob({ namespace: 'team' });
    await pass();
    for (const { heard } of [teams, late, all]) expect(heard.at(-1)).toMatchObject({ jobs: [next] });
  });

  test('more than can be named is told as refetch, every five seconds at most', async () => {
    const { heard } = await listen(SERVER);
    const start = async () => {
      for (let i = 0; i < 250; i += 1) await makeJob();
      await makeJob({ jobId: newId<JobId>() });
    };
    await pass();
    await start();
    await pass();
    expect(heard.at(-1)).toMatchObject({ jobs: [], refetch: true, position: expect.anything() });
    const told = heard.length;
    for (let second = 0; second < 4; second += 1) {
      await start();
      await pass();
    }
    expect(heard).toHaveLength(told);
    await pass();
    await pass();
    expect(heard.at(-1)).toMatchObject({ refetch: true, position: expect.anything() });
  });

  test('a flood is counted and skipped, not read', async () => {
    const { heard } = await listen();
    await pass();
    for (let i = 0; i < 6_000; i += 1) await makeJob();
    reads = 0;
    await pass();
    expect(reads).toBe(0);
    await pass(5_000);
    expect(heard.at(-1)).toMatchObject({ refetch: true, jobs: [] });
    const after = await makeJob();
    await pass();
    expect(heard.at(-1)?.jobs).toEqual([after]);
  });

  test('all are told of a flood, but not in the same second', async () => {
    const ears = await Promise.all(Array.from({ length: 10 }, () => listen(callerWith(SERVER.grants))));
    await settle();
    for (let i = 0; i < 250; i += 1) await makeJob();
    const told: number[] = [];
    for (let second = 0; second < 6; second += 1) {
      await pass();
      told.push(ears.filter(({ heard }) => heard.some(({ refetch }) => refetch)).length);
    }
    expect(told.at(-1)).toBe(10);
    expect(told[0]).toBeLessThan(10);
  });

  test('a reader that takes nothing gets nothing buffered, and is told to read again when it takes', async () => {
    const { heard, reader } = await listen();
    await pass();
    reader.isReady = false;
    for (let second = 0; second < 10; second += 1) {
      await makeJob();
      await pass();
    }
    expect(heard).toHaveLength(1);
    reader.isReady = true;
    await pass();
    expect(heard).toHaveLength(2);
    expect(heard[1]).toMatchObject({ refetch: true, jobs: [] });
  });

  test('who comes back is told what it missed, also when nobody else was there meanwhile', async () => {
    const { heard, connection } = await listen();
    await makeJob();
    await pass();
    const { position } = heard.at(-1)!;
    connection.close();
    const missed = await makeJob();
    await pass();
    const again = await listen(SERVER, { after: position });
    await pass();
    expect(again.heard[0]).toMatchObject({ jobs: [missed], refetch: false });
  });

  test.each([
    ['long ago', { xid: 1, seq: 1, index: 0 }],
    ['another database', { xid: 1_000_000_000, seq: 1, index: 0 }],
  ])('who comes back from %s is told to read everything again', async (_, after) => {
    await makeJob();
    const { heard } = await listen(SERVER, { after });
    await pass();
    expect(heard[0]).toMatchObject({ refetch: true });
  });

  test('when the database was replaced, everybody is told to read everything again', async () => {
    const { heard } = await listen();
    await makeJob();
    await pass();
    await storage.generations.begin();
    await makeJob();
    await pass();
    await pass(5_000);
    expect(heard.at(-1)).toMatchObject({ refetch: true });
  });

  test('count together with the streams of events, for each caller and in total; closing makes room', async () => {
    const one = callerWith(SERVER.grants);
    const ears = await Promise.all(Array.from({ length: 49 }, () => listen(one)));
    const stream = feed.open(one);
    await expect(listen(one)).rejects.toMatchObject({ code: 'too_many_listeners' });
    stream.close();
    ears[0]!.connection.close();
    ears[0]!.connection.close();
    expect(feed.counts().listeners).toBe(48);
    await listen(one);
    feed.close();
    expect(ears[1]!.reader.isEnded).toBe(true);
  });
});

describe('one answer, for programs that poll', () => {
  test('names what changed since the last one', async () => {
    const first = await feed.live.read(SERVER, {});
    expect(first).toMatchObject({ jobs: [], refetch: false });
    const jobId = await makeJob();
    const second = await feed.live.read(SERVER, { after: first.position });
    expect(second).toMatchObject({ jobs: [jobId], refetch: false });
    expect(await feed.live.read(SERVER, { after: second.position })).toMatchObject({ jobs: [] });
  });

  test('says refetch when it was too much, or the position is unknown', async () => {
    const { position } = await feed.live.read(SERVER, {});
    for (let i = 0; i < 201; i += 1) await makeJob();
    expect(await feed.live.read(SERVER, { after: position })).toMatchObject({ jobs: [], refetch: true });
    const after = { xid: 1_000_000_000, seq: 1, index: 0 };
    expect(await feed.live.read(SERVER, { after })).toMatchObject({ refetch: true });
  });
});

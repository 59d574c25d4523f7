/** The feed over a storage in memory: who hears what, from where on, and how little it costs those who do not listen. */
import { type Caller, FIRST_EVENT_CURSOR, type JobId, type RecordedEvent, SERVER } from '@carillon/domain';
import { type Log, ManualClock, silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { newId, sampleJob } from '../storage/conformance/sample-job.ts';
import { onceRun } from '../storage/conformance/storage-world.ts';
import type { EventStore } from '../storage/event-store.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import { EventFeed } from './event-feed.ts';
import type { EventStream } from './event-stream.ts';

let clock: ManualClock;
let storage: MemoryStorage;
let feed: EventFeed;
let reads: number;
/** An open transaction holds back what is recorded. */
let isHeld: boolean;
let said: string[];

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  storage = new MemoryStorage({ clock });
  reads = 0;
  const store: EventStore = {
    end: () => storage.events.end(),
    oldest: () => storage.events.oldest(),
    namespacesBegan: (names) => storage.events.namespacesBegan(names),
    countAfter: (after, max) => storage.events.countAfter(after, max),
    recordedAfter: (after) => storage.events.recordedAfter(after),
    read: async (after, limit) => {
      reads += 1;
      return isHeld ? { events: [], through: after, hasMore: false } : storage.events.read(after, limit);
    },
  };
  isHeld = false;
  said = [];
  const say = (_: object, text: string) => void said.push(text);
  const log = { ...silentLog, warn: say, info: say } as Log;
  feed = new EventFeed({ store, clock, log, listenersMax: 60 });
});

async function makeJob(over: Parameters<typeof sampleJob>[0] = {}): Promise<JobId> {
  const job = sampleJob(over);
  await storage.accounts.createNamespace({ name: job.namespace, description: '', createdAtMs: 0 });
  await storage.jobs.insert([
    { job, first: { kind: 'run', run: onceRun(clock.now()) }, idempotency: undefined },
  ]);
  return job.jobId;
}

/** Lets promises settle, and time pass where somebody waits for it. */
async function pass(ms = 0): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  clock.advance(ms);
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

function listen(stream: EventStream): { heard: RecordedEvent[]; done: Promise<void> } {
  const heard: RecordedEvent[] = [];
  const done = (async () => {
    for await (const event of stream) heard.push(event);
  })();
  return { heard, done };
}

const namesOf = (events: readonly RecordedEvent[]) => events.map(({ job }) => job?.name);

const callerWith = (grants: Caller['grants'], over: Partial<Caller> = {}): Caller => ({
  ...SERVER,
  kind: 'user',
  id: newId<string>(),
  name: 'somebody',
  grants,
  ...over,
});

describe('the event feed', () => {
  test('tells a listener what happens from now on, and nothing from before', async () => {
    await makeJob({ name: 'before' });
    const { heard } = listen(feed.open(SERVER));
    await pass(1);
    await makeJob({ name: 'after' });
    await pass(300);
    expect(namesOf(heard)).toEqual(['after']);
  });

  test('goes on exactly after the event a listener saw last, then live', async () => {
    for (const name of ['a', 'b', 'c']) await makeJob({ name });
    const { events } = await storage.events.read(FIRST_EVENT_CURSOR, 10);
    const { heard } = listen(feed.open(SERVER, {}, events[0]!.cursor));
    await pass(1);
    await pass(300);
    await makeJob({ name: 'd' });
    await pass(300);
    expect(namesOf(heard)).toEqual(['b', 'c', 'd']);
  });

  test('reads nothing when nobody listens, and once for all who do', async () => {
    const streams = Array.from({ length: 40 }, () => feed.open(callerWith(SERVER.grants)));
    const ears = streams.map(listen);
    await pass(1);
    await pass(300);
    reads = 0;
    await makeJob();
    await pass(300);
    expect(reads).toBeLessThanOrEqual(2);
    for (const { heard } of ears) expect(heard).toHaveLength(1);
    feed.close();
    await Promise.all(ears.map(({ done }) => done));
    reads = 0;
    await pass(10_000);
    expect(reads).toBe(0);
    expect(feed.counts()).toEqual({ listeners: 0, behindMs: 0 });
  });

  test('a hint brings an event sooner than the next look', async () => {
    const { heard } = listen(feed.open(SERVER));
    await pass(1);
    await pass(1);
    await makeJob();
    feed.nudge();
    await pass(25);
    expect(heard).toHaveLength(1);
  });

  test('events that an open transaction holds back are told of, in figures and in words', async () => {
    const { heard, done } = listen(feed.open(SERVER));
    await pass(1);
    isHeld = true;
    await makeJob();
    for (let looks = 0; looks < 160; looks += 1) await pass(250);
    expect(feed.counts().behindMs).toBeGreaterThanOrEqual(37_000);
    expect(said).toEqual([
      expect.stringContaining('events wait for a transaction'),
      expect.stringContaining('events wait for a transaction'),
    ]);
    isHeld = false;
    await pass(1_000);
    expect(heard).toHaveLength(1);
    expect(feed.counts().behindMs).toBe(0);
    expect(said.at(-1)).toBe('events are told again');
    feed.close();
    await done;
  });

  test('a listener that falls far behind misses nothing and repeats nothing', async () => {
    const stream = feed.open(SERVER);
    const batches = stream.batches();
    const first = batches.next();
    await pass(1);
    const names = Array.from({ length: 12_000 }, (_, i) => `job ${i}`);
    for (const name of names) await makeJob({ name });
    const heard: (string | undefined)[] = [];
    await pass(300);
    heard.push(...namesOf((await first).value ?? []));
    // Long after it took its first batch, the shared window has moved on.
    for (let turn = 0; turn < 20; turn += 1) await pass(300);
    while (heard.length < names.length) {
      const next = batches.next();
      await pass(300);
      heard.push(...namesOf((await next).value ?? []));
    }
    expect(heard).toEqual(names);
    stream.close();
  });

  test('hears only of what its caller may see', async () => {
    const team = callerWith([{ namespace: 'team', role: 'viewer', ownOnly: false }]);
    const own = callerWith([{ namespace: 'team', role: 'viewer', ownOnly: true }], { userId: 'ada' });
    const [ears, ownEars, all] = [listen(feed.open(team)), listen(feed.open(own)), listen(feed.open(SERVER))];
    await pass(1);
    await makeJob({ name: 'theirs', namespace: 'other' });
    await makeJob({ name: 'bobs', namespace: 'team', userId: 'bob' });
    await makeJob({ name: 'adas', namespace: 'team', userId: 'ada' });
    await storage.members.leaveNode(newId(), newId());
    await storage.members.beatNode({
      ...{ nodeId: newId(), incarnation: 1, bootId: newId(), address: 'x', nowMs: 1, ttlMs: 1 },
    });
    await pass(300);
    expect(namesOf(ears.heard)).toEqual(['bobs', 'adas']);
    expect(namesOf(ownEars.heard)).toEqual(['adas']);
    expect(all.heard.map(({ kind }) => kind)).toEqual([
      'job.created',
      'job.created',
      'job.created',
      'node.joined',
    ]);
  });

  test('rights that change hold from then on', async () => {
    const team = callerWith([{ namespace: 'team', role: 'viewer', ownOnly: false }]);
    const stream = feed.open(team);
    const { heard } = listen(stream);
    await pass(1);
    await stream.updateCaller({ ...team, grants: [] });
    await makeJob({ namespace: 'team' });
    await pass(300);
    expect(heard).toEqual([]);
  });

  test('who may not read events is refused', () => {
    expect(() => feed.open(callerWith([]))).toThrow(/events.read/);
  });

  test('filters are all to hold', async () => {
    const jobId = newId<JobId>();
    const byJob = listen(feed.open(SERVER, { jobId }));
    const byKind = listen(feed.open(SERVER, { kinds: ['job.paused', 'run'] }));
    const byLabel = listen(feed.open(SERVER, { labels: { team: 'billing' }, handler: 'http' }));
    await pass(1);
    await makeJob({ jobId, name: 'one' });
    await makeJob({ name: 'two', labels: { team: 'billing' } });
    await storage.jobs.cancelRun(
      (await storage.runs.ofJob(jobId, { limit: 1 }, clock.now()))[0]!.runId,
      clock.now(),
    );
    await pass(300);
    expect(byJob.heard.map(({ kind }) => kind)).toEqual(['job.created', 'run.cancelled']);
    expect(byKind.heard.map(({ kind }) => kind)).toEqual(['run.cancelled']);
    expect(namesOf(byLabel.heard)).toEqual(['two']);
  });

  test('who comes back after events were dropped is told of the gap, and goes on with the oldest kept', async () => {
    await makeJob({ name: 'dropped' });
    const { events } = await storage.events.read(FIRST_EVENT_CURSOR, 1);
    clock.advance(3 * 86_400_000);
    await makeJob({ name: 'kept' });
    await storage.housekeeping.dropEvents({ beforeMs: clock.now() - 86_400_000 });
    const { heard } = listen(feed.open(SERVER, { kinds: ['job'] }, events[0]!.cursor));
    await pass(1);
    await pass(300);
    expect(heard.map(({ kind }) => kind)).toEqual(['gap', 'job.created']);
  });

  test('an event that does not exist yet is one of another database: a gap, then what happens now', async () => {
    await makeJob();
    const { heard } = listen(feed.open(SERVER, {}, { xid: 1_000_000, seq: 1, index: 0 }));
    await pass(1);
    await makeJob({ name: 'new' });
    await pass(300);
    expect(heard.map(({ kind }) => kind)).toEqual(['gap', 'job.created']);
  });

  test('hazard 43: who comes back after the database was replaced is told of the gap, and of everything since', async () => {
    await makeJob({ name: 'seen' });
    const before = await storage.events.end();
    await storage.generations.begin();
    await makeJob({ name: 'since' });
    const { heard } = listen(feed.open(SERVER, {}, { ...before, xid: before.xid + 100 }));
    await pass(1);
    await makeJob({ name: 'new' });
    await pass(300);
    expect(heard.map(({ kind }) => kind)).toEqual(['gap', 'job.created', 'job.created']);
  });

  test('listeners are bounded for each caller and in total, and closing makes room', () => {
    const one = callerWith(SERVER.grants);
    const open = Array.from({ length: 50 }, () => feed.open(one));
    expect(() => feed.open(one)).toThrow(/50 streams of events are open for you already/);
    for (let i = 0; i < 10; i += 1) feed.open(callerWith(SERVER.grants));
    expect(() => feed.open(callerWith(SERVER.grants))).toThrow(
      /60 streams of events are open in total already/,
    );
    open[0]!.close();
    open[0]!.close();
    expect(() => feed.open(one)).not.toThrow();
    expect(feed.counts().listeners).toBe(60);
  });

  test('closing ends a listener that waits', async () => {
    const stream = feed.open(SERVER);
    const { done } = listen(stream);
    await pass(1);
    stream.close();
    await done;
  });
});

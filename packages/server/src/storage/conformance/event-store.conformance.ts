/** The promises of EventStore: every change is told once, in an order that never changes, and reading goes on where it stopped. */

import {
  compareEventCursors,
  type EventCursor,
  FIRST_EVENT_CURSOR,
  type NodeId,
  type RecordedEvent,
  type WorkerId,
} from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { NAME_RESTS_MS } from '../account-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, DAY_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { onceRun, settlement, useStorageWorld } from './storage-world.ts';

const LIMIT = 1_000;

export function describeEventStore(makeStorage: MakeStorage): void {
  describe('event store', () => {
    const stage = useStorageWorld(makeStorage);

    const markers = new Set<WorkerId>();
    /** Tells of something else, and waits until that can be read: whatever was told before it can be read too. */
    const mark = async (): Promise<EventCursor> => {
      const workerId = newId<WorkerId>();
      markers.add(workerId);
      await stage.world.register(workerId);
      return eventually(
        async () => {
          const { events } = await stage.world.storage.events.read(FIRST_EVENT_CURSOR, LIMIT);
          const marker = events.find(({ member }) => member?.workerId === workerId);
          expect(marker).toBeDefined();
          return marker!.cursor;
        },
        { withinMs: 60_000 },
      );
    };
    const told = async (after: EventCursor): Promise<readonly RecordedEvent[]> => {
      const until = await mark();
      const { events } = await stage.world.storage.events.read(after, LIMIT);
      return events.filter(
        ({ cursor, member }) =>
          compareEventCursors(cursor, until) < 0 && !(member?.workerId && markers.has(member.workerId)),
      );
    };
    const kindsSince = async (after: EventCursor) => (await told(after)).map(({ kind }) => kind);

    it('a new job is told with its name, namespace and owner', async () => {
      const since = await mark();
      const { job } = await stage.world.oneOff({ job: { name: 'report', namespace: 'team', userId: 'ada' } });
      const [event, ...others] = await told(since);
      expect(event).toMatchObject({
        kind: 'job.created',
        job: { jobId: job.jobId, name: 'report', namespace: 'team', userId: 'ada', handler: 'http' },
        run: undefined,
      });
      expect(others).toEqual([]);
    });

    it('a namespace that is made again begins after everything that was told of the one before', async () => {
      const { storage } = stage.world;
      const since = await mark();
      const { job } = await stage.world.oneOff({ job: { namespace: 'again' } });
      await storage.jobs.remove(job.jobId);
      const before = await storage.events.namespacesBegan(['again', 'default', 'nowhere']);
      expect([...before.keys()].toSorted()).toEqual(['again', 'default']);
      expect(await storage.accounts.removeNamespace('again')).toBe('removed');
      await stage.under.ageRemovals(NAME_RESTS_MS);
      expect(await storage.accounts.createNamespace({ name: 'again', description: '', createdAtMs: 0 })).toBe(
        true,
      );
      const next = await stage.world.oneOff({ job: { namespace: 'again' } });
      const began = (await storage.events.namespacesBegan(['again'])).get('again')!;
      const events = await told(since);
      const isOld = (event: RecordedEvent) => event.job?.jobId === job.jobId;
      expect(events.filter(isOld).length).toBeGreaterThanOrEqual(2);
      for (const event of events.filter(isOld)) expect(event.cursor.seq).toBeLessThanOrEqual(began);
      const news = events.filter((event) => event.job?.jobId === next.job.jobId);
      expect(news.length).toBeGreaterThan(0);
      for (const event of news) expect(event.cursor.seq).toBeGreaterThan(began);
    });

    it('a repeated request tells of no second job', async () => {
      const { world } = stage;
      const job = (await world.oneOff()).job;
      const since = await mark();
      const first = { kind: 'run', run: onceRun(BASE_MS) } as const;
      const keyed = (id: string) => ({
        job: { ...job, jobId: newId<typeof job.jobId>() },
        first: { ...first, run: onceRun(BASE_MS) },
        idempotency: { key: id, requestHash: 'hash' },
      });
      await world.storage.jobs.insert([keyed('one')]);
      await world.storage.jobs.insert([keyed('one')]);
      expect(await kindsSince(since)).toEqual(['job.created']);
    });

    it('every run of a batch that succeeded whole is told once, in order', async () => {
      const { world } = stage;
      const jobs = [await world.oneOff(), await world.oneOff(), await world.oneOff()];
      const rows = (await Promise.all(jobs.map(({ job }) => world.pendingRuns(job)))).flat();
      const batch = await world.claim(rows);
      const since = await mark();
      await world.storage.leases.settle(
        batch.runs.map((run) => settlement(run, { startedAtMs: BASE_MS, endedAtMs: BASE_MS + SECOND_MS })),
        BASE_MS + SECOND_MS,
      );
      const events = await told(since);
      expect(events.map(({ kind }) => kind)).toEqual(Array(3).fill('run.succeeded'));
      expect(events.map(({ run }) => run?.runId)).toEqual(batch.runs.map(({ runId }) => runId));
      expect(events[0]).toMatchObject({
        atMs: BASE_MS + SECOND_MS,
        job: { jobId: batch.runs[0]!.jobId, name: 'sample' },
        run: { attempt: 1, epoch: 1, status: 'SUCCESS', startedAtMs: BASE_MS, executorId: world.workerId },
      });
    });

    it('a failure that is tried again is told as such; the last one as failed and given up', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const since = await mark();
      const retryAtMs = BASE_MS + MINUTE_MS;
      const again = { kind: 'again', atMs: retryAtMs, attempt: 2, crashes: 0 } as const;
      await world.settle(await world.claimOne(job), { status: 'FAILED', error: 'no', next: again });
      const second = await world.claimOne(job, { nowMs: retryAtMs });
      const dead = { kind: 'dead', reason: 'retries_exhausted' } as const;
      await world.settle(second, { status: 'FAILED', error: 'still no', next: dead });
      const events = await told(since);
      expect(events.map(({ kind }) => kind)).toEqual(['run.retrying', 'run.failed', 'run.dead_lettered']);
      expect(events[0]?.run).toMatchObject({ attempt: 1, error: 'no', retryAtMs, deadReason: undefined });
      expect(events[1]?.run).toMatchObject({ attempt: 2, error: 'still no', deadReason: undefined });
      expect(events[2]?.run).toMatchObject({ attempt: 2, deadReason: 'retries_exhausted' });
    });

    it('of a lease that ended in many ways at once, each run is told with its own end', async () => {
      const { world } = stage;
      const made = await Promise.all([1, 2, 3, 4].map(() => world.oneOff()));
      const { runs } = await world.claim(made.map(({ job, runId }) => ({ jobId: job.jobId, runId })));
      const since = await mark();
      const retryAtMs = BASE_MS + 1_000;
      const no = { status: 'FAILED', error: 'no' } as const;
      const ends = [
        { result: '{"n":1}' },
        { ...no, next: { kind: 'again', atMs: retryAtMs, attempt: 2, crashes: 0 } },
        {},
        { ...no, next: { kind: 'dead', reason: 'retries_exhausted' } },
      ] as const;
      await world.storage.leases.settle(
        runs.map((run, i) => settlement(run, ends[i]!)),
        BASE_MS,
      );
      const events = (await told(since)).filter(({ kind }) => kind.startsWith('run.'));
      const kindsOf = ({ runId }: { runId: string }) =>
        events.filter(({ run }) => run?.runId === runId).map(({ kind }) => kind);
      expect(runs.map(kindsOf)).toEqual([
        ['run.succeeded'],
        ['run.retrying'],
        ['run.succeeded'],
        ['run.failed', 'run.dead_lettered'],
      ]);
      expect(events.find(({ kind }) => kind === 'run.retrying')?.run).toMatchObject({
        error: 'no',
        retryAtMs,
      });
    });

    it('a run is told to have started once, however often it is shown', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const run = await world.claimOne(job);
      const since = await mark();
      const shown = [{ ...run, startedAtMs: BASE_MS + 5 }];
      await world.storage.leases.showRunning(shown, BASE_MS + 300);
      await world.storage.leases.showRunning(shown, BASE_MS + 600);
      const events = await told(since);
      expect(events).toMatchObject([
        { kind: 'run.started', atMs: BASE_MS + 5, run: { status: 'RUNNING', runId: run.runId } },
      ]);
      await world.settle(run);
      expect(await kindsSince(since)).toEqual(['run.started', 'run.succeeded']);
      expect((await told(since))[0]?.run).toMatchObject({ status: 'RUNNING', endedAtMs: undefined });
    });

    it('a refused report tells nothing', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const run = await world.claimOne(job);
      await world.settle(run);
      const since = await mark();
      await world.storage.leases.settle([settlement(run)], BASE_MS);
      expect(await told(since)).toEqual([]);
    });

    it('a cancelled job is told before the runs that end with it', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const since = await mark();
      await world.change(job.jobId, { status: 'CANCELLED' }, { kind: 'drop' });
      expect(await kindsSince(since)).toEqual(['job.cancelled', 'run.cancelled']);
    });

    it('a deleted job leaves its name and place, also on what was told of it before', async () => {
      const { world } = stage;
      const since = await mark();
      const { job } = await world.oneOff({ job: { name: 'short-lived', namespace: 'team' } });
      await world.settle(await world.claimOne(job));
      await world.storage.jobs.remove(job.jobId);
      const events = await told(since);
      expect(events.map(({ kind }) => kind)).toEqual(['job.created', 'run.succeeded', 'job.deleted']);
      for (const event of events) expect(event.job).toMatchObject({ name: 'short-lived', namespace: 'team' });
    });

    it('workers are told to join once, to be lost once, or to leave', async () => {
      const { world } = stage;
      const since = await mark();
      const [silent, leaving] = [newId<WorkerId>(), newId<WorkerId>()];
      await world.register(silent, { nowMs: BASE_MS - 5 * MINUTE_MS });
      await world.register(silent, { nowMs: BASE_MS - 5 * MINUTE_MS });
      await world.register(leaving);
      await world.markDead(silent);
      await world.markDead(silent);
      await world.storage.members.forgetWorkers([silent, leaving]);
      const events = await told(since);
      expect(events.map(({ kind, member }) => [kind, member?.workerId])).toEqual([
        ['worker.joined', silent],
        ['worker.joined', leaving],
        ['worker.lost', silent],
        ['worker.left', leaving],
      ]);
    });

    it('servers are told to join, to be lost once, to come back, and to leave', async () => {
      const { members } = stage.world.storage;
      const since = await mark();
      const [one, other] = [newId<NodeId>(), newId<NodeId>()];
      const { bootId } = stage.world;
      const beat = (nodeId: NodeId, nowMs: number) =>
        members.beatNode({ nodeId, incarnation: 1, bootId, address: 'a', nowMs, ttlMs: SECOND_MS });
      await beat(one, BASE_MS);
      await beat(one, BASE_MS + 10);
      await beat(other, BASE_MS + MINUTE_MS);
      await beat(other, BASE_MS + MINUTE_MS + 10);
      await beat(one, BASE_MS + MINUTE_MS + 20);
      await members.leaveNode(other, bootId);
      const events = await told(since);
      expect(events.map(({ kind, member }) => [kind, member?.nodeId])).toEqual([
        ['node.joined', one],
        ['node.joined', other],
        ['node.lost', one],
        ['node.joined', one],
        ['node.left', other],
      ]);
    });

    it('reading in small bites gives the same as reading at once, from every place', async () => {
      const { world } = stage;
      const since = await mark();
      const jobs = await Promise.all([world.oneOff(), world.oneOff(), world.oneOff(), world.oneOff()]);
      const rows = (await Promise.all(jobs.map(({ job }) => world.pendingRuns(job)))).flat();
      const batch = await world.claim(rows);
      const next = { kind: 'dead', reason: 'not_retryable' } as const;
      await world.storage.leases.settle(
        batch.runs.map((run) => settlement(run, { status: 'FAILED', error: 'no', next })),
        BASE_MS,
      );
      const all = await told(since);
      expect(all).toHaveLength(12);
      for (const [i, { cursor }] of all.entries()) {
        const { events } = await world.storage.events.read(cursor, LIMIT);
        expect(events.slice(0, 11 - i)).toEqual(all.slice(i + 1));
      }
      const bitten: RecordedEvent[] = [];
      for (let after = since; bitten.length < all.length; ) {
        const page = await world.storage.events.read(after, 1);
        bitten.push(...page.events);
        after = page.through;
      }
      expect(bitten).toEqual(all);
    });

    it('what can be read after a place is counted, up to a bound', async () => {
      const { world } = stage;
      const { events } = world.storage;
      const since = await mark();
      await Promise.all([world.oneOff(), world.oneOff(), world.oneOff()]);
      const { cursor } = (await told(since)).at(-1)!;
      const all = await events.countAfter(since, LIMIT);
      expect(all).toBeGreaterThanOrEqual(3);
      expect(await events.countAfter(since, 2)).toBe(2);
      expect(await events.countAfter(cursor, LIMIT)).toBeLessThanOrEqual(all - 3);
    });

    it('events past their retention are dropped by whole days', async () => {
      const { world } = stage;
      await world.oneOff();
      const nowMs = await world.storage.members.serverTimeMs();
      const { housekeeping, events } = world.storage;
      await housekeeping.dropEvents({ beforeMs: nowMs - DAY_MS });
      expect(await events.oldest()).toBeDefined();
      await housekeeping.dropEvents({ beforeMs: nowMs + 2 * DAY_MS });
      expect((await events.read(FIRST_EVENT_CURSOR, LIMIT)).events).toEqual([]);
      expect(await events.oldest()).toBeUndefined();
    });
  });
}

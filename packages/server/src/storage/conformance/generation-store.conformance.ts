/** Generations: what a database that knows less than the one before it gives out is larger than all that was given out (hazard 43). */
import {
  compareEventCursors,
  FIRST_EVENT_CURSOR,
  generationOf,
  type Job,
  type LeaseId,
  type RecordedEvent,
} from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { firstEpochOf } from '../generation-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

const AGAIN = {
  status: 'FAILED',
  next: { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 },
} as const;

export function describeGenerationStore(make: MakeStorage): void {
  describe('generation store', () => {
    const stage = useStorageWorld(make);

    it('is the first generation until something happens, however often it is looked at', async () => {
      const { generations } = stage.world.storage;
      for (let i = 0; i < 3; i += 1)
        expect(await generations.look()).toEqual({ generation: 0, isNew: false });
    });

    it('a new one is told once', async () => {
      const { generations } = stage.world.storage;
      await generations.look();
      const generation = await generations.begin();
      expect(generation).toBe(1);
      expect(await generations.look()).toEqual({ generation, isNew: true });
      expect(await generations.look()).toEqual({ generation, isNew: false });
      expect(await generations.begin()).toBe(2);
    });

    it('a new one is told by whoever began it, also by one that has never looked before', async () => {
      const { generations } = stage.world.storage;
      await generations.begin();
      expect(await generations.look()).toEqual({ generation: 1, isNew: true });
      expect(await generations.look()).toEqual({ generation: 1, isNew: false });
    });

    it('hazard 43: a run is handed out at an epoch that no generation before had', async () => {
      const { world } = stage;
      const [waiting, tried] = [await world.oneOff(), await world.oneOff()];
      const before = await world.claimOne(tried.job);
      await world.settle(before, AGAIN);
      const generation = await world.storage.generations.begin();
      const first = await world.claimOne(waiting.job);
      const again = await world.claimOne(tried.job);
      expect(first.epoch).toBe(firstEpochOf(generation));
      expect(again.epoch).toBe(firstEpochOf(generation));
      expect(again.epoch).toBeGreaterThan(before.epoch);
      await world.settle(again, AGAIN);
      expect((await world.claimOne(tried.job)).epoch).toBe(again.epoch + 1);
    });

    it('hazard 14: what was handed out in the generation before is reported and recorded as ever', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const alive = await world.claimOne(job);
      await world.storage.generations.begin();
      expect(await world.settle({ ...alive, epoch: firstEpochOf(1) })).toBe('stale');
      expect(await world.settle(alive)).toBe('settled');
      expect(await world.storage.runs.attempts(runId, BASE_MS)).toMatchObject([
        { status: 'SUCCESS', epoch: alive.epoch },
      ]);
    });

    it('a plan that was not begun is still replaced by an edit', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.storage.generations.begin();
      expect((await world.storage.jobs.getForChange(job.jobId))?.plannedNominalMs).toBe(BASE_MS);
    });

    it('hazard 43: events of a new generation come after all before, wherever a reader stands', async () => {
      const { world } = stage;
      const { events, generations } = world.storage;
      const told = async (after = FIRST_EVENT_CURSOR) => {
        const found: RecordedEvent[] = [];
        for (let cursor = after; ; ) {
          const page = await events.read(cursor, 1);
          if (page.events.length === 0 && compareEventCursors(page.through, cursor) === 0) return found;
          found.push(...page.events);
          cursor = page.through;
        }
      };
      const jobs = (found: readonly RecordedEvent[]) =>
        found.flatMap(({ kind, job }) => (kind === 'job.created' && job ? [job.jobId] : []));
      // A transaction that is open elsewhere on the same server holds readers back.
      const untilReadable = ({ job }: { job: Job }) =>
        eventually(async () => expect(jobs(await told())).toContain(job.jobId), { withinMs: 60_000 });
      const first = await world.oneOff();
      await untilReadable(first);
      const before = await events.end();
      const generation = await generations.begin();
      const second = await world.oneOff();
      await untilReadable(second);
      expect(jobs(await told())).toEqual([first.job.jobId, second.job.jobId]);
      expect(jobs(await told(before))).toEqual([second.job.jobId]);
      // As far as the generation before could ever have come.
      expect(jobs(await told({ ...before, xid: before.xid + 1_000_000 }))).toEqual([second.job.jobId]);
      const cursors = (await told()).map(({ cursor }) => cursor);
      expect(cursors).toEqual(cursors.toSorted(compareEventCursors));
      expect(generationOf(cursors.at(-1)!)).toBe(generation);
      expect(compareEventCursors(await events.end(), cursors.at(-1)!)).toBeGreaterThan(0);
      expect(generationOf((await events.oldest())!)).toBe(0);
    });

    it('tells which leases it does not know', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const alive = await world.claimOne(job);
      const other = newId<LeaseId>();
      const { members } = world.storage;
      expect(await members.unknownLeases([alive.leaseId, other])).toEqual([other]);
      await world.settle(alive);
      expect(await members.unknownLeases([alive.leaseId])).toEqual([alive.leaseId]);
      expect(await members.unknownLeases([])).toEqual([]);
    });
  });
}

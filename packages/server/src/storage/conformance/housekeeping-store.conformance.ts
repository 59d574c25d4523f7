/** The promises of HousekeepingStore: room for the days ahead, and whole days dropped. */
import { describe, expect, it } from 'vitest';
import { BASE_MS, DAY_MS, HOUR_MS, type MakeStorage } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeHousekeepingStore(makeStorage: MakeStorage): void {
  describe('housekeeping store', () => {
    const stage = useStorageWorld(makeStorage);

    it('making room for the same days again, also by two nodes at once, does no harm', async () => {
      const { housekeeping } = stage.world.storage;
      const days = { nowMs: BASE_MS + 5 * DAY_MS, aheadDays: 2 };
      await Promise.all([housekeeping.makePartitions(days), housekeeping.makePartitions(days)]);
      await housekeeping.makePartitions(days);
    });

    it('whole days before the instant are dropped, the others stay', async () => {
      const { world } = stage;
      const [older, newer] = [await world.oneOff(), await world.oneOff()];
      await world.settle(await world.claimOne(older.job, { nowMs: BASE_MS + HOUR_MS }));
      await world.settle(await world.claimOne(newer.job, { nowMs: BASE_MS + 30 * HOUR_MS }));
      const { housekeeping, runs } = world.storage;

      expect(Array.isArray(await housekeeping.dropHistory({ beforeMs: BASE_MS + 2 * HOUR_MS }))).toBe(true);
      expect(await runs.attempts(older.runId, BASE_MS)).toHaveLength(1);

      const dropped = await housekeeping.dropHistory({ beforeMs: BASE_MS + 36 * HOUR_MS });
      expect(dropped.length).toBeGreaterThan(0);
      expect(await runs.attempts(older.runId, BASE_MS)).toEqual([]);
      expect(await runs.attempts(newer.runId, BASE_MS)).toHaveLength(1);
      expect(await world.statusOf(older.job.jobId)).toBe('COMPLETED');
      expect(await housekeeping.dropHistory({ beforeMs: BASE_MS + 36 * HOUR_MS })).toEqual([]);
    });

    it('the day of a claim that has not ended is kept until it has', async () => {
      const { world } = stage;
      const [ended, open] = [await world.oneOff(), await world.oneOff()];
      await world.settle(await world.claimOne(ended.job, { nowMs: BASE_MS + HOUR_MS }));
      const claimed = await world.claimOne(open.job, { nowMs: BASE_MS + HOUR_MS });
      const { housekeeping, runs } = world.storage;
      await housekeeping.dropHistory({ beforeMs: BASE_MS + 36 * HOUR_MS });
      expect(await runs.attempts(ended.runId, BASE_MS)).toHaveLength(1);
      expect(await world.settle(claimed, {}, BASE_MS + 36 * HOUR_MS)).toBe('settled');
      await housekeeping.dropHistory({ beforeMs: BASE_MS + 36 * HOUR_MS });
      expect(await runs.attempts(ended.runId, BASE_MS)).toEqual([]);
      expect(await runs.attempts(open.runId, BASE_MS)).toEqual([]);
    });

    it('what is written within the days asked for has a partition to go to', async () => {
      const { housekeeping } = stage.world.storage;
      await housekeeping.makePartitions({ nowMs: BASE_MS + 9 * DAY_MS, aheadDays: 2 });
      for (const day of [8, 9, 11])
        expect(await housekeeping.hasPartitions({ atMs: BASE_MS + day * DAY_MS + HOUR_MS })).toBe(true);
    });
  });
}

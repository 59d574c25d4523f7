/** Adding up, for the tests of what is counted. */
import { expect } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import type { CountedBucket, StatsStore } from '../stats-store.ts';
import { BASE_MS, DAY_MS } from './storage-under-test.ts';

export const DAY = { fromMs: BASE_MS, toMs: BASE_MS + DAY_MS };

/** Counts until as many attempts are counted as have ended: an event can be read a moment after its transaction. */
export async function countEnded(stats: StatsStore, ended: number): Promise<void> {
  await eventually(
    async () => {
      while ((await stats.countEnded({ nowMs: BASE_MS })).more);
      expect(total(await stats.counts({ bucket: 'hour', ...DAY, namespaces: undefined }))).toBe(ended);
    },
    { withinMs: 60_000 },
  );
}

function total(buckets: readonly CountedBucket[]): number {
  return buckets.reduce(
    (sum, { succeeded, failed, timedOut, cancelled, skipped, lost }) =>
      sum + succeeded + failed + timedOut + cancelled + skipped + lost,
    0,
  );
}

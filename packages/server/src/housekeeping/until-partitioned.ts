/** Waits until the day has its partitions: nothing can be recorded before. */
import { type Clock, type Log, sleep } from '@carillon/foundation';
import type { HousekeepingStore } from '../storage/housekeeping-store.ts';

/** Made ahead: for this long nothing that keeps partitions from being made is noticed by anybody but the reader of the log. */
export const AHEAD_DAYS = 7;
const RETRY_MS = 2_000;

export async function untilPartitioned(options: {
  readonly store: Pick<HousekeepingStore, 'makePartitions' | 'hasPartitions'>;
  /** The storage's present. */
  readonly nowMs: () => number | Promise<number>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal?: AbortSignal;
}): Promise<void> {
  const { store, nowMs, clock, log, signal } = options;
  for (;;) {
    const atMs = await nowMs();
    await store
      .makePartitions({ nowMs: atMs, aheadDays: AHEAD_DAYS })
      .catch((error: unknown) => log.warn({ err: error }, 'could not make partitions for the days ahead'));
    if (await store.hasPartitions({ atMs })) return;
    log.warn(
      { retryMs: RETRY_MS },
      'not started yet: what runs today could not be recorded, because today has no partition and none can be made; trying again',
    );
    await sleep(clock, RETRY_MS, signal);
    if (signal?.aborted) throw new Error('stopped before the partition of today was there');
  }
}

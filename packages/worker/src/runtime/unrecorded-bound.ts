/**
 * A slot is free when the outcome of its run is recorded (hazard 40). Runs that execute and outcomes that are not recorded yet are
 * bounded together (LEASE-9): when a process dies, no more than that runs again, however long nothing could be recorded. The bound is well
 * above the slots, so that short runs do not wait for the storage while it keeps up.
 */
import type { Clock, Log } from '@carillon/foundation';

/** Of the outcomes that a busy server records in one transaction, at least one batch. */
const UNRECORDED_MAX_LEAST = 1_000;
const UNRECORDED_MAX_PER_SLOT = 2;

/** How many runs a worker with so many slots has at most that execute or whose outcome is not recorded, wherever it runs. */
export function unrecordedMax(slots: number): number {
  return Math.max(UNRECORDED_MAX_LEAST, UNRECORDED_MAX_PER_SLOT * slots);
}

export interface UnrecordedCounts {
  readonly runningCount: number;
  readonly unrecordedCount: number;
}

export class UnrecordedBound {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #log: Log;
  readonly #max: number;
  /** Below this the bound counts as left. Not at the bound itself: with a slow storage the log would alternate. */
  readonly #overBelow: number;
  #isReached = false;
  /** Since when no run may start. */
  #noneLeftAt: number | undefined;

  constructor({ slots, clock, log }: { slots: number; clock: Pick<Clock, 'monotonic'>; log: Log }) {
    this.#clock = clock;
    this.#log = log;
    this.#max = unrecordedMax(slots);
    this.#overBelow = (this.#max - slots) / 2;
  }

  /** Runs that may be taken on before earlier outcomes are recorded. */
  left({ runningCount, unrecordedCount }: UnrecordedCounts): number {
    return this.#max - runningCount - unrecordedCount;
  }

  /** How long no run could be taken on, because no outcome was recorded; undefined while some can. */
  get reachedMs(): number | undefined {
    return this.#noneLeftAt === undefined ? undefined : this.#clock.monotonic() - this.#noneLeftAt;
  }

  /** To be called when the counts have changed: logs once when the bound is reached, and once when it is left. */
  update(counts: UnrecordedCounts): void {
    const { unrecordedCount } = counts;
    if (this.left(counts) > 0) this.#noneLeftAt = undefined;
    else this.#noneLeftAt ??= this.#clock.monotonic();
    if (!this.#isReached && this.left(counts) <= 0) {
      this.#isReached = true;
      this.#log.warn(
        { unrecorded: unrecordedCount, max: this.#max },
        'no more runs are started: too many outcomes wait to be recorded',
      );
    } else if (this.#isReached && unrecordedCount < this.#overBelow) {
      this.#isReached = false;
      this.#log.info({ unrecorded: unrecordedCount }, 'outcomes are recorded again; runs are started again');
    }
  }
}

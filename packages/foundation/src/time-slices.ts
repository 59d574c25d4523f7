/**
 * Long arithmetic in slices, so that it holds nobody up: it is done part by part, and once the parts took a slice of time
 * the next one waits until timers and sockets had their turn. Shared by all requests of a process: forty that arrive
 * together hold the event loop for no longer than one. Counts the time of parts only, so a clock that stands still never
 * makes anybody wait.
 */
import type { Clock } from './clock.ts';

export interface TimeSlicesOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Calls back after everybody else's turn. Left out: setImmediate. */
  readonly defer?: (callback: () => void) => void;
}

/** A schedule that falls due waits this long at most, and the part that is under way. */
const SLICE_MS = 2;

export class TimeSlices {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #defer: (callback: () => void) => void;
  /** In the order of arrival. Each turn lets one of them go on. */
  readonly #waiting: (() => void)[] = [];
  #usedMs = 0;

  constructor({ clock, defer = setImmediate }: TimeSlicesOptions) {
    this.#clock = clock;
    this.#defer = defer;
  }

  /** Does one part of the work, which should take much less than a slice. */
  async run<T>(part: () => T): Promise<T> {
    // Asked again after the wait: others may have used the slice in between.
    while (this.#usedMs >= SLICE_MS) await this.#turn();
    const startedAt = this.#clock.monotonic();
    try {
      return part();
    } finally {
      this.#usedMs += this.#clock.monotonic() - startedAt;
    }
  }

  /** Does a part for each item, in order. Without a promise for each: most take microseconds. */
  async runAll<Item, Done>(
    items: readonly Item[],
    part: (item: Item, index: number) => Done,
  ): Promise<Done[]> {
    const done: Done[] = [];
    while (done.length < items.length) await this.run(() => this.#fill(done, items, part));
    return done;
  }

  /** Until the slice is used up, and at least one. */
  #fill<Item, Done>(done: Done[], items: readonly Item[], part: (item: Item, index: number) => Done): void {
    const endsAt = this.#clock.monotonic() + SLICE_MS - this.#usedMs;
    do done.push(part(items[done.length]!, done.length));
    while (done.length < items.length && this.#clock.monotonic() < endsAt);
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) this.#defer(this.#next);
    });
  }

  readonly #next = (): void => {
    this.#usedMs = 0;
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#defer(this.#next);
  };
}

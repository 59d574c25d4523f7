/**
 * Adds what ended to the counts by minute and hour, every few seconds. Any number of servers do so at the same time: the storage counts
 * each attempt once. A server that is killed loses nothing: what it has not counted, another one does.
 */
import { type Clock, type Log, Loop, type Random, type Service, sleep } from '@carillon/foundation';
import type { StatsStore } from '../storage/stats-store.ts';

export interface RunCounterOptions {
  readonly store: Pick<StatsStore, 'countEnded'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const PASS_MS = 10_000;
/** After which a pass makes room for others, and goes on soon. */
const BATCHES_MAX = 20;
const SOON_MS = 100;
/** Counting for readers is repeated no sooner. */
const SHARED_MS = 1_000;
const READER_WAITS_MS = 300;

export class RunCounter implements Service {
  readonly #options: RunCounterOptions;
  readonly #loop: Loop;
  /** For readers, under way. */
  #counting: Promise<void> | undefined;
  #countedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: RunCounterOptions) {
    this.#options = options;
    this.#loop = new Loop({
      ...options,
      name: 'run counter',
      idleMs: PASS_MS,
      runOnce: () => this.runOnce(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * For whoever reads counts: what has ended by now is in them, unless counting takes long or fails. Then they are as of the last pass.
   * Those who ask within a moment share one call.
   */
  async countSoon(): Promise<void> {
    const { store, clock, log } = this.#options;
    if (clock.monotonic() < this.#countedUntil) return;
    this.#counting ??= store
      .countEnded({ nowMs: clock.now() })
      .then(() => {
        this.#countedUntil = clock.monotonic() + SHARED_MS;
      })
      .catch((error: unknown) => log.debug({ err: error }, 'what ended could not be counted for a reader'))
      .finally(() => {
        this.#counting = undefined;
      });
    const isOver = new AbortController();
    await Promise.race([this.#counting, sleep(clock, READER_WAITS_MS, isOver.signal)]);
    isOver.abort();
  }

  async runOnce(): Promise<number | undefined> {
    const { store, clock } = this.#options;
    for (let batch = 0; batch < BATCHES_MAX; batch += 1)
      if (!(await store.countEnded({ nowMs: clock.now() })).more) return undefined;
    return SOON_MS;
  }
}

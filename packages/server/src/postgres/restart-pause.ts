/**
 * How long to wait before PostgreSQL is started again: not at all the first time, then longer and longer, up to 10 s. One that cannot run
 * costs little, and one that has room again is soon back. After it has run for a while all is forgotten.
 */
import type { Clock } from '@carillon/foundation';

const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 10_000;
const STEADY_MS = 60_000;

export class RestartPause {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #pauseMs = 0;
  #startedAt: number;

  constructor({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  /** Before the next try. */
  next(): number {
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(Math.max(2 * pauseMs, PAUSE_MS_MIN), PAUSE_MS_MAX);
    return pauseMs;
  }

  started(): void {
    this.#startedAt = this.#clock.monotonic();
  }

  died(): void {
    if (this.#clock.monotonic() - this.#startedAt >= STEADY_MS) this.#pauseMs = 0;
  }
}

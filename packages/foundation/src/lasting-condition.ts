/**
 * A condition that may last, for the log: told of when it is noticed, then at most once in a while however often it is noticed,
 * and once when it is over. One that comes and goes is told of no more often than one that lasts.
 */
import type { Clock } from './clock.ts';

const TELL_MS = 30_000;

export class LastingCondition {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #since: number | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;
  #isTold = false;

  constructor({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock;
  }

  /** To be called whenever it is noticed; true when it is time to tell of it. */
  notice(): boolean {
    const now = this.#clock.monotonic();
    this.#since ??= now;
    if (now - this.#toldAt < TELL_MS) return false;
    this.#toldAt = now;
    this.#isTold = true;
    return true;
  }

  /** It is over: answers how long it lasted, if it was told of. */
  end(): number | undefined {
    const lastedMs = this.#isTold ? Math.round(this.#clock.monotonic() - this.#since!) : undefined;
    this.#since = undefined;
    this.#isTold = false;
    return lastedMs;
  }
}

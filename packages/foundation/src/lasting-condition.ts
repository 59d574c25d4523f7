/**
 * A condition that may last, for the log: reported when it is noticed, then at most every 30 s however often it is noticed,
 * and once when it is over. One that comes and goes is reported no more often than one that lasts.
 */
import type { Clock } from './clock.ts';

const REPORT_MS = 30_000;

export class LastingCondition {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #since: number | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #isReported = false;

  constructor({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock;
  }

  /** To be called whenever it is noticed; true when it is time to report it. */
  notice(): boolean {
    const now = this.#clock.monotonic();
    this.#since ??= now;
    if (now - this.#reportedAt < REPORT_MS) return false;
    this.#reportedAt = now;
    this.#isReported = true;
    return true;
  }

  /** It is over: answers how long it lasted, if it was reported. */
  end(): number | undefined {
    const lastedMs = this.#isReported ? Math.round(this.#clock.monotonic() - this.#since!) : undefined;
    this.#since = undefined;
    this.#isReported = false;
    return lastedMs;
  }
}

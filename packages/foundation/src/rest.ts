/**
 * A pause after work, as long as the work took and bounded: at most half of the time goes into work that is done bit by bit, and
 * under load the bits grow before everything else slows down.
 */
import type { Clock } from './clock.ts';

export class Rest {
  readonly #clock: Clock;
  readonly #msMax: number;
  #until = Number.NEGATIVE_INFINITY;

  constructor({ clock, msMax }: { readonly clock: Clock; readonly msMax: number }) {
    this.#clock = clock;
    this.#msMax = msMax;
  }

  /** startedAt: when the work that is over now began, by the monotonic clock. */
  begin(startedAt: number): void {
    const now = this.#clock.monotonic();
    this.#until = now + Math.min(now - startedAt, this.#msMax);
  }

  /** None or less: it is over. */
  get leftMs(): number {
    return this.#until - this.#clock.monotonic();
  }
}

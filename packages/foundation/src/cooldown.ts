/**
 * A bounded pause after work, as long as the work took: then at most half of the time goes into work in small pieces, and under
 * load the pieces grow before anything else becomes slower.
 */
import type { Clock } from './clock.ts';

export class Cooldown {
  readonly #clock: Clock;
  readonly #msMax: number;
  #until = Number.NEGATIVE_INFINITY;

  constructor({ clock, msMax }: { readonly clock: Clock; readonly msMax: number }) {
    this.#clock = clock;
    this.#msMax = msMax;
  }

  /** The work that began at `startedAt`, by the monotonic clock, has ended. */
  begin(startedAt: number): void {
    const now = this.#clock.monotonic();
    this.#until = now + Math.min(now - startedAt, this.#msMax);
  }

  /** 0 or less: the cooldown is over. */
  get leftMs(): number {
    return this.#until - this.#clock.monotonic();
  }
}

/**
 * How much time the schemas of remote workers may take of a server, which does nothing else meanwhile: so much within a minute for one
 * handler, for all of them, and for those that turned out to be of no use. What has spent it is not used for the rest of the minute.
 */
import type { Clock } from '@carillon/foundation';
import { BOUNDED_MS } from './payload-schema.ts';

const WITHIN_MS = 60_000;
/** A payload takes an honest schema some microseconds: these are thousands of jobs per second. */
export const HANDLER_MS_MAX = 3_000;
export const ALL_MS_MAX = 2 * HANDLER_MS_MAX;
const WASTED_MS_MAX = 4 * BOUNDED_MS;

export class SchemaTime {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #since = Number.NEGATIVE_INFINITY;
  #allMs = 0;
  #wastedMs = 0;
  #byHandler = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  isSpent(handler: string): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#since >= WITHIN_MS) {
      this.#since = now;
      [this.#allMs, this.#wastedMs] = [0, 0];
      this.#byHandler = new Map();
    }
    return (
      this.#wastedMs >= WASTED_MS_MAX ||
      this.#allMs >= ALL_MS_MAX ||
      (this.#byHandler.get(handler) ?? 0) >= HANDLER_MS_MAX
    );
  }

  /** Answers whether it was the last that there was. */
  spend(handler: string, ms: number, { wasted }: { readonly wasted: boolean }): boolean {
    this.#allMs += ms;
    if (wasted) this.#wastedMs += ms;
    this.#byHandler.set(handler, (this.#byHandler.get(handler) ?? 0) + ms);
    return this.isSpent(handler);
  }
}

/**
 * Bounds how many logs are searched at once: each reads a whole log. Whoever finds no room waits a moment for it, and is refused then. A
 * search counts until its reading has ended, also when nobody waits for its answer any more.
 */
import { Refusal } from '@carillon/domain';
import { type Clock, sleep } from '@carillon/foundation';
import { type Claimant, SharedLimit } from '../shared-limit/shared-limit.ts';

const WAIT_MS = 2_000;
const RETRY_AFTER_SECONDS = 2;
const ADVICE = `wait until one of these answers has ended, and try again in ${RETRY_AFTER_SECONDS} seconds`;

export class LogSearches {
  readonly #clock: Clock;
  readonly #reading = new SharedLimit({
    ...{ what: 'logs are searched', advice: ADVICE },
    ...{ eachMax: 4, totalMax: 20 },
  });
  readonly #waiting = new SharedLimit({ what: 'searches of logs wait', eachMax: 4, totalMax: 64 });
  /** Told when there is room, in the order in which they came. */
  readonly #wakes = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Answers how to leave, which counts once. */
  async enter(who: Claimant, signal?: AbortSignal): Promise<() => void> {
    return this.#begin(who) ?? (await this.#wait(who, signal));
  }

  /** Undefined: there is no room. */
  #begin(who: Claimant): (() => void) | undefined {
    if (this.#reading.refusalOf(who)) return undefined;
    const leave = this.#reading.join(who);
    return () => {
      leave();
      for (const wake of this.#wakes) wake();
    };
  }

  async #wait(who: Claimant, signal: AbortSignal | undefined): Promise<() => void> {
    if (this.#waiting.refusalOf(who)) throw this.#refusal(who);
    const done = this.#waiting.join(who);
    const late = new AbortController();
    const ended = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    const timeUp = sleep(this.#clock, WAIT_MS, ended).then(() => late.abort());
    try {
      for (;;) {
        const leave = this.#begin(who);
        if (leave) return leave;
        if (ended.aborted) throw this.#refusal(who);
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wakes.add(resolve);
        await Promise.race([promise, timeUp]).finally(() => this.#wakes.delete(resolve));
      }
    } finally {
      late.abort();
      done();
    }
  }

  #refusal(who: Claimant): Refusal {
    const message = this.#reading.refusalOf(who)?.message ?? `Too many searches of logs wait; ${ADVICE}.`;
    return new Refusal('rate_limited', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
}

/**
 * Leaves when the reading has ended. A generator that was never asked for anything ends without a word: close() leaves for it, and has to
 * be called when nobody reads any more.
 */
export function leavingAtEnd<Item>(
  items: AsyncIterable<Item>,
  leave: () => void,
): { readonly items: AsyncGenerator<Item, void, undefined>; readonly close: () => void } {
  let isBegun = false;
  async function* read(): AsyncGenerator<Item, void, undefined> {
    isBegun = true;
    try {
      yield* items;
    } finally {
      leave();
    }
  }
  return {
    items: read(),
    close: () => {
      if (!isBegun) leave();
    },
  };
}

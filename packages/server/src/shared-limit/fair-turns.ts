/**
 * Bounds how many requests work at once, so that there are connections to the database left for everything else, and shares these places
 * out: places count for each namespace of a caller and for who made its key; whose count is lowest is next, and nobody has them all.
 * Whoever waits for too long is refused.
 */
import { Refusal } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { Claimant } from './shared-limit.ts';

interface Waiting {
  readonly who: Claimant;
  readonly admit: () => void;
  readonly refuse: (refusal: Refusal) => void;
  readonly callOff: () => void;
}

const WAIT_MS = 5_000;
const RETRY_AFTER_SECONDS = 2;
/** A namespace, and a maker, must leave some to the others. */
const GROUP_PART = 2 / 3;
const WAITING_MAX = 2_000;
const WAITING_MAX_PER_GROUP = 500;

export class FairTurns {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #placesMax: number;
  readonly #groupMax: number;
  /** Places that each group has (a namespace or a maker) and each caller, and how many of a group wait. */
  readonly #groups = new Counts();
  readonly #callers = new Counts();
  readonly #waitingOf = new Counts();
  readonly #waiting = new Set<Waiting>();
  #taken = 0;

  constructor({ clock, placesMax }: { clock: Pick<Clock, 'timer'>; placesMax: number }) {
    this.#clock = clock;
    this.#placesMax = placesMax;
    this.#groupMax = Math.max(1, Math.floor(placesMax * GROUP_PART));
  }

  async run<Answer>(who: Claimant, work: () => Promise<Answer>): Promise<Answer> {
    // Nobody who waits could have this place: each that becomes free is given at once.
    if (this.#mayTake(who)) this.#take(who);
    else await this.#wait(who);
    try {
      return await work();
    } finally {
      this.#leave(who);
    }
  }

  #mayTake(who: Claimant): boolean {
    return this.#taken < this.#placesMax && this.#ofGroups(who) < this.#groupMax;
  }

  #take(who: Claimant): void {
    this.#taken += 1;
    for (const group of groupsOf(who)) this.#groups.add(group, 1);
    this.#callers.add(who.of, 1);
  }

  #leave(who: Claimant): void {
    this.#taken -= 1;
    for (const group of groupsOf(who)) this.#groups.add(group, -1);
    this.#callers.add(who.of, -1);
    this.#admitNext();
  }

  /** The most that any of its groups has. */
  #ofGroups(who: Claimant): number {
    return Math.max(...groupsOf(who).map((group) => this.#groups.of(group)));
  }

  #wait(who: Claimant): Promise<void> {
    const isFull = groupsOf(who).some((group) => this.#waitingOf.of(group) >= WAITING_MAX_PER_GROUP);
    if (this.#waiting.size >= WAITING_MAX || isFull) return Promise.reject(this.#refusalOf(who));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = {
      who,
      admit: resolve,
      refuse: reject,
      callOff: this.#clock.timer(WAIT_MS, () => {
        this.#forget(waiting);
        reject(this.#refusalOf(who));
      }),
    };
    this.#waiting.add(waiting);
    for (const group of groupsOf(who)) this.#waitingOf.add(group, 1);
    return promise;
  }

  #admitNext(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#forget(next);
      this.#take(next.who);
      next.admit();
    }
  }

  /** The first to come of those that have fewest. */
  #next(): Waiting | undefined {
    if (this.#taken >= this.#placesMax) return undefined;
    let best: { readonly waiting: Waiting; readonly ofGroup: number; readonly ofCaller: number } | undefined;
    for (const waiting of this.#waiting) {
      const [ofGroup, ofCaller] = [this.#ofGroups(waiting.who), this.#callers.of(waiting.who.of)];
      if (ofGroup >= this.#groupMax) continue;
      if (!best || ofGroup < best.ofGroup || (ofGroup === best.ofGroup && ofCaller < best.ofCaller))
        best = { waiting, ofGroup, ofCaller };
      if (ofGroup === 0 && ofCaller === 0) break;
    }
    return best?.waiting;
  }

  #forget(waiting: Waiting): void {
    waiting.callOff();
    this.#waiting.delete(waiting);
    for (const group of groupsOf(waiting.who)) this.#waitingOf.add(group, -1);
  }

  #refusalOf(who: Claimant): Refusal {
    const options = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    const again = `try again in ${RETRY_AFTER_SECONDS} seconds, with fewer at the same time`;
    const own = [...who.shares, who].find(({ of }) => this.#groups.of(of) >= this.#groupMax);
    return own
      ? new Refusal('rate_limited', `Too many requests ${own.words} are under way; ${again}.`, options)
      : new Refusal('overloaded', `Too many requests are under way; ${again}.`, options);
  }
}

/** Whoever counts for no namespace counts alone. */
function groupsOf({ of, shares }: Claimant): string[] {
  return shares.length === 0 ? [of] : shares.map((share) => share.of);
}

class Counts {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, change: 1 | -1): void {
    const count = this.of(name) + change;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}

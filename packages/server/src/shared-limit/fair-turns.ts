/**
 * Bounds how many requests work at once, so that there are connections to the database left for everything else, and shares these places
 * out: the group (mostly a namespace) that has fewest is next, and no group has them all. Whoever waits for too long is refused.
 */
import { Refusal } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';

export interface Claiming {
  /** Whose places are counted together, as in "of the namespace a". */
  readonly group: string;
  /** Of one group, the caller that has fewest is next. */
  readonly caller: string;
}

interface Waiting extends Claiming {
  readonly admit: () => void;
  readonly refuse: (refusal: Refusal) => void;
  readonly callOff: () => void;
}

const WAIT_MS = 5_000;
const RETRY_AFTER_SECONDS = 2;
/** A group must leave some to the others. */
const GROUP_PART = 2 / 3;
const WAITING_MAX = 2_000;
const WAITING_MAX_PER_GROUP = 500;

export class FairTurns {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #placesMax: number;
  readonly #groupMax: number;
  /** Places that each group and each caller has, and how many of a group wait. */
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

  async run<Answer>(who: Claiming, work: () => Promise<Answer>): Promise<Answer> {
    // Nobody who waits could have this place: each that becomes free is given at once.
    if (this.#mayTake(who)) this.#take(who);
    else await this.#wait(who);
    try {
      return await work();
    } finally {
      this.#leave(who);
    }
  }

  #mayTake({ group }: Claiming): boolean {
    return this.#taken < this.#placesMax && this.#groups.of(group) < this.#groupMax;
  }

  #take({ group, caller }: Claiming): void {
    this.#taken += 1;
    this.#groups.add(group, 1);
    this.#callers.add(caller, 1);
  }

  #leave({ group, caller }: Claiming): void {
    this.#taken -= 1;
    this.#groups.add(group, -1);
    this.#callers.add(caller, -1);
    this.#admitNext();
  }

  #wait(who: Claiming): Promise<void> {
    if (this.#waiting.size >= WAITING_MAX || this.#waitingOf.of(who.group) >= WAITING_MAX_PER_GROUP)
      return Promise.reject(this.#refusalOf(who));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = {
      ...who,
      admit: resolve,
      refuse: reject,
      callOff: this.#clock.timer(WAIT_MS, () => {
        this.#forget(waiting);
        reject(this.#refusalOf(who));
      }),
    };
    this.#waiting.add(waiting);
    this.#waitingOf.add(who.group, 1);
    return promise;
  }

  #admitNext(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#forget(next);
      this.#take(next);
      next.admit();
    }
  }

  /** The first to come of those that have fewest. */
  #next(): Waiting | undefined {
    if (this.#taken >= this.#placesMax) return undefined;
    let best: { readonly waiting: Waiting; readonly ofGroup: number; readonly ofCaller: number } | undefined;
    for (const waiting of this.#waiting) {
      const [ofGroup, ofCaller] = [this.#groups.of(waiting.group), this.#callers.of(waiting.caller)];
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
    this.#waitingOf.add(waiting.group, -1);
  }

  #refusalOf({ group }: Claiming): Refusal {
    const options = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    const again = `try again in ${RETRY_AFTER_SECONDS} seconds, with fewer at the same time`;
    const isOwn = this.#groups.of(group) >= this.#groupMax;
    return isOwn
      ? new Refusal('rate_limited', `Too many requests ${group} are under way; ${again}.`, options)
      : new Refusal('overloaded', `Too many requests are under way; ${again}.`, options);
  }
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

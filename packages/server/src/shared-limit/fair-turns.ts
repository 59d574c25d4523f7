/**
 * Bounds how many requests work at once, so that there are connections to the database left for everything else, and shares these places
 * out: places count for each namespace of a caller and for who made its key; whose count is lowest is next, and nobody has them all.
 * Whoever waits for too long is refused. Where too many wait, the newest request of the caller that has most is refused: nobody who asks for
 * little is kept out by one who asks for much.
 */
import { Cache, Refusal } from '@carillon/domain';
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
const REMEMBERED_MAX = 10_000;
/** callerMax: of those who count for a namespace. */
const WAITING = { totalMax: 2_000, groupMax: 500, callerMax: 100 };

export interface FairTurnsOptions {
  readonly clock: Pick<Clock, 'timer'>;
  readonly placesMax: number;
  readonly waiting?: typeof WAITING;
}

export class FairTurns {
  readonly #clock: Pick<Clock, 'timer'>;
  readonly #placesMax: number;
  readonly #groupMax: number;
  readonly #waitingMax: typeof WAITING;
  /** Places that each group has (a namespace or a maker) and each caller, and how many of each wait. */
  readonly #groups = new Counts();
  readonly #callers = new Counts();
  readonly #waitingOfGroup = new Counts();
  readonly #waitingOfCaller = new Counts();
  readonly #waiting = new Set<Waiting>();
  /** When each caller got its last place, as a number that grows. */
  readonly #servedAt = new Cache<string, number>({ entriesMax: REMEMBERED_MAX });
  #serves = 0;
  #taken = 0;

  constructor({ clock, placesMax, waiting = WAITING }: FairTurnsOptions) {
    this.#clock = clock;
    this.#waitingMax = waiting;
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
    this.#serves += 1;
    this.#servedAt.set(who.of, this.#serves);
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
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = {
      who,
      admit: resolve,
      refuse: reject,
      callOff: this.#clock.timer(WAIT_MS, () => this.#refuse(waiting, this.#refusalOf(who))),
    };
    this.#waiting.add(waiting);
    this.#countWaiting(who, 1);
    this.#refuseTooMany(waiting);
    return promise;
  }

  /** newest: has been added. */
  #refuseTooMany(newest: Waiting): void {
    const { who } = newest;
    const { totalMax, groupMax, callerMax } = this.#waitingMax;
    const hasTooMany = who.shares.length > 0 && this.#waitingOfCaller.of(who.of) > callerMax;
    if (hasTooMany) {
      this.#refuse(newest, tooMany('rate_limited', `${who.words} wait`));
      return;
    }
    const isFull = (group: string) => this.#waitingOfGroup.of(group) > groupMax;
    const refused = new Map<Waiting, Refusal>();
    for (const { of, words } of countedFor(who)) {
      const refusal = tooMany('rate_limited', `${words} wait`);
      if (isFull(of))
        refused.set(
          this.#greediest((other) => groupsOf(other).includes(of)),
          refusal,
        );
    }
    if (this.#waiting.size > totalMax) refused.set(this.#greediest(), tooMany('overloaded', 'wait'));
    const own = refused.get(newest);
    const all = own ? [[newest, own] as const] : refused;
    for (const [waiting, refusal] of all) this.#refuse(waiting, refusal);
  }

  /** The newest of the caller that has most waiting; of equal ones, of that whose groups have most. */
  #greediest(isOne: (who: Claimant) => boolean = () => true): Waiting {
    let most: { readonly waiting: Waiting; readonly ofCaller: number; readonly ofGroups: number } | undefined;
    for (const waiting of this.#waiting) {
      const ofCaller = this.#waitingOfCaller.of(waiting.who.of);
      if ((most && ofCaller < most.ofCaller) || !isOne(waiting.who)) continue;
      const ofGroups = groupsOf(waiting.who).reduce((sum, group) => sum + this.#waitingOfGroup.of(group), 0);
      if (!most || ofCaller > most.ofCaller || ofGroups >= most.ofGroups)
        most = { waiting, ofCaller, ofGroups };
    }
    return most!.waiting;
  }

  #refuse(waiting: Waiting, refusal: Refusal): void {
    this.#forget(waiting);
    waiting.refuse(refusal);
  }

  #admitNext(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#forget(next);
      this.#take(next.who);
      next.admit();
    }
  }

  /** Of those that have fewest, whose last place is longest ago; of these, the first to come. */
  #next(): Waiting | undefined {
    if (this.#taken >= this.#placesMax) return undefined;
    let best: { readonly waiting: Waiting; readonly rank: readonly number[] } | undefined;
    for (const waiting of this.#waiting) {
      const { who } = waiting;
      const rank = [this.#ofGroups(who), this.#callers.of(who.of), this.#servedAt.get(who.of) ?? 0];
      if (rank[0]! < this.#groupMax && (!best || isBefore(rank, best.rank))) best = { waiting, rank };
      if (best?.rank.every((part) => part === 0)) break;
    }
    return best?.waiting;
  }

  #forget(waiting: Waiting): void {
    waiting.callOff();
    this.#waiting.delete(waiting);
    this.#countWaiting(waiting.who, -1);
  }

  #countWaiting(who: Claimant, change: 1 | -1): void {
    this.#waitingOfCaller.add(who.of, change);
    for (const group of groupsOf(who)) this.#waitingOfGroup.add(group, change);
  }

  #refusalOf(who: Claimant): Refusal {
    const own = [...who.shares, who].find(({ of }) => this.#groups.of(of) >= this.#groupMax);
    return own
      ? tooMany('rate_limited', `${own.words} are under way`)
      : tooMany('overloaded', 'are under way');
  }
}

function isBefore(rank: readonly number[], other: readonly number[]): boolean {
  const at = rank.findIndex((part, i) => part !== other[i]);
  return at >= 0 && rank[at]! < other[at]!;
}

function tooMany(code: 'rate_limited' | 'overloaded', which: string): Refusal {
  const again = `try again in ${RETRY_AFTER_SECONDS} seconds, with fewer at the same time`;
  const options = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return new Refusal(code, `Too many requests ${which}; ${again}.`, options);
}

/** Whoever counts for no namespace counts alone. */
function countedFor(who: Claimant): readonly Pick<Claimant, 'of' | 'words'>[] {
  return who.shares.length === 0 ? [who] : who.shares;
}

function groupsOf(who: Claimant): string[] {
  return countedFor(who).map(({ of }) => of);
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

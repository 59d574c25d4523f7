/**
 * Bodies that take the process a while to parse and to judge: longer than most, compressed, or of many jobs. They are read one at a time;
 * the caller whose namespaces and maker were served least recently is next, and after each the process does other things for as long as it
 * took: whoever sends very many of them delays others by a fraction of a second. What of them is in memory at the same time is bounded,
 * counted as it arrives.
 */
import { Cache, Refusal } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { Claimant } from '../shared-limit/shared-limit.ts';

/** Up to here a body is read as it comes, and held without being counted. */
export const SMALL_BODY_BYTES = 8 * 1024;
/** What strangers may send: the name and the password of somebody who signs in are shorter. */
export const OPEN_BODY_BYTES_MAX = SMALL_BODY_BYTES;
const HELD_BYTES_MAX = 128 * 1024 * 1024;
/** A quarter of what its namespace has: no key uses that up alone. */
const SELF_PART = 0.1;
/** Of one caller of the whole installation, which counts for no namespace. */
const INSTALLATION_PART = 0.4;
/** For callers of the whole installation. */
const KEPT_PART = 0.1;
const REST_MS_MAX = 1_000;
const WAIT_MS = 5_000;
const WAITING_MAX = 2_000;
const WAITING_MAX_EACH = 400;
const RETRY_AFTER_SECONDS = 2;
const ADVICE = `try again in ${RETRY_AFTER_SECONDS} seconds, with fewer at the same time`;
const REMEMBERED_MAX = 10_000;

/** The bytes of one body. */
export interface Held {
  /** So many more have arrived. Throws a refusal when there is no room for them. */
  add(bytes: number): void;
  /** Nothing of it is kept any more. */
  release(): void;
}

interface Waiting {
  readonly who: Claimant;
  readonly admit: () => void;
  readonly callOff: () => void;
}

export class LargeBodies {
  readonly #clock: Pick<Clock, 'timer' | 'monotonic'>;
  readonly #bodyBytesMax: number;
  readonly #heldBy = new Map<string, number>();
  #held = 0;
  readonly #waiting = new Set<Waiting>();
  readonly #waitingOf = new Map<string, number>();
  /** When each was served last, as a number that grows. */
  readonly #servedAt = new Cache<string, number>({ entriesMax: REMEMBERED_MAX });
  #serves = 0;
  #isBusy = false;

  /** bodyBytesMax: each caller may send one of this length. */
  constructor({ clock, bodyBytesMax }: { clock: Pick<Clock, 'timer' | 'monotonic'>; bodyBytesMax: number }) {
    this.#clock = clock;
    this.#bodyBytesMax = bodyBytesMax;
  }

  hold(who: Claimant): Held {
    let held = 0;
    return {
      add: (bytes) => {
        this.#requireRoom(who, bytes);
        held += bytes;
        this.#count(who, bytes);
      },
      release: () => {
        this.#count(who, -held);
        held = 0;
      },
    };
  }

  /** Resolves when it is the caller's turn. The work that follows at once, before the event loop goes on, is what is counted. */
  turn(who: Claimant): Promise<void> {
    if (this.#waiting.size >= WAITING_MAX) return Promise.reject(overloaded());
    const full = namesOf(who).find((name) => (this.#waitingOf.get(name) ?? 0) >= WAITING_MAX_EACH);
    if (full !== undefined) return Promise.reject(rateLimited(who.shares.at(-1) ?? who));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = {
      who,
      admit: resolve,
      callOff: this.#clock.timer(WAIT_MS, () => {
        this.#remove(waiting);
        reject(overloaded());
      }),
    };
    this.#waiting.add(waiting);
    for (const name of namesOf(who)) add(this.#waitingOf, name, 1);
    this.#admitNext();
    return promise;
  }

  #admitNext(): void {
    const next = this.#isBusy ? undefined : this.#next();
    if (!next) return;
    this.#remove(next);
    next.callOff();
    this.#serves += 1;
    for (const name of namesOf(next.who)) this.#servedAt.set(name, this.#serves);
    this.#isBusy = true;
    const startedAt = this.#clock.monotonic();
    next.admit();
    // What follows its turn is done before anything else of the event loop is.
    setImmediate(() => this.#rest(this.#clock.monotonic() - startedAt));
  }

  /** The first to come of those that were served least recently, by whichever of their names that was latest. */
  #next(): Waiting | undefined {
    let best: { readonly waiting: Waiting; readonly servedAt: number; readonly selfAt: number } | undefined;
    for (const waiting of this.#waiting) {
      const [selfAt = 0, ...others] = namesOf(waiting.who).map((name) => this.#servedAt.get(name) ?? 0);
      const servedAt = Math.max(selfAt, ...others);
      if (!best || servedAt < best.servedAt || (servedAt === best.servedAt && selfAt < best.selfAt))
        best = { waiting, servedAt, selfAt };
    }
    return best?.waiting;
  }

  #rest(tookMs: number): void {
    this.#clock.timer(Math.min(tookMs, REST_MS_MAX), () => {
      this.#isBusy = false;
      this.#admitNext();
    });
  }

  #remove(waiting: Waiting): void {
    if (this.#waiting.delete(waiting))
      for (const name of namesOf(waiting.who)) add(this.#waitingOf, name, -1);
  }

  #requireRoom(who: Claimant, bytes: number): void {
    const held = (of: string) => (this.#heldBy.get(of) ?? 0) + bytes;
    const full = who.shares.find(({ of, part }) => held(of) > HELD_BYTES_MAX * part);
    if (full) throw rateLimited(full);
    const selfPart = HELD_BYTES_MAX * (who.mayUseKept ? INSTALLATION_PART : SELF_PART);
    if (held(who.of) > Math.max(selfPart, this.#bodyBytesMax)) throw rateLimited(who);
    const kept = who.mayUseKept ? 0 : HELD_BYTES_MAX * KEPT_PART;
    if (this.#held + bytes > HELD_BYTES_MAX - kept) throw overloaded();
  }

  #count(who: Claimant, bytes: number): void {
    this.#held += bytes;
    for (const name of namesOf(who)) add(this.#heldBy, name, bytes);
  }
}

function namesOf({ of, shares }: Claimant): string[] {
  return [of, ...shares.map((share) => share.of)];
}

function add(counts: Map<string, number>, name: string, change: number): void {
  const count = (counts.get(name) ?? 0) + change;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}

function rateLimited({ words }: Pick<Claimant, 'words'>): Refusal {
  return refused('rate_limited', `Too many large requests ${words} are under way; ${ADVICE}.`);
}

function overloaded(): Refusal {
  return refused('overloaded', `Too many large requests are under way; ${ADVICE}.`);
}

function refused(code: 'rate_limited' | 'overloaded', message: string): Refusal {
  return new Refusal(code, message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

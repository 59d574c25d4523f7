/**
 * Bodies that take the process a while to parse and to judge: longer than most, compressed, or of many jobs. They are read one at a time,
 * the groups of callers (mostly namespaces) by turns, and after each the process does other things for as long as it took: whoever sends
 * very many of them delays others by a fraction of a second. What they may hold of the memory at the same time is bounded.
 */
import { Refusal } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { Claiming } from '../shared-limit/fair-turns.ts';

/** Up to here a body is read as it comes, and held without being counted. */
export const SMALL_BODY_BYTES = 8 * 1024;
/** What strangers may send: the name and the password of somebody who signs in are shorter. */
export const OPEN_BODY_BYTES_MAX = SMALL_BODY_BYTES;
const HELD_BYTES_MAX = 128 * 1024 * 1024;
const GROUP_PART = 0.4;
const REST_MS_MAX = 100;
const WAIT_MS = 5_000;
const RETRY_AFTER_SECONDS = 2;
const ADVICE = `try again in ${RETRY_AFTER_SECONDS} seconds, with fewer at the same time`;

interface Waiting {
  readonly admit: () => void;
  readonly callOff: () => void;
}

export class LargeBodies {
  readonly #clock: Pick<Clock, 'timer' | 'monotonic'>;
  readonly #heldBy = new Map<string, number>();
  #held = 0;
  /** By group and by caller; whoever was served stands behind the others. */
  readonly #groups = new Map<string, Map<string, Set<Waiting>>>();
  #isBusy = false;

  constructor(clock: Pick<Clock, 'timer' | 'monotonic'>) {
    this.#clock = clock;
  }

  /** Counts a body that arrives. Answers how to let go of it, which counts once. */
  hold({ group }: Pick<Claiming, 'group'>, bytes: number): () => void {
    const ofGroup = this.#heldBy.get(group) ?? 0;
    if (ofGroup + bytes > HELD_BYTES_MAX * GROUP_PART)
      throw refused('rate_limited', `Too many large requests ${group} arrive at once; ${ADVICE}.`);
    if (this.#held + bytes > HELD_BYTES_MAX)
      throw refused('overloaded', `Too many large requests arrive at once; ${ADVICE}.`);
    this.#count(group, bytes);
    let isHeld = true;
    return () => {
      if (isHeld) this.#count(group, -bytes);
      isHeld = false;
    };
  }

  /** Resolves when it is the caller's turn. The work that follows at once, before the event loop goes on, is what is counted. */
  turn({ group, caller }: Claiming): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = {
      admit: resolve,
      callOff: this.#clock.timer(WAIT_MS, () => {
        this.#forget({ group, caller }, waiting);
        const isAlone = this.#groups.size === 0 || (this.#groups.size === 1 && this.#groups.has(group));
        reject(
          isAlone
            ? refused('rate_limited', `Too many large requests ${group} are under way; ${ADVICE}.`)
            : refused('overloaded', `Too many large requests are under way; ${ADVICE}.`),
        );
      }),
    };
    const callers = this.#groups.get(group) ?? new Map<string, Set<Waiting>>();
    const own = callers.get(caller) ?? new Set<Waiting>();
    this.#groups.set(group, callers.set(caller, own.add(waiting)));
    this.#admitNext();
    return promise;
  }

  #admitNext(): void {
    if (this.#isBusy) return;
    const [group, callers] = first(this.#groups);
    const [caller, own] = first(callers);
    const [waiting] = own ?? [];
    if (!waiting) return;
    this.#forget({ group: group!, caller: caller! }, waiting);
    waiting.callOff();
    if (own!.size > 0) toEnd(callers!, caller!);
    if (callers!.size > 0) toEnd(this.#groups, group!);
    this.#isBusy = true;
    const startedAt = this.#clock.monotonic();
    waiting.admit();
    // What follows its turn is done before anything else of the event loop is.
    setImmediate(() => this.#rest(this.#clock.monotonic() - startedAt));
  }

  #rest(tookMs: number): void {
    this.#clock.timer(Math.min(tookMs, REST_MS_MAX), () => {
      this.#isBusy = false;
      this.#admitNext();
    });
  }

  #forget({ group, caller }: Claiming, waiting: Waiting): void {
    const callers = this.#groups.get(group);
    const own = callers?.get(caller);
    own?.delete(waiting);
    if (own?.size === 0) callers!.delete(caller);
    if (callers?.size === 0) this.#groups.delete(group);
  }

  #count(group: string, bytes: number): void {
    this.#held += bytes;
    const ofGroup = (this.#heldBy.get(group) ?? 0) + bytes;
    if (ofGroup > 0) this.#heldBy.set(group, ofGroup);
    else this.#heldBy.delete(group);
  }
}

function first<Value>(map: ReadonlyMap<string, Value> | undefined): readonly [string?, Value?] {
  for (const entry of map ?? []) return entry;
  return [];
}

function toEnd<Value>(map: Map<string, Value>, key: string): void {
  const value = map.get(key)!;
  map.delete(key);
  map.set(key, value);
}

function refused(code: 'rate_limited' | 'overloaded', message: string): Refusal {
  return new Refusal(code, message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/**
 * Throttles password guessing: attempts are counted over all servers, and past a limit no password is compared until the
 * window ends. Attempts on one name from many addresses count together, but never against an address that the user has
 * signed in from, so nobody can lock a user out there. Unknown names are counted the same, without known addresses, so the
 * answer reveals nothing.
 */
import { Refusal } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import { type Count, type Counters, windowStart } from '../counters/counters.ts';
import type { AccountStore } from '../storage/account-store.ts';
import { addressGroup } from './address-group.ts';
import { hashSecret } from './secrets.ts';

const MINUTE_MS = 60_000;

/** The shorter window slows, the longer one limits. Many users may share an address; a name is one user. */
const LIMITS = [
  { of: 'nameFromAddress', windowMs: MINUTE_MS, attemptsMax: 5 },
  { of: 'nameFromAddress', windowMs: 15 * MINUTE_MS, attemptsMax: 20 },
  { of: 'name', windowMs: MINUTE_MS, attemptsMax: 10 },
  { of: 'name', windowMs: 15 * MINUTE_MS, attemptsMax: 40 },
  { of: 'address', windowMs: MINUTE_MS, attemptsMax: 30 },
  { of: 'address', windowMs: 15 * MINUTE_MS, attemptsMax: 150 },
] as const;

/** What an attempt was one too many for. Later attempts of the same window are refused without being told again. */
export interface ReachedLimit {
  readonly countedPer: readonly (typeof LIMITS)[number]['of'][];
  readonly untilMs: number;
}

export interface SignInAttempt {
  readonly name: string;
  readonly address: string | undefined;
}

export class SignInGuard {
  readonly #counters: Pick<Counters, 'add'>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #store: Pick<AccountStore, 'hasSignedInFrom'>;

  constructor(options: {
    counters: Pick<Counters, 'add'>;
    clock: Pick<Clock, 'now'>;
    store: Pick<AccountStore, 'hasSignedInFrom'>;
  }) {
    this.#counters = options.counters;
    this.#clock = options.clock;
    this.#store = options.store;
  }

  /** Counts before the password is compared: concurrent attempts count like sequential ones. onReached: once for each limit and window. */
  async begin(
    attempt: SignInAttempt,
    onReached: (limit: ReachedLimit) => Promise<void> = async () => {},
  ): Promise<{ succeeded(): Promise<void> }> {
    const nowMs = this.#clock.now();
    const counts = countsOf(attempt, nowMs);
    const totals = await this.#counters.add(counts);
    const over = LIMITS.filter(({ attemptsMax }, i) => totals[i]! > attemptsMax);
    const endOf = (windowMs: number) => windowStart({ atMs: nowMs, windowMs }) + windowMs;
    const reached = LIMITS.filter(({ attemptsMax }, i) => totals[i] === attemptsMax + 1);
    // An address that was told of is told of no more, whatever names it goes on to try.
    const isToldOf = LIMITS.some(
      ({ of, attemptsMax }, i) => of === 'address' && totals[i]! > attemptsMax + 1,
    );
    if (reached.length > 0 && !isToldOf) {
      const untilMs = Math.max(...reached.map(({ windowMs }) => endOf(windowMs)));
      await onReached({ countedPer: [...new Set(reached.map(({ of }) => of))], untilMs });
    }
    if (
      over.length > 0 &&
      !(over.every(({ of }) => of === 'name') && (await this.#isKnownAddress(attempt)))
    ) {
      const ends = over.map(({ windowMs }) => endOf(windowMs));
      const retryAfterSeconds = Math.max(1, Math.ceil((Math.max(...ends) - nowMs) / 1_000));
      const message = `There were too many attempts to sign in; wait ${retryAfterSeconds} seconds.`;
      throw new Refusal('rate_limited', message, { retryAfterSeconds });
    }
    return {
      // A correct password is no guess.
      succeeded: async () => {
        await this.#counters.add(counts.map((count) => ({ ...count, add: -1 })));
      },
    };
  }

  async #isKnownAddress({ name, address }: SignInAttempt): Promise<boolean> {
    return address !== undefined && (await this.#store.hasSignedInFrom(name, addressGroup(address)));
  }
}

/** Names are hashed: sometimes a password is typed into the wrong field. */
function countsOf(attempt: SignInAttempt, atMs: number): Count[] {
  const [name, address] = [hashSecret(attempt.name).slice(0, 32), addressGroup(attempt.address)];
  const subjects = { name, address, nameFromAddress: `${name}/${address}` };
  return LIMITS.map(({ of, windowMs }) => ({
    ...{ name: `sign-in/${of}/${subjects[of]}`, windowMs },
    atMs,
    add: 1,
  }));
}

/**
 * Slows down whoever guesses passwords: tries are counted over all servers, and past a limit nothing is even compared until
 * the window ends. Guesses of one name from many addresses count together, but never against an address that the person has
 * signed in from: nobody can lock them out where they are at home. Names that nobody has are counted the same, and no address
 * is known for them, so the answer tells nothing.
 */
import { Refusal } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import { type Count, type Counters, windowStart } from '../../counters/counters.ts';
import type { AccountStore } from '../../storage/account-store.ts';
import { addressGroup } from './address-group.ts';
import { hashSecret } from './secrets.ts';

const MINUTE_MS = 60_000;

/** The shorter window slows, the longer one limits. An address may stand for an office, a name stands for one person. */
const LIMITS = [
  { of: 'nameFromAddress', windowMs: MINUTE_MS, triesMax: 5 },
  { of: 'nameFromAddress', windowMs: 15 * MINUTE_MS, triesMax: 20 },
  { of: 'name', windowMs: MINUTE_MS, triesMax: 10 },
  { of: 'name', windowMs: 15 * MINUTE_MS, triesMax: 40 },
  { of: 'address', windowMs: MINUTE_MS, triesMax: 30 },
  { of: 'address', windowMs: 15 * MINUTE_MS, triesMax: 150 },
] as const;

export interface SignInTry {
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

  /** Counts before anything is compared: many guesses sent at once are counted like those sent one by one. */
  async begin(attempt: SignInTry): Promise<{ succeeded(): Promise<void> }> {
    const nowMs = this.#clock.now();
    const counts = countsOf(attempt, nowMs);
    const totals = await this.#counters.add(counts);
    const over = LIMITS.filter(({ triesMax }, i) => totals[i]! > triesMax);
    if (over.length > 0 && !(over.every(({ of }) => of === 'name') && (await this.#isAtHome(attempt)))) {
      const ends = over.map(({ windowMs }) => windowStart({ atMs: nowMs, windowMs }) + windowMs);
      const retryAfterSeconds = Math.max(1, Math.ceil((Math.max(...ends) - nowMs) / 1_000));
      const message = `There were too many attempts to sign in; wait ${retryAfterSeconds} seconds.`;
      throw new Refusal('rate_limited', message, { retryAfterSeconds });
    }
    return {
      // Whoever knows the password is not guessing.
      succeeded: async () => {
        await this.#counters.add(counts.map((count) => ({ ...count, add: -1 })));
      },
    };
  }

  async #isAtHome({ name, address }: SignInTry): Promise<boolean> {
    return address !== undefined && (await this.#store.hasSignedInFrom(name, addressGroup(address)));
  }
}

/** Names are hashed: now and then somebody types a password there. */
function countsOf(attempt: SignInTry, atMs: number): Count[] {
  const [name, address] = [hashSecret(attempt.name).slice(0, 32), addressGroup(attempt.address)];
  const subjects = { name, address, nameFromAddress: `${name}/${address}` };
  return LIMITS.map(({ of, windowMs }) => ({
    ...{ name: `sign-in/${of}/${subjects[of]}`, windowMs },
    atMs,
    add: 1,
  }));
}

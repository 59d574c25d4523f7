/**
 * Slows down whoever guesses passwords: tries are counted per name and per address, over all servers, and past a limit
 * nothing is even compared until the window ends. Names that nobody has are counted the same, so the answer tells nothing.
 */
import { Refusal } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import { type Count, type Counters, windowStart } from '../../counters/counters.ts';
import { addressGroup } from './address-group.ts';
import { hashSecret } from './secrets.ts';

const MINUTE_MS = 60_000;

/** The first number slows, the second limits. An address may stand for an office, a name stands for one person. */
const LIMITS = [
  { of: 'name', windowMs: MINUTE_MS, triesMax: 5 },
  { of: 'name', windowMs: 15 * MINUTE_MS, triesMax: 20 },
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

  constructor(options: { counters: Pick<Counters, 'add'>; clock: Pick<Clock, 'now'> }) {
    this.#counters = options.counters;
    this.#clock = options.clock;
  }

  /** Counts before anything is compared: many guesses sent at once are counted like those sent one by one. */
  async begin(attempt: SignInTry): Promise<{ succeeded(): Promise<void> }> {
    const nowMs = this.#clock.now();
    const counts = countsOf(attempt, nowMs);
    const totals = await this.#counters.add(counts);
    const over = LIMITS.filter(({ triesMax }, i) => totals[i]! > triesMax);
    if (over.length > 0) {
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
}

/** Names are hashed: now and then somebody types a password there. */
function countsOf({ name, address }: SignInTry, atMs: number): Count[] {
  const subjects = { name: hashSecret(name).slice(0, 32), address: addressGroup(address) };
  return LIMITS.map(({ of, windowMs }) => ({
    ...{ name: `sign-in/${of}/${subjects[of]}`, windowMs },
    atMs,
    add: 1,
  }));
}

/**
 * How many unknown keys and sessions an address may have looked up: each costs the storage a query, and anybody can send any number
 * of them. The budget is that of this server alone, so that counting costs no query either. What is valid is looked up in any case:
 * whoever guesses keeps nobody out who shares the address.
 */
import { Cache, Refusal } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import { addressGroup } from './address-group.ts';

export const FAILURES_MAX = 30;
const FAILURES_PER_SECOND = 0.5;
const ADDRESSES_MAX = 50_000;
const VALID_MAX = 50_000;
const VALID_MS = 24 * 3_600_000;

interface Bucket {
  left: number;
  filledAtMs: number;
}

export class FailureBudget {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #buckets = new Cache<string, Bucket>({ entriesMax: ADDRESSES_MAX });
  readonly #valid: Cache<string, true>;
  readonly #isValid: (name: string) => Promise<boolean>;

  /** isValid: asked only for what comes from an address whose budget is used up. */
  constructor({
    clock,
    isValid,
  }: {
    clock: Pick<Clock, 'monotonic'>;
    isValid: (name: string) => Promise<boolean>;
  }) {
    this.#clock = clock;
    this.#isValid = isValid;
    this.#valid = new Cache({ entriesMax: VALID_MAX, expiry: { ttlMs: VALID_MS, clock } });
  }

  /** Takes from the budget before the query, so that concurrent ones count too; what is found gives it back. */
  async spend<T>(
    { name, address }: { name: string; address: string | undefined },
    find: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    if (this.#valid.get(name)) return find();
    const bucket = this.#bucketOf(address);
    if (bucket.left < 1) {
      if (await this.#isValid(name)) return find();
      const retryAfterSeconds = Math.max(1, Math.ceil((1 - bucket.left) / FAILURES_PER_SECOND));
      const message = `Too many unknown keys or sessions came from this address; wait ${retryAfterSeconds} seconds.`;
      throw new Refusal('rate_limited', message, { retryAfterSeconds });
    }
    bucket.left -= 1;
    let isFailure = false;
    try {
      const found = await find();
      isFailure = found === undefined;
      if (found !== undefined) this.#valid.set(name, true);
      return found;
    } finally {
      if (!isFailure) bucket.left += 1;
    }
  }

  #bucketOf(address: string | undefined): Bucket {
    const nowMs = this.#clock.monotonic();
    const fresh = () => ({ left: FAILURES_MAX, filledAtMs: nowMs });
    const bucket = this.#buckets.getOrCompute(addressGroup(address), fresh);
    const filled = bucket.left + ((nowMs - bucket.filledAtMs) / 1_000) * FAILURES_PER_SECOND;
    bucket.left = Math.min(FAILURES_MAX, filled);
    bucket.filledAtMs = nowMs;
    return bucket;
  }
}

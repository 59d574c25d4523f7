/**
 * Rate limits: each user (with all their keys), key of nobody and address has a token bucket that fills steadily and holds a burst. Requests are counted
 * here, without a round trip; about once a second servers exchange their counts through the counters, and take the counts of
 * the others off their own buckets. While the counters are unavailable every server limits alone.
 */
import { Cache, type Caller, callerKey, Refusal } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import { addressGroup } from '../accounts/address-group.ts';
import { type Counters, windowStart } from '../counters/counters.ts';

export interface RateLimitSettings {
  /** Requests per second of one user, with whatever they came, or of one key of nobody; 0: no limit. */
  readonly perCaller: number;
  /** Of one address, whoever calls from there; 0: no limit. */
  readonly perAddress: number;
  /** How many seconds' worth of requests may come at once. */
  readonly burstSeconds: number;
}

export interface RequestLimitsOptions {
  readonly settings: RateLimitSettings;
  readonly counters: Counters;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Bucket {
  readonly rate: number;
  /** Negative when other servers used more than was left. */
  tokens: number;
  filledAtMs: number;
  /** Counted here and not reported to the others yet. */
  unreported: number;
  /** What all servers had used in the window at the last report. */
  reported: { readonly windowMs: number; readonly total: number; readonly atMs: number } | undefined;
}

type LimitedCaller = Pick<Caller, 'kind' | 'id' | 'userId'>;

const EXCHANGE_MS = 1_000;
const WINDOW_MS = 60_000;
/** Anybody can send from many addresses: the number of buckets is bounded, and the oldest are dropped. */
const BUCKETS_MAX = 50_000;
const REPORTED_AT_ONCE_MAX = 5_000;

export interface Allowance {
  /** Requests that may come at once. */
  readonly limit: number;
  readonly remaining: number;
  /** Until the bucket is full again. */
  readonly resetSeconds: number;
}

export function allowanceHeaders({ limit, remaining, resetSeconds }: Allowance) {
  return {
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetSeconds),
  };
}

export class RateLimited extends Refusal {
  /** Requests that may come at once. */
  readonly limit: number;

  constructor(limit: number, retryAfterSeconds: number) {
    const message = `Too many requests; wait ${retryAfterSeconds} ${retryAfterSeconds === 1 ? 'second' : 'seconds'}.`;
    super('rate_limited', message, { retryAfterSeconds });
    this.limit = limit;
  }
}

export class RequestLimits implements Service {
  readonly #options: RequestLimitsOptions;
  readonly #buckets = new Cache<string, Bucket>({ entriesMax: BUCKETS_MAX });
  readonly #loop: Loop;
  #alone = false;

  constructor(options: RequestLimitsOptions) {
    this.#options = options;
    const { clock, random, log } = options;
    this.#loop = new Loop({
      ...{ name: 'request limits', clock, random, log },
      idleMs: EXCHANGE_MS,
      runOnce: () => this.runOnce(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  admitAddress(address: string): void {
    const { perAddress } = this.#options.settings;
    if (perAddress > 0) this.#take(`requests/address/${addressGroup(address)}`, { rate: perAddress });
  }

  admitCaller(caller: LimitedCaller): void {
    const { perCaller } = this.#options.settings;
    if (perCaller > 0) this.#take(bucketOf(caller), { rate: perCaller });
  }

  /**
   * One request that does as much as so many: it may leave a debt, which is paid off before the next one is admitted. Refused while
   * there is one, so that many sent at once do not each get through.
   */
  chargeCaller(caller: LimitedCaller, items: number): void {
    const { perCaller } = this.#options.settings;
    // The request itself was counted when it came.
    if (perCaller > 0 && items > 1)
      this.#take(bucketOf(caller), { rate: perCaller, least: 0, count: items - 1 });
  }

  /** Undefined: the caller has no limit. */
  allowanceOf(caller: LimitedCaller): Allowance | undefined {
    const bucket = this.#buckets.get(bucketOf(caller));
    if (!bucket) return undefined;
    const limit = this.#burst(bucket.rate);
    const resetSeconds = Math.ceil((limit - bucket.tokens) / bucket.rate);
    return { limit, remaining: Math.max(0, Math.floor(bucket.tokens)), resetSeconds };
  }

  /** Reports what was counted, applies what others counted, and drops buckets that are full again. */
  async runOnce(): Promise<undefined> {
    const { counters, clock, log } = this.#options;
    const reports: { name: string; bucket: Bucket; add: number }[] = [];
    for (const [name, bucket] of this.#buckets.entries()) {
      if (bucket.unreported > 0 && reports.length < REPORTED_AT_ONCE_MAX) {
        reports.push({ name, bucket, add: bucket.unreported });
      } else if (bucket.unreported === 0 && this.#fill(bucket) >= this.#burst(bucket.rate)) {
        this.#buckets.delete(name);
      }
    }
    if (reports.length === 0) return undefined;
    const atMs = clock.now();
    const counts = reports.map(({ name, add }) => ({ name, add, atMs, windowMs: WINDOW_MS }));
    for (const { bucket } of reports) bucket.unreported = 0;
    try {
      const totals = await counters.add(counts);
      for (const [i, { bucket, add }] of reports.entries()) {
        this.#applyTotal(bucket, { add, total: totals[i]!, atMs });
      }
      this.#alone = false;
    } catch (error) {
      // A failed report is not repeated: it would count in the wrong window.
      if (!this.#alone) log.warn({ err: error }, 'requests are limited by this server alone');
      this.#alone = true;
    }
    return undefined;
  }

  /** least: what must be there for as many as count to be taken. */
  #take(
    name: string,
    { rate, least = 1, count = 1 }: { rate: number; least?: number; count?: number },
  ): void {
    const bucket = this.#buckets.getOrCompute(name, () => this.#newBucket(rate));
    const tokens = this.#fill(bucket);
    if (tokens < least) throw new RateLimited(this.#burst(rate), Math.max(1, Math.ceil((1 - tokens) / rate)));
    bucket.tokens = tokens - count;
    bucket.unreported += count;
  }

  #newBucket(rate: number): Bucket {
    const filledAtMs = this.#options.clock.monotonic();
    return { rate, tokens: this.#burst(rate), filledAtMs, unreported: 0, reported: undefined };
  }

  #fill(bucket: Bucket): number {
    const nowMs = this.#options.clock.monotonic();
    const filled = bucket.tokens + ((nowMs - bucket.filledAtMs) / 1_000) * bucket.rate;
    bucket.tokens = Math.min(this.#burst(bucket.rate), filled);
    bucket.filledAtMs = nowMs;
    return bucket.tokens;
  }

  /** Subtracts what others used since the last report; without a recent one there is nothing to compare with. */
  #applyTotal(bucket: Bucket, { add, total, atMs }: { add: number; total: number; atMs: number }): void {
    const windowMs = windowStart({ atMs, windowMs: WINDOW_MS });
    const { reported } = bucket;
    if (reported && atMs - reported.atMs < 3 * EXCHANGE_MS) {
      const before = reported.windowMs === windowMs ? reported.total : 0;
      const others = Math.max(0, total - before - add);
      // What others used leaves a debt of a burst at most; what was charged here is owed in full.
      const debt = Math.max(-this.#burst(bucket.rate), bucket.tokens - others);
      bucket.tokens = Math.min(bucket.tokens, debt);
    }
    bucket.reported = { windowMs, total, atMs };
  }

  #burst(rate: number): number {
    return rate * this.#options.settings.burstSeconds;
  }
}

function bucketOf(caller: LimitedCaller): string {
  return `requests/${callerKey(caller)}`;
}

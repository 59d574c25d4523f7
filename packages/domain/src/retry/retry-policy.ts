/** How a failed attempt is tried again. maxRetries counts tries after the first: 3 means at most four attempts. */
export interface RetryPolicy {
  readonly strategy: 'none' | 'fixed' | 'exponential';
  readonly maxRetries: number;
  readonly delayMs: number;
  readonly delayMsMax: number;
  /** Spread each delay over [delay / 2, delay], so that a herd that failed together does not return together. */
  readonly jitter: boolean;
  /** No attempt starts later than this after the occurrence became due. Undefined: no deadline. */
  readonly deadlineMs: number | undefined;
}

export const DEFAULT_RETRY: RetryPolicy = {
  strategy: 'exponential',
  maxRetries: 3,
  delayMs: 1_000,
  delayMsMax: 5 * 60_000,
  jitter: true,
  deadlineMs: undefined,
};

export const RETRIES_MAX = 100;

/** The pause before the attempt after `failures` failed ones; `random` in [0, 1). */
export function retryDelayMs(policy: RetryPolicy, failures: number, random: number): number {
  const growth = policy.strategy === 'exponential' ? 2 ** Math.min(failures - 1, 40) : 1;
  const full = Math.min(policy.delayMs * growth, policy.delayMsMax);
  return Math.round(policy.jitter ? full / 2 + (full / 2) * random : full);
}

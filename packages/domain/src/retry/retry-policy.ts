/** Retries: what a job may say of them, and how long the pause before each is. */
import { defaultsOf, flag, keptAs, seconds, type ValuesOf, word } from '../job/field-kinds.ts';

const DAY_SECONDS = 86_400;

/** What a job may say of its retries, besides how many there are. */
export const RETRY_FIELDS = {
  strategy: word(['none', 'fixed', 'exponential'], {
    fallback: 'exponential',
    about: 'How delays grow from one attempt to the next.',
  }),
  delay_seconds: seconds({ min: 0, max: DAY_SECONDS, fallback: 1_000, about: 'The first delay.' }),
  max_delay_seconds: keptAs(
    'delayMsMax',
    seconds({ min: 0, max: 7 * DAY_SECONDS, fallback: 5 * 60_000, about: 'The longest delay.' }),
  ),
  jitter: flag({
    fallback: true,
    about: 'Spreads each delay over its second half, so that what failed together does not return together.',
  }),
  deadline_seconds: seconds({
    min: 0.001,
    max: 31 * DAY_SECONDS,
    about: 'No attempt starts later than this after the occurrence became due.',
  }),
};

/** How a failed attempt is tried again. maxRetries counts tries after the first: 3 means at most four attempts. */
export interface RetryPolicy extends ValuesOf<typeof RETRY_FIELDS> {
  readonly maxRetries: number;
}

export const DEFAULT_RETRY: RetryPolicy = { ...defaultsOf(RETRY_FIELDS), maxRetries: 3 };

export const RETRIES_MAX = 100;

/** The pause before the attempt after `failures` failed ones; `random` in [0, 1). */
export function retryDelayMs(policy: RetryPolicy, failures: number, random: number): number {
  const growth = policy.strategy === 'exponential' ? 2 ** Math.min(failures - 1, 40) : 1;
  const full = Math.min(policy.delayMs * growth, policy.delayMsMax);
  return Math.round(policy.jitter ? full / 2 + (full / 2) * random : full);
}

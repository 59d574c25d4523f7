/**
 * Keys that sign the requests of http jobs, so that receivers can tell them from forgeries. A namespace has its own; while several
 * are in use every request carries a signature of each, so receivers can move from one to the next.
 */
export interface SigningKey {
  readonly signingKeyId: string;
  readonly namespace: string;
  readonly createdAtMs: number;
  /** It signs from then on. */
  readonly startsAtMs: number;
  /** It signs until then. Undefined: until it is removed. */
  readonly endsAtMs: number | undefined;
}

/** Each adds a signature to every request. */
export const SIGNING_KEYS_MAX = 5;
/** A key that is to be replaced should not go on for ever. */
export const OVERLAP_SECONDS_MAX = 90 * 24 * 3_600;
const SECRET_PREFIX = 'whsec_';

export function signsAt(
  { startsAtMs, endsAtMs = Number.POSITIVE_INFINITY }: SigningKey,
  nowMs: number,
): boolean {
  return startsAtMs <= nowMs && nowMs < endsAtMs;
}

/** As receivers are given it; the prefix is that of Standard Webhooks, whose libraries read it. */
export function signingSecretText(base64: string): string {
  return `${SECRET_PREFIX}${base64}`;
}

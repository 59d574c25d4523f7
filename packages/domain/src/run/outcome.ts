/**
 * How an attempt ended, as a value: a user job's failure is never a throw inside the engine. LOST and RETURNED are the
 * engine's own: the worker fell silent, or gave the run back unrun or unfinished (shutdown, message lost). A result is JSON
 * text: it is kept as it came, and only those who show it read it.
 */

export type RunOutcome =
  | { readonly kind: 'SUCCESS'; readonly result?: string }
  | {
      readonly kind: 'FAILED';
      readonly error: string;
      /** false: trying again cannot help (a 4xx answer, an undecodable payload). */
      readonly retryable: boolean;
      /** The other side asked for a pause (Retry-After). */
      readonly retryAfterMs?: number;
      readonly result?: string;
    }
  | { readonly kind: 'TIMED_OUT'; readonly error: string }
  | { readonly kind: 'CANCELLED'; readonly error?: string }
  | {
      readonly kind: 'LOST';
      readonly error: string;
      /** The most workers that any other run on board had lost before; left out when it was alone. */
      readonly othersCrashes?: number;
    }
  | { readonly kind: 'RETURNED'; readonly error: string };

export const ERROR_LENGTH_MAX = 4_000;
export const RESULT_BYTES_MAX = 64 * 1024;

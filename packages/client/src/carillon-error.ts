/**
 * The one error of this client. `code` is the server's own (see docs/errors.md), or one of ours when no server answered.
 * `fix` says what to do about it.
 */
import type { ErrorCode } from './generated/types.ts';

/** What this client itself reports. */
export type ClientErrorCode = 'unreachable' | 'timed_out' | 'answer_unreadable' | 'url_invalid';

/** All codes that this version knows. A newer server may answer others, so keep a branch for the rest. */
export type CarillonErrorCode = ErrorCode | ClientErrorCode;

export interface CarillonErrorFacts {
  readonly code: string;
  readonly message: string;
  readonly fix?: string | undefined;
  readonly field?: string | undefined;
  /** Of the HTTP answer; undefined when there was none. */
  readonly status?: number | undefined;
  /** Finds the request in the log of the server. */
  readonly requestId?: string | undefined;
  /** When the server said so: not before this has passed. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

export class CarillonError extends Error {
  readonly code: CarillonErrorCode;
  readonly fix: string | undefined;
  readonly field: string | undefined;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(facts: CarillonErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = 'CarillonError';
    this.code = facts.code as CarillonErrorCode;
    this.fix = facts.fix;
    this.field = facts.field;
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
  }

  /** From a problem document, or from whatever stood in its place. */
  static ofAnswer(response: Response, body: unknown): CarillonError {
    const problem = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
    const text = (name: string) => (typeof problem[name] === 'string' ? problem[name] : undefined);
    return new CarillonError({
      code: text('code') ?? 'answer_unreadable',
      message: text('detail') ?? `The server answered ${response.status} ${response.statusText}`.trimEnd(),
      fix: text('fix'),
      field: text('field'),
      status: response.status,
      requestId: text('request_id') ?? response.headers.get('x-request-id') ?? undefined,
      retryAfterMs: retryAfterMsOf(response.headers.get('retry-after')),
    });
  }
}

/** Whether something that was thrown is an error of this client; with codes: whether it has one of them. */
export function isCarillonError<Code extends CarillonErrorCode = CarillonErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is CarillonError & { readonly code: Code } {
  return error instanceof CarillonError && (codes.length === 0 || codes.some((code) => code === error.code));
}

/** Seconds, or a date. */
export function retryAfterMsOf(header: string | null): number | undefined {
  if (header === null || header.trim() === '') return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** What went wrong with a call, in words for the person who reads the run: what happened, and what to change. */
import { CALL_CAUSES, CALL_ERRORS } from '@carillon/domain';
import { HandlerError } from '../handler.ts';

/** Of the body of a refused request, so much is shown in the error; the result holds more. */
const EXCERPT_LENGTH = 200;
/** Busy, or not ready yet: worth another try, although the status is of the 4xx kind. */
const RETRYABLE_4XX = new Set([408, 409, 423, 425, 429]);

/** Masked: it is cut here. */
export interface RefusedAnswer {
  readonly status: number;
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

export function refusedAnswer(answer: RefusedAnswer, result: unknown): HandlerError {
  const retryAfterMs = parseRetryAfterMs(answer.retryAfter);
  return new HandlerError(`${CALL_ERRORS.answered} ${answer.status}${detailOf(answer)}`, {
    // Redirects are not followed, so one that answers with them will do so again.
    retryable: answer.status >= 500 || RETRYABLE_4XX.has(answer.status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    result,
  });
}

function detailOf({ status, location, body }: RefusedAnswer): string {
  if (location !== undefined && status >= 300 && status < 400) {
    return `: a redirect to ${excerptOf(location)}. ${CALL_ERRORS.redirected}`;
  }
  const excerpt = excerptOf(body);
  return excerpt === '' ? '' : `: ${excerpt}`;
}

/** The beginning, on one line, without what no terminal should get. */
function excerptOf(text: string): string {
  const line = text
    .slice(0, EXCERPT_LENGTH * 4)
    .replace(/[\s\p{C}\u{fffd}]+/gu, ' ')
    .trim();
  return line.length > EXCERPT_LENGTH ? `${line.slice(0, EXCERPT_LENGTH).trimEnd()}…` : line;
}

export function failedCall(what: string, error: NodeJS.ErrnoException): HandlerError {
  return new HandlerError(`${what} ${CALL_ERRORS.failed} ${causeOf(error)}`);
}

/** Why a call failed. The code of Node stands behind the words: people search for it. */
export function causeOf({ code = '', message }: NodeJS.ErrnoException): string {
  const words = CALL_CAUSES[code] ?? (code.startsWith('HPE_') ? 'the answer is not HTTP' : undefined);
  return words === undefined ? message || code : `${words} (${code})`;
}

/** Seconds, or a date. */
function parseRetryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, 24 * 3_600_000) : undefined;
}

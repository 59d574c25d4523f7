/** Turns what a handler answered or threw into an outcome, within the limits on what is kept. */
import { ERROR_LENGTH_MAX, RESULT_BYTES_MAX, type RunOutcome } from '@carillon/domain';
import { HandlerError } from './handler.ts';
import type { RunInProgress } from './run-in-progress.ts';

export function outcomeOfAnswer(run: RunInProgress, answer: unknown): RunOutcome {
  // A handler that finished although it was told to stop has finished: only a cancel overrules that, in the storage.
  if (run.stop?.reason === 'cancelled') return { kind: 'CANCELLED', error: run.stop.message };
  return answer === undefined ? SUCCESS : { kind: 'SUCCESS', ...resultOf(answer) };
}

export function outcomeOfError(run: RunInProgress, error: unknown): RunOutcome {
  if (run.stop) return outcomeOfStop(run.stop);
  const message = messageOf(error);
  if (!(error instanceof HandlerError)) return { kind: 'FAILED', error: message, retryable: true };
  return {
    kind: 'FAILED',
    error: message,
    retryable: error.retryable,
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    ...(error.result === undefined ? {} : resultOf(error.result)),
  };
}

export function outcomeOfStop(stop: NonNullable<RunInProgress['stop']>): RunOutcome {
  switch (stop.reason) {
    case 'cancelled':
      return { kind: 'CANCELLED', error: stop.message };
    case 'timed_out':
      return { kind: 'TIMED_OUT', error: stop.message };
    case 'returned':
      return { kind: 'RETURNED', error: stop.message };
  }
}

/** An outcome that was told by somebody who may not keep the limits. */
export function outcomeAsTold(outcome: RunOutcome): RunOutcome {
  if (outcome === SUCCESS) return outcome;
  const { error, result } = outcome as { error?: string; result?: string };
  return {
    ...outcome,
    ...(error !== undefined && {
      error: error.toWellFormed().replaceAll('\0', '').slice(0, ERROR_LENGTH_MAX),
    }),
    ...(result !== undefined && resultAsTold(result)),
  };
}

function resultAsTold(text: string): { result?: string } {
  try {
    return resultOf(JSON.parse(text));
  } catch {
    return noteOf(NOT_JSON);
  }
}

export const SUCCESS: RunOutcome = { kind: 'SUCCESS' };
const NOT_JSON = 'the result is not JSON and was not kept';

/** PostgreSQL's JSON holds neither NUL nor half a character; an escaped backslash before the letter u is neither. */
const NOT_STORABLE = /(\\\\)|\\u(?:0000|d[89a-f][0-9a-f]{2})/g;
const REPLACED = (_: string, backslash: string | undefined) => backslash ?? '\\ufffd';

/** As JSON text, without line breaks. */
function resultOf(value: unknown): { result?: string } {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    return noteOf(NOT_JSON);
  }
  // Functions and symbols have no JSON at all.
  if (text === undefined) return {};
  // Every UTF-16 unit takes one to three bytes: short texts need no counting.
  if (text.length * 3 > RESULT_BYTES_MAX && Buffer.byteLength(text) > RESULT_BYTES_MAX)
    return noteOf(`the result is larger than ${RESULT_BYTES_MAX} bytes and was not kept`);
  return { result: text.includes('\\u') ? text.replace(NOT_STORABLE, REPLACED) : text };
}

function noteOf(note: string): { result: string } {
  return { result: JSON.stringify({ note }) };
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${text}${cause}`.replaceAll('\0', '').slice(0, ERROR_LENGTH_MAX);
}

/** Turns what a handler answered or threw into an outcome, within the limits on what is kept. */
import {
  ERROR_LENGTH_MAX,
  hasStoredMark,
  RESULT_BYTES_MAX,
  RUN_ERRORS,
  type RunOutcome,
  type RunUsage,
  readStoredResult,
} from '@carillon/domain';
import { HandlerError } from './handler.ts';
import type { RunInProgress } from './run-in-progress.ts';
import type { SecretMask } from './secret-mask.ts';

/** While the trust is doubted a run is not held, and not stopped either: whoever obeys has neither done its work nor failed. */
const GIVEN_BACK: RunOutcome = { kind: 'RETURNED', error: RUN_ERRORS.notTrusted() };

export function outcomeOfAnswer(run: RunInProgress, answer: unknown): RunOutcome {
  // A handler that finished although it was told to stop has finished: only a cancel overrules that, in the storage.
  if (run.stop?.reason === 'cancelled') return { kind: 'CANCELLED', error: run.stop.message };
  if (!run.stop && run.isDenied) return GIVEN_BACK;
  if (answer === undefined) return SUCCESS;
  const { result } = resultOf(answer, run);
  return result === undefined ? SUCCESS : { kind: 'SUCCESS', result };
}

export function outcomeOfError(run: RunInProgress, error: unknown): RunOutcome {
  if (run.stop) return outcomeOfStop(run.stop);
  if (run.isDenied) return GIVEN_BACK;
  const message = messageOf(error, run.mask);
  if (!tellsWhetherToRetry(error)) return { kind: 'FAILED', error: message, retryable: true };
  return {
    kind: 'FAILED',
    error: message,
    retryable: error.retryable,
    ...pauseOf(error.retryAfterMs),
    ...(error.result === undefined ? {} : resultOf(error.result, run)),
  };
}

/** A handler may compute it, as from an instant that has passed. */
function pauseOf(retryAfterMs: unknown): { retryAfterMs?: number } {
  if (typeof retryAfterMs !== 'number' || Number.isNaN(retryAfterMs) || retryAfterMs <= 0) return {};
  return { retryAfterMs: Math.ceil(Math.min(retryAfterMs, Number.MAX_SAFE_INTEGER)) };
}

/** Of what a handler or a worker says: a number that cannot be one is not kept. Undefined: nothing is known. */
export function usageAsTold(told: RunUsage): RunUsage | undefined {
  const memory = sensible(told.peakMemoryBytes);
  const peakMemoryBytes = memory === undefined ? undefined : Math.round(memory);
  const cpuSeconds = sensible(told.cpuSeconds);
  return peakMemoryBytes === undefined && cpuSeconds === undefined
    ? undefined
    : { peakMemoryBytes, cpuSeconds };
}

function sensible(told: unknown): number | undefined {
  return typeof told === 'number' && told >= 0 && told <= Number.MAX_SAFE_INTEGER ? told : undefined;
}

/** By its members: a plugin may bring another copy of this package, or none. */
function tellsWhetherToRetry(error: unknown): error is HandlerError {
  return (
    error instanceof HandlerError ||
    (error instanceof Error && 'retryable' in error && typeof error.retryable === 'boolean')
  );
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
    return resultOf(JSON.parse(text), { mayBeStored: true });
  } catch {
    return noteOf(NOT_JSON);
  }
}

export const SUCCESS: RunOutcome = { kind: 'SUCCESS' };
const MARKED =
  'the result has a member $stored, which marks results that are stored elsewhere, and was not kept';
const NOT_JSON = 'the result is not JSON and was not kept';

/** PostgreSQL's JSON holds neither NUL nor half a character; an escaped backslash before the letter u is neither. */
const NOT_STORABLE = /(\\\\)|\\u(?:0000|d[89a-f][0-9a-f]{2})/g;
const REPLACED = (_: string, backslash: string | undefined) => backslash ?? '\\ufffd';

interface ResultLimits {
  readonly mask?: SecretMask | undefined;
  /** Larger ones are not kept; 0: those that fit into an outcome are. */
  readonly resultBytesMax?: number;
  /** It comes from a worker, which may have had it stored before; whoever stores results has to know of it. */
  readonly mayBeStored?: boolean;
}

/** It has to be kept elsewhere, with something else in its place, before the outcome is told. */
export function largeResultOf(outcome: RunOutcome): Uint8Array | undefined {
  const { result } = outcome as { result?: string };
  return result !== undefined && isLarger(result, RESULT_BYTES_MAX) ? Buffer.from(result) : undefined;
}

export function withResult(outcome: RunOutcome, result: string): RunOutcome {
  return { ...outcome, result } as RunOutcome;
}

export function withoutResult(outcome: RunOutcome, why: string): RunOutcome {
  return { ...outcome, ...noteOf(`the result could not be kept: ${why}`) } as RunOutcome;
}

/** Every UTF-16 unit takes one to three bytes: short texts need no counting. */
function isLarger(text: string, bytesMax: number): boolean {
  return text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax;
}

/** As JSON text, without line breaks. */
function resultOf(
  value: unknown,
  { mask, resultBytesMax = 0, mayBeStored = false }: ResultLimits,
): { result?: string } {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    return noteOf(NOT_JSON);
  }
  // Functions and symbols have no JSON at all.
  if (text === undefined) return {};
  if (mask) {
    text = mask.text(text);
    // A number may be a secret, and what stands for it is none.
    if (!isJson(text)) return noteOf('the result held a secret that could not be masked, and was not kept');
  }
  if (hasStoredMark(text) && !(mayBeStored && readStoredResult(text))) return noteOf(MARKED);
  const bytesMax = Math.max(RESULT_BYTES_MAX, resultBytesMax);
  if (isLarger(text, bytesMax)) return noteOf(`the result is larger than ${bytesMax} bytes and was not kept`);
  return { result: text.includes('\\u') ? text.replace(NOT_STORABLE, REPLACED) : text };
}

function noteOf(note: string): { result: string } {
  return { result: JSON.stringify({ note }) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function messageOf(error: unknown, mask: SecretMask | undefined): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  const whole = `${text}${cause}`;
  return (mask ? maskedWithoutNul(whole, mask) : whole.replaceAll('\0', '')).slice(0, ERROR_LENGTH_MAX);
}

/** Before it is cut: half a secret would not be found. Again where NUL is left out: it may have stood within one. */
function maskedWithoutNul(text: string, mask: SecretMask): string {
  const masked = mask.text(text);
  return masked.includes('\0') ? mask.text(masked.replaceAll('\0', '')) : masked;
}

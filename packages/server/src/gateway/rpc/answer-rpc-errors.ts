/**
 * Errors as RPC answers them: the status of the catalogue, a sentence, and an ErrorDetail with the code, the field and the
 * way out. The unknown is logged whole and answered as "internal" with the request id, never with its own words.
 */
import { rpc } from '@carillon/contract';
import { Refusal } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import { Code, ConnectError } from '@connectrpc/connect';
import { TextUnstorable } from '../../storage/storage.ts';
import { bodyLimitText, levelOf, reasonOf, refusalOf, retryAfterSecondsOf } from '../answer-problems.ts';

export interface FailedCall {
  readonly method: string;
  readonly requestId: string;
  /** What its message may hold. */
  readonly bytesMax: number;
}

export function answerRpcErrors({ log }: { log: Log }) {
  return (error: unknown, { method, requestId, bytesMax }: FailedCall): ConnectError => {
    const unread = error instanceof ConnectError ? unreadable(error, bytesMax) : undefined;
    // Already in the words of RPC: a deadline that passed, a caller who hung up.
    if (error instanceof ConnectError && unread === undefined) return error;
    const refusal = unread ?? refusalOf(error);
    if (refusal.code === 'internal') {
      log.error({ err: error, requestId, method }, 'a call failed');
    } else if (refusal.status >= 500 || error instanceof TextUnstorable) {
      log[levelOf(error)]({ reason: reasonOf(error), requestId, method }, 'a call could not be served');
    }
    return connectErrorOf(refusal, requestId);
  };
}

const REASON_LENGTH_MAX = 300;

/** What the library says of a message that it could not read, as a refusal. Undefined: it says something else. */
export function unreadable({ code, rawMessage: words }: ConnectError, bytesMax: number): Refusal | undefined {
  if (code === Code.ResourceExhausted) {
    const message = `The message is larger than ${bodyLimitText(bytesMax)}; send less at once, or raise it.`;
    return new Refusal('body_too_large', message);
  }
  const binary = /^parse binary: (.*)$/s.exec(words)?.[1];
  if (code !== Code.InvalidArgument && binary === undefined) return undefined;
  const reason = (binary ?? words).slice(0, REASON_LENGTH_MAX).toWellFormed();
  return new Refusal('message_unreadable', `The message cannot be read: ${reason}.`);
}

/** status: where the call has another one than the catalogue gives its refusal. */
export function connectErrorOf(
  refusal: Refusal,
  requestId: string,
  status = statusOf(refusal),
): ConnectError {
  const { entries } = refusal;
  const retryAfterSeconds = retryAfterSecondsOf(refusal) ?? 0;
  const value = {
    ...rpc.refusedMessage(refusal),
    requestId,
    retryAfterSeconds,
    entries: entries.map((entry) => ({ index: entry.index, ...rpc.refusedMessage(entry.refusal) })),
  };
  const metadata = retryAfterSeconds > 0 ? { 'retry-after': String(retryAfterSeconds) } : undefined;
  return new ConnectError(value.message, status, metadata, [{ desc: rpc.ErrorDetailSchema, value }]);
}

function statusOf({ code }: Refusal): Code {
  return rpc.RPC_STATUS[rpc.rpcStatusOf(code) ?? 'internal'] satisfies number as Code;
}

/** For streams that end because the server does: whoever listened may go on at another one. */
export function stoppingError(): ConnectError {
  return new ConnectError('The server is stopping.', Code.Unavailable);
}

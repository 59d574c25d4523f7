/**
 * Errors as RPC answers them: the status of the catalogue, a sentence, and an ErrorDetail with the code, the field and the
 * way out. The unknown is logged whole and answered as "internal" with the request id, never with its own words.
 */
import { rpc } from '@carillon/contract';
import type { Refusal } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import { Code, ConnectError } from '@connectrpc/connect';
import { refusalOf, retryAfterSecondsOf } from '../answer-problems.ts';

export interface FailedCall {
  readonly method: string;
  readonly requestId: string;
}

export function answerRpcErrors(log: Log) {
  return (error: unknown, { method, requestId }: FailedCall): ConnectError => {
    // Already in the words of RPC: a deadline that passed, a caller who hung up, a message that cannot be read.
    if (error instanceof ConnectError) return error;
    const refusal = refusalOf(error);
    if (refusal.code === 'internal') {
      log.error({ err: error, requestId, method }, 'a call failed');
    } else if (refusal.status >= 500) {
      log.warn({ err: error, requestId, method }, 'a call could not be served');
    }
    return connectErrorOf(refusal, requestId);
  };
}

function connectErrorOf(refusal: Refusal, requestId: string): ConnectError {
  const { code, field, fix, message } = refusal;
  const status = rpc.RPC_STATUS[rpc.rpcStatusOf(code) ?? 'internal'] satisfies number as Code;
  const retryAfterSeconds = retryAfterSecondsOf(refusal) ?? 0;
  const value = {
    code,
    field: field === undefined ? '' : rpc.rpcField(field),
    fix,
    requestId,
    retryAfterSeconds,
  };
  const metadata = retryAfterSeconds > 0 ? { 'retry-after': String(retryAfterSeconds) } : undefined;
  return new ConnectError(message, status, metadata, [{ desc: rpc.ErrorDetailSchema, value }]);
}

/** For streams that end because the server does: whoever listened may go on at another one. */
export function stoppingError(): ConnectError {
  return new ConnectError('The server is stopping.', Code.Unavailable);
}

/**
 * The only code that turns errors into answers. Refusals are answered as they are; an unavailable storage with a hint to retry;
 * an unknown error is logged completely and answered as "internal" with the request id, never with its own message.
 */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { PROBLEM_TYPE, problemOf } from '@carillon/contract';
import { Refusal } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { StorageTimeout, StorageUnavailable, TextUnstorable } from '../storage/storage.ts';
import { OPEN_BODY_BYTES_MAX } from './large-bodies.ts';
import { askedMethodOf } from './other-methods.ts';
import { allowanceHeaders, RateLimited } from './rate-limit.ts';

const RETRY_AFTER_SECONDS: Partial<Record<Refusal['code'], number>> = {
  overloaded: 1,
  storage_unavailable: 2,
};

export function answerProblems(log: Log) {
  return {
    onError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
      const refusal = hasBrokenOff(request)
        ? new Refusal('request_malformed', 'The request broke off before it was whole.', { cause: error })
        : refusalOf(error, request.routeOptions?.bodyLimit);
      if (refusal.code === 'internal') {
        log.error(
          { err: error, requestId: request.id, method: request.method, route: request.routeOptions?.url },
          'a request failed',
        );
      } else if (refusal.status >= 500 || error instanceof TextUnstorable) {
        log[levelOf(error)](
          { reason: reasonOf(error), requestId: request.id },
          'a request could not be served',
        );
      }
      if (refusal.status === 401) reply.header('www-authenticate', 'Bearer realm="carillon"');
      // Fastify sets it after a body that it could not read; HTTP/2 has no such header, and Node warns of it.
      if (request.raw.httpVersionMajor === 2) reply.removeHeader('connection');
      send(reply, refusal, request.id);
    },

    onNoRoute(request: FastifyRequest, reply: FastifyReply): void {
      const path = request.url.split('?', 1)[0]!.slice(0, 200);
      const message = `There is no ${askedMethodOf(request)} ${path}.`;
      send(reply, new Refusal('route_not_found', message), request.id);
    },
  };
}

/** That the database is away is told once, not for each request. A text that it cannot hold should have been refused before. */
export function levelOf(error: unknown): 'debug' | 'warn' | 'error' {
  if (error instanceof TextUnstorable) return 'error';
  return error instanceof StorageUnavailable ? 'debug' : 'warn';
}

/** Without a stack: many requests may fail in the same way, and where it was thrown tells nothing. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The caller disconnected, or was refused as too slow: however reading the rest fails, it is no internal error. */
function hasBrokenOff({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete;
}

/** Undefined: a retry does not help. */
export function retryAfterSecondsOf(refusal: Refusal): number | undefined {
  return refusal.retryAfterSeconds ?? RETRY_AFTER_SECONDS[refusal.code];
}

/** bodyLimitBytes: the limit of the route, named in the refusal of a larger body. */
export function refusalOf(error: unknown, bodyLimitBytes?: number): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof StorageUnavailable) {
    return new Refusal('storage_unavailable', 'The database does not answer.', { cause: error });
  }
  if (error instanceof StorageTimeout) {
    return new Refusal('storage_unavailable', 'The database took too long.', { cause: error });
  }
  if (error instanceof TextUnstorable) {
    const message = 'A text of the request holds a character that cannot be stored, such as U+0000.';
    return new Refusal('field_invalid', message, { cause: error });
  }
  return (
    frameworkRefusal(error, bodyLimitBytes) ??
    new Refusal('internal', 'Something went wrong on our side.', { cause: error })
  );
}

function frameworkRefusal(error: unknown, bodyLimitBytes: number | undefined): Refusal | undefined {
  switch (codeOf(error)) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Refusal('body_too_large', `The body is larger than ${bodyLimitText(bodyLimitBytes)}.`);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
      return new Refusal('content_type_unsupported', 'The Content-Type cannot be read.', {
        field: 'Content-Type',
      });
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Refusal('body_not_json', 'The body is not as long as Content-Length says.');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Refusal('route_not_found', 'The path cannot be read.');
    default:
      return undefined;
  }
}

export function bodyLimitText(bytes: number | undefined): string {
  if (bytes === undefined) return 'this server takes';
  if (bytes <= OPEN_BODY_BYTES_MAX) return `${bytes / 1_024} KiB, which is what is read of a stranger`;
  return `${bytes / 1_024} KiB, which is what this server takes (its setting body_limit_kb)`;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

function send(reply: FastifyReply, refusal: Refusal, requestId: string): void {
  const retryAfter = retryAfterSecondsOf(refusal);
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  if (refusal instanceof RateLimited) {
    reply.headers(allowanceHeaders({ limit: refusal.limit, remaining: 0, resetSeconds: retryAfter ?? 1 }));
  }
  void reply
    .code(refusal.status)
    .header('x-request-id', requestId)
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problemOf(refusal, requestId)));
}

const BROKEN_SOCKET_MS_MAX = 1_000;

/**
 * What is no HTTP request, arrives too slowly or has too many headers never reaches a route: it is answered here with a
 * problem document as well, and the connection is closed.
 */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  // A caller that has disconnected, or got part of an answer already, gets no more.
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const refusal = brokenRequestRefusal(error.code);
  const requestId = randomUUID();
  const body = JSON.stringify(problemOf(refusal, requestId));
  socket.end(
    [
      `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
      `content-type: ${PROBLEM_TYPE}`,
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  // The other side may keep its half open, or read nothing: neither keeps the connection open.
  socket.setTimeout(BROKEN_SOCKET_MS_MAX, () => socket.destroy());
}

function brokenRequestRefusal(code: string | undefined): Refusal {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('request_too_slow', 'The request did not arrive in time.');
    case 'HPE_HEADER_OVERFLOW':
      return new Refusal('headers_too_large', 'The headers are larger than this server takes.');
    default:
      return new Refusal('request_malformed', 'What was sent is not a valid HTTP request.');
  }
}

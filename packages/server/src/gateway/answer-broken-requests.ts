/**
 * What is no HTTP request, comes too slowly or brings too many headers never reaches a route: it is answered here with a
 * problem document like everything else, and the connection is closed.
 */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { PROBLEM_TYPE, problemOf } from '@carillon/contract';
import { Refusal } from '@carillon/domain';

const FAREWELL_MS = 1_000;

export function answerBrokenRequests(error: NodeJS.ErrnoException, socket: Socket): void {
  // A caller who has gone, or to whom something was said already, is not told anything more.
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const refusal = refusalOf(error.code);
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
  // The other side may keep its half open, or read nothing: neither keeps the connection.
  socket.setTimeout(FAREWELL_MS, () => socket.destroy());
}

function refusalOf(code: string | undefined): Refusal {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('request_too_slow', 'The request did not arrive in time.');
    case 'HPE_HEADER_OVERFLOW':
      return new Refusal('headers_too_large', 'The headers are larger than this server takes.');
    default:
      return new Refusal('request_malformed', 'What was sent is not a valid HTTP request.');
  }
}

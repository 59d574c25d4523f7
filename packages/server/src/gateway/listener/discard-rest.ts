/**
 * What a caller still sends after their answer is read and thrown away, within bounds of bytes and time: closing at once would
 * destroy the answer on its way, and reading on would let one caller keep the server busy for nothing.
 */
import type { IncomingMessage } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { Socket } from 'node:net';

const REST_BYTES_MAX = 16 * 1_024 * 1_024;
const REST_MS_MAX = 5_000;
const LOOK_MS = 20;

export function discardRestOfRequest(request: IncomingMessage): void {
  const { socket } = request;
  // A request that was handed over within the process has no connection, and nothing follows it.
  if (!(socket instanceof Socket)) return;
  const bytesMax = socket.bytesRead + REST_BYTES_MAX;
  const untilMs = performance.now() + REST_MS_MAX;
  // Node itself throws the body of an answered request away, without an event to count by.
  const look = setInterval(() => {
    if (request.complete || socket.destroyed) clearInterval(look);
    else if (socket.bytesRead > bytesMax || performance.now() > untilMs) socket.destroy();
  }, LOOK_MS).unref();
}

export function discardRestOfStream(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.destroyed) return;
  let bytes = 0;
  const late = setTimeout(() => stream.destroy(), REST_MS_MAX).unref();
  stream.once('close', () => clearTimeout(late));
  stream.on('data', ({ length }: Buffer) => {
    bytes += length;
    if (bytes > REST_BYTES_MAX) stream.destroy();
  });
  stream.resume();
}

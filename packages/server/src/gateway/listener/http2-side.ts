/**
 * The HTTP/2 server of the port, which accepts no connections itself: it gets those that speak HTTP/2. Concurrent streams,
 * the time for a request to arrive, the idle time and what waits to be sent are bounded, so that no caller holds more than their share.
 */
import type { RequestListener } from 'node:http';
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { discardRestOfStream } from './discard-rest.ts';
import type { OpenConnections } from './open-connections.ts';
import type { UnsentGuard } from './unsent-guard.ts';

const STREAMS_MAX = 250;
/** Streams whose request has not arrived in full, and the way to let them go on. */
const lateStreams = new WeakMap<object, () => void>();

/** For a request that lasts: its stream may stay open for as long as it likes. */
export function keepStreamOpen(request: { readonly stream?: object }): void {
  if (request.stream) lateStreams.get(request.stream)?.();
}

/** What one connection may do at most. Node closes a connection that goes over; these bound floods of frames that cost the sender little. */
export const SESSION_LIMITS = {
  settings: { maxConcurrentStreams: STREAMS_MAX, maxHeaderListSize: 16 * 1_024 },
  /** Megabytes, for all streams of a connection. */
  maxSessionMemory: 16,
  maxHeaderListPairs: 128,
  maxOutstandingPings: 10,
  /** Entries in one SETTINGS frame. */
  maxSettings: 32,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  /** Streams that the caller begins and resets: so many at once, then so many a second. */
  streamResetBurst: 1_000,
  streamResetRate: 33,
};
/** After this idle time the client is pinged; a session without streams is closed. */
const IDLE_MS_MAX = 120_000;
const PING_MS_MAX = 20_000;

export interface Http2SideOptions {
  readonly handler: RequestListener;
  readonly requestTimeoutMs: number;
  readonly connections: OpenConnections;
  readonly unsent: UnsentGuard;
}

export function createHttp2Side(options: Http2SideOptions): Http2Server {
  const { handler, requestTimeoutMs, connections, unsent } = options;
  const server = createServer(SESSION_LIMITS);
  /** Streams whose request is on its way. */
  const arrivingOf = new WeakMap<Http2Session, Set<ServerHttp2Stream>>();
  // Node's compatibility layer gives requests and responses of HTTP/2 the shape of those of HTTP/1.1.
  server.on(
    'request',
    handler as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void,
  );
  server.on('stream', (stream) => {
    // A request without a body is complete with its headers, and its end is never read.
    const late = stream.endAfterHeaders
      ? undefined
      : setTimeout(() => stream.destroy(), requestTimeoutMs).unref();
    const { session } = stream;
    const arriving = session && arrivingOf.get(session);
    const arrived = () => {
      clearTimeout(late);
      arriving?.delete(stream);
    };
    if (late) arriving?.add(stream);
    lateStreams.set(stream, arrived);
    stream.once('end', arrived).once('close', arrived);
    stream.once('finish', () => {
      clearTimeout(late);
      // It may have been answered before its body was read.
      discardRestOfStream(stream);
    });
  });
  server.on('session', (session) => {
    const arriving = new Set<ServerHttp2Stream>();
    arrivingOf.set(session, arriving);
    // What is not here by now never will be, and would be kept until it is too late.
    session.socket.once('end', () => {
      for (const stream of arriving) stream.destroy();
    });
    connections.spokeHttp2(session);
    unsent.watchSession(session);
    closeWhenIdle(session);
  });
  return server;
}

function closeWhenIdle(session: ServerHttp2Session): void {
  let streams = 0;
  session.on('stream', (stream) => {
    streams += 1;
    stream.once('close', () => {
      streams -= 1;
    });
  });
  session.setTimeout(IDLE_MS_MAX, () => {
    if (streams === 0) return session.close();
    const late = setTimeout(() => session.destroy(), PING_MS_MAX).unref();
    if (!session.ping(() => clearTimeout(late))) clearTimeout(late);
  });
}

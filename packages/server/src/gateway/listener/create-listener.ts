/**
 * Creates the server of the port: HTTP/1.1 and HTTP/2 on the same one, in clear or under TLS, both with the same handler. The
 * protocol is detected once per connection, at no cost per request.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '@carillon/foundation';
import { type ConnectionLimitSettings, ConnectionLimits } from './connection-limits.ts';
import { createHttp2Side } from './http2-side.ts';
import { OpenConnections } from './open-connections.ts';
import { peekProtocol } from './peek-protocol.ts';
import type { Certificate } from './read-certificate.ts';
import { UNSENT_LIMITS, UnsentGuard, type UnsentLimits } from './unsent-guard.ts';

export interface ListenerOptions {
  /** Undefined: in clear. */
  readonly tls?: Certificate | undefined;
  readonly requestTimeoutMs?: number;
  readonly headersTimeoutMs?: number;
  readonly handshakeTimeoutMs?: number;
  /** Left out: those for people. */
  readonly unsent?: UnsentLimits;
  /** Of `unsent`; the other times are those of Node. Left out: that of the system. */
  readonly clock?: Clock;
  /** Left out: no limits. */
  readonly limits?: ConnectionLimitSettings | undefined;
  /** A connection was closed at once because there are too many. */
  readonly onRefused?: ((address: string) => void) | undefined;
}

export interface Listener {
  /** For Fastify, which creates one server per address it listens on. */
  readonly serverFactory: (handler: RequestListener) => Server;
  readonly connections: OpenConnections;
  /** New connections get the new certificate; those that are open keep theirs. */
  replaceCertificate(certificate: Certificate): void;
}

/** A request that takes longer than this to arrive is refused, so that slow callers cannot hold all connections. */
const REQUEST_TIMEOUT_MS = 30_000;
/** The headers alone have less time: they are small, and a connection that sends none is of no use. */
const HEADERS_TIMEOUT_MS = 15_000;
/** A handshake takes a few round trips. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** How often Node checks for such requests; by default so rarely that they could take twice as long. */
const CHECK_MS = 5_000;
/** An idle connection is kept longer than load balancers in front keep theirs, so that they never reuse a closed one. */
const KEEP_ALIVE_MS = 72_000;

export function createListener(options: ListenerOptions = {}): Listener {
  const { tls, requestTimeoutMs = REQUEST_TIMEOUT_MS, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS } = options;
  const headersTimeoutMs = Math.min(options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS, requestTimeoutMs);
  const places = options.limits && new ConnectionLimits(options.limits);
  /** Serves the connection once it has a place; closes it when there is none. */
  const admit = (socket: Socket, serve: () => void): void => {
    connections.opened(socket);
    if (!places) {
      serve();
      return;
    }
    const address = socket.remoteAddress ?? 'unknown';
    // Of a connection that waits nobody else listens for errors; its end is all that counts.
    const ignore = () => undefined;
    socket.on('error', ignore);
    places.takeOrWait(address, (leave) => {
      if (leave === undefined) {
        socket.destroy();
        options.onRefused?.(address);
        return;
      }
      if (socket.destroyed) return leave();
      socket.once('close', leave).off('error', ignore);
      serve();
    });
  };
  const connections = new OpenConnections();
  const unsent = new UnsentGuard(options.unsent ?? UNSENT_LIMITS, options.clock);
  const serveHttp1 = (socket: Socket, serve: (socket: Socket) => void): void => {
    unsent.watchSocket(socket);
    serve(connections.spokeHttp1(socket));
  };
  const secured = new Set<{ setSecureContext(certificate: Certificate): void }>();
  return {
    connections,
    serverFactory(handler) {
      const http2 = createHttp2Side({ handler, requestTimeoutMs, connections, unsent });
      const limits = {
        requestTimeout: requestTimeoutMs,
        headersTimeout: headersTimeoutMs,
        keepAliveTimeout: KEEP_ALIVE_MS,
        connectionsCheckingInterval: CHECK_MS,
        // The gateway checks it, and answers with a problem document.
        requireHostHeader: false,
      };
      if (tls === undefined) {
        const server = createServer(limits, handler);
        const http1 = takeOver(server, 'connection');
        server.on('connection', (socket) => {
          admit(socket, () =>
            peekProtocol(socket, {
              withinMs: requestTimeoutMs,
              onHttp1: () => serveHttp1(socket, http1),
              onHttp2: () => http2.emit('connection', socket),
            }),
          );
        });
        return connections.count(server);
      }
      // A handshake that fails tells the client next to nothing: what came is judged where the stream of a worker is opened.
      const clients = { requestCert: tls.ca !== undefined, rejectUnauthorized: false };
      const secure = {
        ...tls,
        ...clients,
        ALPNProtocols: ['h2', 'http/1.1'],
        handshakeTimeout: handshakeTimeoutMs,
      };
      const server = createSecureServer({ ...limits, ...secure }, handler);
      const http1 = takeOver(server, 'secureConnection');
      const handshake = takeOver(server, 'connection');
      server.on('connection', (socket) => {
        admit(socket as Socket, () => handshake(socket as Socket));
      });
      server.on('secureConnection', (socket: TLSSocket) => {
        connections.secured(socket);
        if (socket.alpnProtocol === 'h2') http2.emit('connection', socket);
        else serveHttp1(socket, http1);
      });
      secured.add(server);
      return connections.count(server);
    },
    replaceCertificate(certificate) {
      for (const server of secured) server.setSecureContext(certificate);
    },
  };
}

/** Node's own listeners for a connection, to be called once the protocol is known. */
function takeOver(server: Server, event: 'connection' | 'secureConnection'): (socket: Socket) => void {
  const listeners = server.listeners(event) as ((this: Server, socket: Socket) => void)[];
  server.removeAllListeners(event);
  return (socket) => {
    for (const listener of listeners) listener.call(server, socket);
  };
}

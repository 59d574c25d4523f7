/**
 * Every open connection and its state, so that a stop can cut idle ones and wait for the others. A connection is first
 * silent (no byte yet, or in the TLS handshake), then HTTP/1.1 with some requests under way, or HTTP/2.
 */
import type { Server } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const ANSWER_MS_MAX = 5_000;

export class OpenConnections {
  /** By remote address: under TLS, the socket with the protocol is another object than the accepted one. */
  readonly #silent = new Map<string, Socket>();
  /** HTTP/1.1: requests under way. */
  readonly #requests = new Map<Socket, number>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #all = new Set<Socket>();
  #closing = false;

  opened(socket: Socket): void {
    const key = keyOf(socket);
    this.#all.add(socket);
    this.#silent.set(key, socket);
    socket.once('close', () => {
      this.#all.delete(socket);
      if (this.#silent.get(key) === socket) this.#silent.delete(key);
    });
    if (this.#closing) socket.destroy();
  }

  /** The TLS handshake is done. */
  secured(socket: Socket): void {
    this.#silent.delete(keyOf(socket));
  }

  spokeHttp1(socket: Socket): Socket {
    this.#silent.delete(keyOf(socket));
    this.#requests.set(socket, 0);
    socket.once('close', () => this.#requests.delete(socket));
    this.#cutIfIdle(socket);
    return socket;
  }

  spokeHttp2(session: ServerHttp2Session): void {
    this.#silent.delete(keyOf(session.socket as unknown as Socket));
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    if (this.#closing) session.close();
  }

  /** Counts the requests under way on the HTTP/1.1 connections of the server. */
  count(server: Server): Server {
    return server.on('request', ({ socket }, response) => {
      this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1);
      response.once('close', () => {
        const open = this.#requests.get(socket);
        if (open === undefined) return;
        this.#requests.set(socket, open - 1);
        this.#cutIfIdle(socket);
      });
    });
  }

  /** From now on connections are cut as soon as they are idle. HTTP/2 sessions accept no more streams. */
  cutIdle(): void {
    this.#closing = true;
    for (const socket of this.#silent.values()) socket.destroy();
    for (const socket of this.#requests.keys()) this.#cutIfIdle(socket);
    for (const session of this.#sessions) session.close();
  }

  cutAll(): void {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#all) socket.destroy();
  }

  get size(): number {
    return this.#all.size;
  }

  #cutIfIdle(socket: Socket): void {
    if (this.#closing && this.#requests.get(socket) === 0) socket.destroy();
  }
}

function keyOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}

/**
 * On close, requests under way are answered within a bounded time and idle connections are cut at once. Node alone waits
 * forever for a connection that was opened and never used, and one such client could delay a stop.
 */
export function closeConnections(app: FastifyInstance, connections: OpenConnections): void {
  app.addHook('preClose', async () => {
    connections.cutIdle();
    const late = setTimeout(() => connections.cutAll(), ANSWER_MS_MAX);
    app.server.once('close', () => clearTimeout(late));
  });
}

/**
 * Every open connection and what it is doing, so that a stop can cut those that do nothing and wait for the others. A
 * connection is first unspoken (no byte yet, or shaking hands), then HTTP/1.1 with some requests under way, or HTTP/2.
 */
import type { Server } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';

export class OpenConnections {
  /** By the other side's address: under TLS, the socket that speaks is another object than the one that was accepted. */
  readonly #unspoken = new Map<string, Socket>();
  /** HTTP/1.1: requests under way. */
  readonly #requests = new Map<Socket, number>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #all = new Set<Socket>();
  #closing = false;

  opened(socket: Socket): void {
    const key = keyOf(socket);
    this.#all.add(socket);
    this.#unspoken.set(key, socket);
    socket.once('close', () => {
      this.#all.delete(socket);
      if (this.#unspoken.get(key) === socket) this.#unspoken.delete(key);
    });
    if (this.#closing) socket.destroy();
  }

  /** Shook hands. */
  secured(socket: Socket): void {
    this.#unspoken.delete(keyOf(socket));
  }

  spokeHttp1(socket: Socket): Socket {
    this.#unspoken.delete(keyOf(socket));
    this.#requests.set(socket, 0);
    socket.once('close', () => this.#requests.delete(socket));
    this.#cutIfIdle(socket);
    return socket;
  }

  spokeHttp2(session: ServerHttp2Session): void {
    this.#unspoken.delete(keyOf(session.socket as unknown as Socket));
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    if (this.#closing) session.close();
  }

  /** Keeps count of the requests under way on the HTTP/1.1 connections of the server. */
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

  /** From now on whatever is idle, or becomes so, is cut. HTTP/2 is told to open no more streams. */
  cutIdle(): void {
    this.#closing = true;
    for (const socket of this.#unspoken.values()) socket.destroy();
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

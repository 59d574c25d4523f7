/**
 * A network between a server and its database that can go dead: connections stay open, nothing gets through in either
 * direction, nobody is told. What was sent meanwhile arrives when it recovers, as TCP has it.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export class StallableProxy {
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#pass(socket));
  #stalled = false;

  constructor(targetUrl: string) {
    this.#target = new URL(targetUrl);
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  /** The same database, through here. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  stall(): void {
    this.#stalled = true;
    for (const socket of this.#sockets) socket.pause();
  }

  recover(): void {
    this.#stalled = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Every connection breaks; new ones are passed on. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(near: Socket): void {
    const far = connect(Number(this.#target.port), this.#target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      // 'data' set it flowing; a connection of a dead network stays silent.
      if (this.#stalled) from.pause();
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}

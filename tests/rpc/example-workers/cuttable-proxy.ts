/** A network between a worker and its server that can be cut: connections end at once, and none is made until it is mended. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export class CuttableProxy {
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((near) => this.#pass(near));
  #isCut = false;
  /** How many connections were made. */
  connections = 0;
  /** How many were not, because the network was cut. */
  refused = 0;

  constructor(port: number) {
    this.#port = port;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(near: Socket): void {
    if (this.#isCut) {
      this.refused += 1;
      near.destroy();
      return;
    }
    this.connections += 1;
    const far = connect(this.#port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}

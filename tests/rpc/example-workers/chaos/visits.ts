/**
 * Where attempts of the handler `visit` say what they do. An attempt is a connection, so its end is seen here too when its worker is
 * killed. It remembers the highest epoch of each run, as a careful store does, and refuses the words of older ones.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

export interface Word {
  readonly word: 'begin' | 'step' | 'saved' | 'end';
  readonly at: number;
  /** On the clock of performance.now(). */
  readonly heardAt: number;
  readonly refused: boolean;
}

export interface Attempt {
  readonly runId: string;
  readonly epoch: number;
  readonly visitor: string;
  readonly words: Word[];
  closedAt: number;
}

interface Line {
  readonly word: Word['word'];
  readonly at: number;
  readonly run_id: string;
  readonly epoch: number;
  readonly visitor: string;
}

export class Visits {
  readonly attempts: Attempt[] = [];
  readonly #epochs = new Map<string, number>();
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#receive(socket));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', 4_096, resolve));
    return this;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  #receive(socket: Socket): void {
    let attempt: Attempt | undefined;
    this.#sockets.add(socket);
    const lines = createInterface({ input: socket });
    // Its worker was killed: the close says all. The reader of lines tells errors of its socket once more.
    socket.on('error', () => {});
    lines.on('error', () => {});
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (attempt) attempt.closedAt = performance.now();
    });
    lines.on('line', (text) => {
      const line = JSON.parse(text) as Line;
      const { run_id: runId, epoch, visitor, word, at } = line;
      const refused = epoch < (this.#epochs.get(runId) ?? 0);
      if (!refused) this.#epochs.set(runId, epoch);
      if (!attempt) {
        attempt = { runId, epoch, visitor, words: [], closedAt: Number.POSITIVE_INFINITY };
        this.attempts.push(attempt);
      }
      attempt.words.push({ word, at, heardAt: performance.now(), refused });
      socket.write(refused ? 'refused\n' : 'ok\n');
    });
  }
}

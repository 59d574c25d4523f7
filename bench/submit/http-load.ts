/**
 * One-by-one POSTs over kept connections, written and read as bytes: the generator shares the cores with what it measures,
 * so it spends as little as it can. Each connection sends its next request when the answer to the last has come.
 */
import { connect, type Socket } from 'node:net';
import { percentile } from '../percentile.ts';

type LoadOrder = {
  readonly address: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodies: readonly string[];
  readonly connections: number;
  /** Undefined: as fast as it goes. */
  readonly perSecond: number | undefined;
  /** Called right before a request is written. */
  readonly onSend?: (index: number) => void;
};

export type LoadFigures = Awaited<ReturnType<typeof postAll>>;

const END_OF_HEAD = Buffer.from('\r\n\r\n');

export async function postAll(order: LoadOrder) {
  const { bodies, connections, perSecond } = order;
  const requests = bodies.map((body) => requestOf(order, body));
  const delaysMs: number[] = [];
  /** From writing the request to its answer, of accepted ones: what the server alone decides. */
  const acceptedMs: number[] = [];
  /** Every answer but 201, by its status. */
  const refused: Record<string, number> = {};
  let next = 0;
  let accepted = 0;
  const startedAt = performance.now();

  const drive = async (): Promise<void> => {
    const connection = await Connection.open(order.address);
    for (let index = next++; index < requests.length; index = next++) {
      const plannedAt = perSecond === undefined ? undefined : startedAt + (index / perSecond) * 1_000;
      if (plannedAt !== undefined) await until(plannedAt);
      // From when it should have been sent: waiting for a free connection is part of the wait.
      const sentAt = plannedAt ?? performance.now();
      order.onSend?.(index);
      const writtenAt = performance.now();
      const status = await connection.ask(requests[index]!);
      const now = performance.now();
      delaysMs.push(now - sentAt);
      if (status === '201') {
        accepted += 1;
        acceptedMs.push(now - writtenAt);
      } else refused[status] = (refused[status] ?? 0) + 1;
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, drive));

  const seconds = (performance.now() - startedAt) / 1_000;
  const at = (values: readonly number[], share: number) =>
    percentile(Float64Array.from(values).sort(), share);
  return {
    ...{ seconds, accepted, refused },
    p50Ms: at(delaysMs, 0.5),
    p99Ms: at(delaysMs, 0.99),
    acceptedP99Ms: acceptedMs.length === 0 ? 0 : at(acceptedMs, 0.99),
  };
}

/** Sleeps only when there is something to sleep for: a timer is late by a millisecond or so, and then several are due. */
async function until(instant: number): Promise<void> {
  const waitMs = instant - performance.now();
  if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
}

function requestOf({ address, path, headers }: LoadOrder, body: string): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: ${new URL(address).host}\r\n${lines.join('')}content-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** One request at a time; knows just enough of HTTP/1.1 to find the end of an answer with a Content-Length. */
class Connection {
  readonly #socket: Socket;
  #answer: ((status: string) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;
  #pending: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error) => this.#fail?.(error));
    socket.on('close', () => this.#fail?.(new Error('the server closed the connection')));
  }

  static async open(address: string): Promise<Connection> {
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Connection(socket);
  }

  ask(request: Buffer): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const headEnd = this.#pending.indexOf(END_OF_HEAD);
    if (headEnd < 0) return;
    const head = this.#pending.toString('latin1', 0, headEnd);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
    if (Number.isNaN(length)) this.#fail?.(new Error(`an answer without a length: ${head}`));
    if (!(this.#pending.length >= headEnd + END_OF_HEAD.length + length)) return;
    this.#pending = Buffer.alloc(0);
    this.#answer?.(head.slice(9, 12));
  }
}

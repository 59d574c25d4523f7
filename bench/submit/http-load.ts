/**
 * One-by-one POSTs over kept connections, written and read as bytes: the generator shares the cores with what it measures,
 * so it spends as little as it can. Each connection sends its next request when the answer to the last has come. At a rate, the load is open as
 * long as there is a free connection: requests are sent when they are planned, however slowly the ones before are answered.
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
  /** Of accepted ones, from when they should have been sent. */
  const acceptedMs: number[] = [];
  /** Every answer but 201, by its status. */
  const refused: Record<string, number> = {};
  let next = 0;
  let accepted = 0;
  const startedAt = performance.now();

  const send = async (connection: Connection, index: number, sentAt: number): Promise<void> => {
    order.onSend?.(index);
    const status = await connection.ask(requests[index]!);
    const tookMs = performance.now() - sentAt;
    delaysMs.push(tookMs);
    if (status === '201') {
      accepted += 1;
      acceptedMs.push(tookMs);
    } else refused[status] = (refused[status] ?? 0) + 1;
  };
  /** The next request when the answer to the last has come. */
  const drive = async (): Promise<void> => {
    const connection = await Connection.open(order.address);
    for (let index = next++; index < requests.length; index = next++)
      await send(connection, index, performance.now());
    connection.close();
  };
  const pool = new Pool(order.address, connections);
  /** From when it should have been sent: waiting for a connection is part of the wait. */
  const sendPlanned = async (index: number, plannedAt: number): Promise<void> => {
    const connection = await pool.take();
    await send(connection, index, plannedAt);
    pool.give(connection);
  };
  const atRate = async (rate: number): Promise<void> => {
    const underWay: Promise<void>[] = [];
    for (let index = 0; index < requests.length; index += 1) {
      const plannedAt = startedAt + (index / rate) * 1_000;
      await until(plannedAt);
      underWay.push(sendPlanned(index, plannedAt));
    }
    await Promise.all(underWay);
    pool.close();
  };
  if (perSecond === undefined) await Promise.all(Array.from({ length: connections }, drive));
  else await atRate(perSecond);

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

/** Sleeps only when there is something to sleep for: a timer is late by a millisecond or so, and then several are due. Answers are read meanwhile. */
async function until(instant: number): Promise<void> {
  const waitMs = instant - performance.now();
  if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
  else await new Promise((resolve) => setImmediate(resolve));
}

/** Opens a connection whenever none is free, up to the most there may be; then whoever needs one waits. */
class Pool {
  readonly #address: string;
  readonly #most: number;
  readonly #free: Connection[] = [];
  readonly #waiting: ((connection: Connection) => void)[] = [];
  #open = 0;

  constructor(address: string, most: number) {
    this.#address = address;
    this.#most = most;
  }

  async take(): Promise<Connection> {
    for (let one = this.#free.pop(); one !== undefined; one = this.#free.pop()) {
      if (one.isOpen) return one;
      this.#open -= 1;
    }
    if (this.#open >= this.#most) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#open += 1;
    return Connection.open(this.#address);
  }

  give(connection: Connection): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(connection);
    else this.#free.push(connection);
  }

  close(): void {
    for (const connection of this.#free) connection.close();
  }
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

  /** Not closed by the server, which closes what is not used. */
  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.readable;
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
    this.#fail = undefined;
    this.#answer?.(head.slice(9, 12));
  }
}

/**
 * The other side of http jobs: answers after the delay that the path asks for, and writes down every call with the run it
 * belongs to. What it saw is the truth about execution, whatever the database says.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Call {
  readonly runId: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly path: string;
  /** On the clock of performance.now(). */
  readonly startedAt: number;
  endedAt: number;
  /** false while it runs, and when the caller hung up before the answer. */
  answered: boolean;
}

/** Two calls of one run at the same time. */
export interface Overlap {
  readonly earlier: Call;
  readonly later: Call;
}

export class Receiver {
  readonly calls: Call[] = [];
  /** With which status a call is answered. */
  statusOf: (call: Call) => number = () => 200;
  readonly #server = createServer((request, response) => this.#receive(request, response));

  async start(): Promise<this> {
    // A caller that finds its idle connection closed would count a failure that is none.
    this.#server.keepAliveTimeout = 600_000;
    this.#server.requestTimeout = 0;
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', 4_096, resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Where a job has to call for an answer after so many milliseconds. */
  url(delayMs: number, tag = ''): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/after/${delayMs}/${tag}`;
  }

  /** Calls whose path ends with the tag. */
  tagged(tag: string): Call[] {
    return this.calls.filter(({ path }) => path.endsWith(`/${tag}`));
  }

  get inProgress(): Call[] {
    return this.calls.filter(({ endedAt }) => endedAt === Number.POSITIVE_INFINITY);
  }

  overlaps(): Overlap[] {
    const found: Overlap[] = [];
    for (const calls of Map.groupBy(this.calls, ({ runId }) => runId).values()) {
      for (const [i, earlier] of calls.entries()) {
        for (const later of calls.slice(i + 1)) {
          if (later.startedAt < earlier.endedAt) found.push({ earlier, later });
        }
      }
    }
    return found;
  }

  /** Calls that repeat an epoch: no lease may be carried out twice, not even one after the other. */
  repeatedEpochs(): Call[] {
    const seen = new Set<string>();
    return this.calls.filter(({ runId, epoch }) => {
      const key = `${runId} ${epoch}`;
      return seen.has(key) || !seen.add(key);
    });
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const call: Call = {
      runId: String(request.headers['idempotency-key']),
      epoch: Number(request.headers['carillon-epoch']),
      attempt: Number(request.headers['carillon-attempt']),
      path: request.url ?? '',
      startedAt: performance.now(),
      endedAt: Number.POSITIVE_INFINITY,
      answered: false,
    };
    this.calls.push(call);
    request.resume();
    const timer = setTimeout(
      () => {
        call.answered = true;
        response.statusCode = this.statusOf(call);
        response.end('done');
      },
      Number(/^\/after\/(\d+)/.exec(call.path)?.[1] ?? 0),
    );
    // Comes after the answer, and also when the caller hangs up: its process may be gone.
    response.once('close', () => {
      clearTimeout(timer);
      call.endedAt = performance.now();
    });
  }
}

/** Runs: read, stop, do again. */
import type { Logs, Run, RunAdded, RunCancelled, RunWithAttempts } from '../generated/types.ts';
import { List } from '../wire/list.ts';
import type { CallOptions, CreateOptions, Transport } from '../wire/transport.ts';

export class Runs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The latest attempt, with all of them in `attempts`. */
  get(runId: string, options: CallOptions = {}): Promise<RunWithAttempts> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(runId) });
  }

  cancel(runId: string, options: CallOptions = {}): Promise<RunCancelled> {
    return this.#transport.json({ ...options, method: 'POST', path: pathOf(runId, '/cancel') });
  }

  /** A new run of the same job. */
  rerun(runId: string, options: CreateOptions = {}): Promise<RunAdded> {
    return this.#transport.create(pathOf(runId, '/rerun'), undefined, options);
  }

  logs(runId: string, options: CallOptions = {}): Promise<Logs> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(runId, '/logs') });
  }

  /** What a worker is running now. */
  ofWorker(workerId: string, query: { readonly limit?: number } = {}, options: CallOptions = {}): List<Run> {
    return new List(this.#transport, {
      ...options,
      path: '/job/executions',
      query: { ...query, worker_id: workerId },
    });
  }
}

function pathOf(runId: string, rest = ''): string {
  return `/runs/${encodeURIComponent(runId)}${rest}`;
}

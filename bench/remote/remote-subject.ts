/**
 * A server and one worker that is connected to it over gRPC, each a process of its own, on an empty database. What the worker
 * started and what the store holds are compared before any figure is given.
 */
import { startCalled } from '../call-process.ts';
import { handlerName } from '../engine/open-engine.ts';
import { assertRecorded, isAllRecorded } from '../engine/store-facts.ts';
import { keyHeaders } from '../servers/carillon-process.ts';
import { onServerProcess, type ServerProcess } from '../servers/serve-process.ts';
import { onConnection, onDatabase } from '../stores.ts';
import { postBatches } from '../submit/post-batches.ts';
import type { CarillonRun } from '../workloads.ts';
import type { WorkerCalls } from './worker-process.ts';

type WorkerProcess = ReturnType<typeof startCalled<WorkerCalls>>;

const workerModule = new URL('./worker-process.ts', import.meta.url);
const recordPatienceMs = 60_000;

export class RemoteSubject {
  readonly databaseUrl: string;
  readonly #server: ServerProcess;
  readonly #worker: WorkerProcess;
  readonly #slots: number;
  #address = '';
  #keys: { readonly headers: Readonly<Record<string, string>>; readonly ofWorker: string } | undefined;
  #jobs = 0;

  private constructor(options: {
    databaseUrl: string;
    server: ServerProcess;
    worker: WorkerProcess;
    slots: number;
  }) {
    this.databaseUrl = options.databaseUrl;
    this.#server = options.server;
    this.#worker = options.worker;
    this.#slots = options.slots;
  }

  /** Neither is started yet. */
  static on<T>(
    { urls, abort }: CarillonRun,
    slots: number,
    use: (subject: RemoteSubject) => Promise<T>,
  ): Promise<T> {
    return onDatabase(urls, ({ env: { databaseUrl } }) =>
      onServerProcess({ databaseUrl, abort }, async (server) => {
        const worker = startCalled<WorkerCalls>(workerModule, { abort });
        try {
          return await use(new RemoteSubject({ databaseUrl, server, worker, slots }));
        } finally {
          await worker.end();
        }
      }),
    );
  }

  get pids(): { readonly server: number; readonly worker: number } {
    return { server: this.#server.pid, worker: this.#worker.pid };
  }

  async kept(): Promise<{ readonly server: number; readonly worker: number }> {
    return { server: await this.#server.call('kept', null), worker: await this.#worker.call('kept', null) };
  }

  /** Made while the server is down. */
  async create(batch: string, jobs: number): Promise<void> {
    await this.expect(batch, jobs);
    await this.#server.call('create', { jobs, handler: handlerName, payload: { batch } });
  }

  async expect(batch: string, jobs: number, instantsMs?: Float64Array): Promise<void> {
    this.#jobs += jobs;
    await this.#worker.call('expect', { batch, jobs, ...(instantsMs && { instantsMs: [...instantsMs] }) });
  }

  /** Made over REST, while the server runs; of a batch that is expected. */
  async post(
    batch: string,
    { jobs, first = 0, fieldsOf }: { jobs: number; first?: number; fieldsOf?: (index: number) => object },
  ): Promise<void> {
    await postBatches({
      ...{ address: this.#address, headers: this.#keys!.headers, jobs },
      jobOf: (offset) => {
        const index = first + offset;
        return { name: 'bench', handler: handlerName, payload: { batch, index }, ...fieldsOf?.(index) };
      },
    });
  }

  async startServer(): Promise<void> {
    const { address, adminKey } = await this.#server.call('start', { slots: this.#slots });
    this.#address = address;
    this.#keys ??= {
      headers: await keyHeaders({ address, key: adminKey }),
      ofWorker: await workerKey(address, adminKey),
    };
  }

  async connectWorker(): Promise<void> {
    const order = { address: this.#address, key: this.#keys!.ofWorker, slots: this.#slots };
    await this.#worker.call('connect', order);
  }

  started(batch: string, jobs: number): Promise<void> {
    return this.#worker.call('started', { batch, jobs });
  }

  /** What was started is recorded when no lease is left. */
  recorded(): Promise<void> {
    return onConnection(this.databaseUrl, async (client) => {
      const giveUpAtMs = performance.now() + recordPatienceMs;
      while (!(await isAllRecorded(client)))
        if (performance.now() > giveUpAtMs) throw new Error('outcomes were not recorded in time');
    });
  }

  tell(batch: string): Promise<Awaited<ReturnType<WorkerCalls['tell']>>> {
    return this.#worker.call('tell', { batch });
  }

  /** Stops both, so that nothing more is started; then every job made so far was started once and is recorded once. */
  async stopAndAssertCorrect(): Promise<void> {
    const faults = await this.#worker.call('stop', null);
    await this.#server.call('stop', undefined);
    if (faults.length > 0) throw new Error(`not correct: ${faults.join('; ')}`);
    await onConnection(this.databaseUrl, (client) => assertRecorded(client, this.#jobs));
  }
}

/** As people make one for a worker: it connects workers for one handler, and may do nothing else. */
async function workerKey(address: string, adminKey: string): Promise<string> {
  const made = await fetch(`${address}/api/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'worker', worker: { handlers: [handlerName], namespaces: ['default'] } }),
  });
  if (made.status !== 201) throw new Error(`no key for a worker: ${await made.text()}`);
  return ((await made.json()) as { key: string }).key;
}

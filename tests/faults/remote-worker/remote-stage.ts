/**
 * For tests: servers on one PostgreSQL and workers as programs of their own, whose handlers call the receiver. What the receiver saw is
 * the truth about execution; what was recorded is read from the database.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { callApi, submitJobs } from '../../support/api-client.ts';
import { COMPILE_CACHE } from '../../support/compile-cache.ts';
import { eventually } from '../../support/eventually.ts';
import type { Call } from '../../support/receiver.ts';
import { ServerStage } from '../../support/server-stage.ts';
import type { ServerProcess } from '../../support/start-server-process.ts';

export const SOON = { withinMs: 120_000 };
const PROGRAM = join(import.meta.dirname, 'worker-program.ts');

export const flags = ({ silentSeconds = 6 } = {}) => [
  ...['--worker-silent-seconds', String(silentSeconds), '--node-ttl-seconds', '3'],
  ...['--shutdown-grace-seconds', '1'],
];

export interface WorkerOptions {
  readonly key: string;
  readonly drainSeconds?: number;
  readonly handlers?: string;
}

export interface Attempt extends Record<string, unknown> {
  readonly epoch: number;
  readonly status: string;
  readonly attempt_number: number;
  readonly executor_id: string;
  readonly error_message: string | null;
}

export interface RemoteWorkerRow extends Record<string, unknown> {
  readonly worker_id: string;
  readonly node_id: string;
  readonly session: number;
  readonly draining: boolean;
}

export class RemoteStage {
  readonly servers: ServerStage;
  readonly #workers: ChildProcess[] = [];

  private constructor(servers: ServerStage) {
    this.servers = servers;
  }

  static async open(): Promise<RemoteStage> {
    return new RemoteStage(await ServerStage.open());
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) worker.kill('SIGKILL');
    await this.servers.close();
  }

  launch(name: string): Promise<ServerProcess> {
    return this.servers.launch(name, flags());
  }

  /** The key of one server opens the others too: all have the same API keys, and each its own admin key. */
  async workerKey(server: ServerProcess): Promise<string> {
    const { status, body } = await callApi<{ key: string }>(server, '/api/keys', {
      method: 'POST',
      body: { name: 'worker', grants: [{ namespace: '*', role: 'admin' }], scopes: ['workers.connect'] },
    });
    expect(status, JSON.stringify(body)).toBe(201);
    return body.key;
  }

  /** Resolves when the cluster knows it. */
  async startWorker(servers: readonly string[], options: WorkerOptions): Promise<ChildProcess> {
    const { key, drainSeconds = 30, handlers = 'remote' } = options;
    const before = await this.remoteIds();
    const own = [servers.join(','), key, String(drainSeconds), handlers];
    const worker = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM, ...own], {
      cwd: this.servers.folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...COMPILE_CACHE },
      stdio: ['pipe', 'inherit', 'inherit'],
    });
    this.#workers.push(worker);
    await this.untilNewWorker(before);
    return worker;
  }

  untilNewWorker(before: readonly string[]): Promise<void> {
    return eventually(async () => {
      expect((await this.remoteIds()).filter((workerId) => !before.includes(workerId))).toHaveLength(1);
    }, SOON);
  }

  remoteWorkers(): Promise<RemoteWorkerRow[]> {
    return this.servers.postgres.query<RemoteWorkerRow>(
      `SELECT worker_id, node_id::text, session, draining FROM workers
        WHERE worker_id LIKE '%@%' AND NOT dead ORDER BY worker_id`,
    );
  }

  async remoteIds(): Promise<string[]> {
    return (await this.remoteWorkers()).map(({ worker_id: workerId }) => workerId);
  }

  attempts(jobId: string): Promise<Attempt[]> {
    return this.servers.postgres.query<Attempt>(
      `SELECT epoch, status, attempt_number, executor_id, error_message FROM job_runs
        WHERE job_id = $1 AND status <> 'RUNNING' ORDER BY epoch`,
      [jobId],
    );
  }

  async untilSucceeded(jobId: string): Promise<void> {
    await eventually(
      async () => expect((await this.attempts(jobId)).map(({ status }) => status)).toContain('SUCCESS'),
      SOON,
    );
  }

  /** nextMs: how long every later attempt takes. */
  async submit(
    server: ServerProcess,
    durationMs: number,
    { handler = 'remote', nextMs = durationMs } = {},
  ): Promise<string> {
    const { receiver } = this.servers;
    const payload = { url: receiver.url(durationMs, 'remote'), next_url: receiver.url(nextMs, 'remote') };
    const [jobId = ''] = await submitJobs(server, [{ name: 'far away', handler, payload }]);
    return jobId;
  }

  calls(): Call[] {
    return this.servers.receiver.tagged('remote');
  }

  async untilCalled(times = 1): Promise<void> {
    await eventually(() => expect(this.calls()).toHaveLength(times), SOON);
  }
}

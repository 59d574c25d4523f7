/**
 * graphile-worker, tuned as its performance page advises for many quick jobs: a local queue of 500 jobs fetched at once,
 * completions (deletions) batched, jobs added in bulk, no log line per job. It keeps no history: a finished job is deleted.
 */
import { Logger, makeWorkerUtils, type Runner, run, type WorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { inBatches } from '../in-batches.ts';
import { type BenchJob, installedVersion, type System, type SystemEnv } from '../system.ts';

const silent = new Logger(() => () => {});

export class GraphileWorker implements System {
  readonly name = 'graphile-worker';
  readonly version = installedVersion('graphile-worker');
  #pool!: pg.Pool;
  #utils!: WorkerUtils;
  #runner: Runner | undefined;

  async start(env: SystemEnv): Promise<void> {
    this.#pool = new pg.Pool({ connectionString: env.databaseUrl, max: 10 });
    this.#pool.on('error', (error) => console.error('graphile-worker:', error));
    this.#pool.on('connect', (client) =>
      client.on('error', (error) => console.error('graphile-worker:', error)),
    );
    this.#utils = await makeWorkerUtils({ pgPool: this.#pool, logger: silent });
    await this.#utils.migrate();
  }

  async submit(jobs: readonly BenchJob[]): Promise<void> {
    await inBatches({
      items: jobs,
      size: 1_000,
      lanes: 4,
      send: (batch) => this.#utils.addJobs(batch.map(({ id }) => ({ identifier: 'noop', payload: { id } }))),
    });
  }

  async drain(onRun: (id: string) => void, total: number): Promise<void> {
    let ran = 0;
    const allRan = Promise.withResolvers<void>();
    this.#runner = await run({
      pgPool: this.#pool,
      logger: silent,
      noHandleSignals: true,
      taskList: {
        noop: (payload) => {
          onRun((payload as BenchJob).id);
          if (++ran === total) allRan.resolve();
        },
      },
      preset: {
        worker: {
          concurrentJobs: 24,
          localQueue: { size: 500 },
          // Delays of 0, 5 and 50 ms measured alike here.
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    });
    await allRan.promise;
    // Completions are batched in memory: a graceful stop is the one public way to wait until they are written.
    await this.#runner.stop();
    this.#runner = undefined;
  }

  async countUnfinished(): Promise<number> {
    const { rows } = await this.#pool.query<{ count: number }>(
      'select count(*)::int as count from graphile_worker._private_jobs',
    );
    return rows[0]!.count;
  }

  async stop(): Promise<void> {
    await this.#runner?.stop();
    await this.#utils?.release();
    await this.#pool?.end();
  }
}

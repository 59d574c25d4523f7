/**
 * BullMQ on Redis without persistence: addBulk, one worker of 100 slots in the process, finished jobs removed. It keeps
 * no history, and a job is only as durable as Redis' memory: both make its task lighter than that of the others.
 */
import { Queue, Worker } from 'bullmq';
import { inBatches } from '../in-batches.ts';
import { type BenchJob, installedVersion, type System, type SystemEnv } from '../system.ts';

const queueName = 'bench';

export class BullMq implements System {
  readonly name = 'bullmq';
  readonly version = installedVersion('bullmq');
  #connection!: { host: string; port: number };
  #queue!: Queue<BenchJob>;
  #worker: Worker<BenchJob> | undefined;

  async start(env: SystemEnv): Promise<void> {
    const { hostname, port } = new URL(env.redisUrl);
    this.#connection = { host: hostname, port: Number(port) };
    this.#queue = new Queue<BenchJob>(queueName, {
      connection: this.#connection,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    await this.#queue.waitUntilReady();
  }

  async submit(jobs: readonly BenchJob[]): Promise<void> {
    await inBatches({
      items: jobs,
      size: 1_000,
      lanes: 2,
      send: (batch) => this.#queue.addBulk(batch.map(({ id }) => ({ name: 'noop', data: { id } }))),
    });
  }

  async drain(onRun: (id: string) => void, total: number): Promise<void> {
    let completed = 0;
    const allCompleted = Promise.withResolvers<void>();
    this.#worker = new Worker<BenchJob>(queueName, async (job) => onRun(job.data.id), {
      connection: this.#connection,
      // Of 50, 100, 300 and 600 slots the fastest here, by a few per cent; ioredis' auto-pipelining made it slower.
      concurrency: 100,
      removeOnComplete: { count: 0 },
    });
    this.#worker.on('error', allCompleted.reject);
    this.#worker.on('failed', (_job, error) => allCompleted.reject(error));
    // Emitted after Redis answered the move to finished, so the last one means that all are recorded.
    this.#worker.on('completed', () => {
      if (++completed === total) allCompleted.resolve();
    });
    await allCompleted.promise;
  }

  async countUnfinished(): Promise<number> {
    const counts = await this.#queue.getJobCounts('wait', 'active', 'delayed', 'prioritized', 'failed');
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  async stop(): Promise<void> {
    await this.#worker?.close();
    await this.#queue?.close();
  }
}

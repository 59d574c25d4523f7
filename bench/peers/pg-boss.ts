/**
 * pg-boss: insert() in batches, then four loops of fetch 500 + complete, without the polling interval of work(). Finished
 * jobs stay in its table as history. Its background jobs are off: they would only disturb.
 *
 * Version 12 drains about four times as fast as 10.4, so the version matters to any claim made from this. 12.35.0 is the
 * newest whose dependencies could be installed when it was pinned: 12.38.0 asked for an rrule-temporal that could not.
 */
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { inBatches } from '../in-batches.ts';
import { type BenchJob, installedVersion, type System, type SystemEnv } from '../system.ts';

const queueName = 'bench';
const fetchers = 4;
const fetchSize = 500;

export class PgBossSystem implements System {
  readonly name = 'pg-boss';
  readonly version = installedVersion('pg-boss');
  #pool!: pg.Pool;
  #boss!: PgBoss;

  async start(env: SystemEnv): Promise<void> {
    this.#pool = new pg.Pool({ connectionString: env.databaseUrl, max: 1 });
    this.#boss = new PgBoss({
      connectionString: env.databaseUrl,
      max: 10,
      supervise: false,
      schedule: false,
    });
    this.#boss.on('error', (error) => console.error('pg-boss:', error));
    await this.#boss.start();
    // A table of its own, as its documentation advises for a large queue: 4 to 15 % faster here.
    await this.#boss.createQueue(queueName, { partition: true });
  }

  async submit(jobs: readonly BenchJob[]): Promise<void> {
    await inBatches({
      items: jobs,
      size: 1_000,
      lanes: 4,
      send: (batch) =>
        this.#boss.insert(
          queueName,
          batch.map(({ id }) => ({ data: { id } })),
        ),
    });
  }

  async drain(onRun: (id: string) => void, total: number): Promise<void> {
    let completed = 0;
    const fetcher = async () => {
      while (completed < total) {
        const jobs = await this.#boss.fetch<BenchJob>(queueName, { batchSize: fetchSize });
        // Nothing left to claim: what is missing is in the hands of another fetcher, or the ledger will tell.
        if (jobs.length === 0) return;
        for (const job of jobs) onRun(job.data.id);
        await this.#boss.complete(
          queueName,
          jobs.map((job) => job.id),
        );
        completed += jobs.length;
      }
    };
    await Promise.all(Array.from({ length: fetchers }, fetcher));
  }

  async countUnfinished(): Promise<number> {
    return this.#count("state in ('created', 'retry', 'active')");
  }

  async countHistory(): Promise<number> {
    return this.#count("state = 'completed'");
  }

  async stop(): Promise<void> {
    await this.#boss?.stop({ graceful: false });
    await this.#pool?.end();
  }

  async #count(condition: string): Promise<number> {
    const { rows } = await this.#pool.query<{ count: number }>(
      `select count(*)::int as count from pgboss.job where name = $1 and ${condition}`,
      [queueName],
    );
    return rows[0]!.count;
  }
}

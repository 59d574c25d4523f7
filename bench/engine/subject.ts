/**
 * The engine under measurement together with what watches it: ledgers of starts in memory, and a connection of its own to
 * ask the store, not the engine, what is recorded.
 */
import pg from 'pg';
import { SERVER } from '../../packages/domain/src/access/caller.ts';
import type { JobInput } from '../../packages/domain/src/job/define-job-input.ts';
import { plainArray } from '../../packages/server/src/postgres/array-literal.ts';
import type { RunContext } from '../../packages/worker/src/handler.ts';
import { inBatches } from '../in-batches.ts';
import { handlerName, type OpenEngine, openEngine } from './open-engine.ts';
import { StartLedger } from './start-ledger.ts';

const recordPatienceMs = 30_000;

export type Batch = { readonly ledger: StartLedger; readonly jobIds: readonly string[] };

export class Subject {
  readonly #open: OpenEngine;
  readonly #pool: pg.Pool;
  readonly #ledgers: Map<string, StartLedger>;
  readonly #openedMs = Date.now();
  #running = false;

  private constructor(open: OpenEngine, pool: pg.Pool, ledgers: Map<string, StartLedger>) {
    this.#open = open;
    this.#pool = pool;
    this.#ledgers = ledgers;
  }

  static async open(options: { databaseUrl: string; slots: number }): Promise<Subject> {
    const ledgers = new Map<string, StartLedger>();
    const handler = ({ payload, scheduledAt }: RunContext): void =>
      // Jobs of a backlog that become due meanwhile carry no mark, and are nobody's.
      ledgers.get(payload.batch as string)?.started(payload.index as number, scheduledAt.getTime());
    const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 1 });
    return new Subject(await openEngine({ ...options, handler }), pool, ledgers);
  }

  async start(): Promise<void> {
    this.#running = true;
    await this.#open.engine.start();
  }

  async unready(): Promise<string[]> {
    return this.#open.engine.unready();
  }

  /** Creates the jobs through the operation that the REST interface calls; durable when it resolves. */
  async create(options: {
    jobs: number;
    instantsMs?: Float64Array;
    scheduleOf: (index: number) => Partial<JobInput>;
  }): Promise<Batch> {
    const { jobs, instantsMs, scheduleOf } = options;
    const name = `batch-${this.#ledgers.size + 1}`;
    const ledger = new StartLedger(jobs, instantsMs);
    this.#ledgers.set(name, ledger);
    const jobIds: string[] = [];
    await inBatches({
      items: Array.from({ length: jobs }, (_, index) => index),
      size: 1_000,
      lanes: 4,
      send: async (indexes) => {
        const answers = await this.#open.engine.operations.createJobs(
          SERVER,
          indexes.map((index) => ({
            name: 'bench',
            handler: handlerName,
            payload: { batch: name, index },
            ...scheduleOf(index),
          })),
        );
        for (const answer of answers) {
          if (answer instanceof Error) throw answer;
          jobIds.push(answer.jobId);
        }
      },
    });
    return { ledger, jobIds };
  }

  createImmediate(jobs: number): Promise<Batch> {
    return this.create({ jobs, scheduleOf: () => ({ scheduleType: 'IMMEDIATE' }) });
  }

  /** What was started is recorded when no lease is left; whether all of it was, `assertCorrect` says. */
  async recorded(): Promise<void> {
    const giveUpAtMs = performance.now() + recordPatienceMs;
    while ((await this.#pool.query('SELECT FROM leases LIMIT 1')).rows.length > 0)
      if (performance.now() > giveUpAtMs) throw new Error('outcomes were not recorded in time');
  }

  /** Every job of the batch started once and recorded once. Only a stopped engine can be judged: it starts nothing more. */
  async assertCorrect({ ledger, jobIds }: Batch): Promise<void> {
    if (this.#running) throw new Error('stop the engine before judging it');
    const faults = ledger.faults();
    const { rows } = await this.#pool.query<{ pending: number; jobs: number; runs: number }>(
      `SELECT (SELECT count(*)::int FROM due WHERE kind > 0 AND job_id = ANY($1::uuid[])) AS pending,
         count(DISTINCT job_id)::int AS jobs, count(*)::int AS runs
       FROM job_runs WHERE job_id = ANY($1::uuid[]) AND status = 'SUCCESS' AND created_at >= to_timestamp($2::float8 / 1000)`,
      [plainArray(jobIds), this.#openedMs - 60_000],
    );
    const { pending, jobs, runs } = rows[0]!;
    if (pending > 0) faults.push(`${pending} still pending in the store`);
    if (jobs !== ledger.jobs || runs !== ledger.jobs)
      faults.push(`${runs} history rows of ${jobs} jobs for ${ledger.jobs} created`);
    if (faults.length > 0) throw new Error(`not correct: ${faults.join('; ')}`);
  }

  async stop(): Promise<void> {
    if (this.#running) await this.#open.engine.stop();
    this.#running = false;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#open.close();
    await this.#pool.end();
  }
}

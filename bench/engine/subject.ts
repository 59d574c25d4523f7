/**
 * The engine under measurement together with what watches it: ledgers of starts in memory, and a connection of its own to
 * ask the store, not the engine, what is recorded.
 */
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import { SERVER } from '../../packages/domain/src/access/caller.ts';
import type { JobId } from '../../packages/domain/src/ids.ts';
import type { JobInput } from '../../packages/domain/src/job/job.ts';
import type { RunContext } from '../../packages/worker/src/handler.ts';
import { makeTenants, type Tenants } from '../fairness/tenants.ts';
import { inBatches } from '../in-batches.ts';
import { handlerName, type OpenEngine, openEngine } from './open-engine.ts';
import {
  failIfPlanned,
  failsOnce,
  failuresAmong,
  type RunShape,
  resultOf,
  retriedAtOnce,
} from './run-shape.ts';
import { StartLedger } from './start-ledger.ts';
import { isAllRecorded, recordedRunsOf } from './store-facts.ts';

const recordPatienceMs = 30_000;
/** Above anything that is measured: how failures are spread over time is not what is asked. */
const retriesPerSecond = 1_000_000;
const sampleSize = 200;

export type Batch = { readonly ledger: StartLedger; readonly jobIds: readonly string[] };

export class Subject {
  readonly #open: OpenEngine;
  readonly #pool: pg.Pool;
  readonly #ledgers: Map<string, StartLedger>;
  readonly #shape: RunShape;
  readonly #openedMs = Date.now();
  #running = false;

  private constructor(parts: {
    open: OpenEngine;
    pool: pg.Pool;
    ledgers: Map<string, StartLedger>;
    shape: RunShape;
  }) {
    this.#open = parts.open;
    this.#pool = parts.pool;
    this.#ledgers = parts.ledgers;
    this.#shape = parts.shape;
  }

  static async open(options: {
    databaseUrl: string;
    slots: number;
    shape?: RunShape | undefined;
  }): Promise<Subject> {
    const { databaseUrl, slots, shape = 'plain' } = options;
    const ledgers = new Map<string, StartLedger>();
    const start = ({ payload, scheduledAt }: RunContext): void =>
      // Jobs of a backlog that become due meanwhile carry no mark, and are nobody's.
      ledgers.get(payload.batch as string)?.started(payload.index as number, scheduledAt.getTime());
    const startWithResult = (context: RunContext): object => {
      const index = context.payload.index as number;
      try {
        failIfPlanned(index, context);
      } catch (error) {
        ledgers.get(context.payload.batch as string)?.failed(index);
        throw error;
      }
      start(context);
      return resultOf(index);
    };
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    const open =
      shape === 'plain'
        ? await openEngine({ databaseUrl, slots, handler: start })
        : await openEngine({ databaseUrl, slots, handler: startWithResult, settings: { retriesPerSecond } });
    return new Subject({ open, pool, ledgers, shape });
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
    const jobIds = new Array<string>(jobs);
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
            ...(this.#shape === 'results' && retriedAtOnce),
            ...scheduleOf(index),
          })),
        );
        for (const [position, answer] of answers.entries()) {
          if (answer instanceof Error) throw answer;
          jobIds[indexes[position]!] = answer.jobId;
        }
      },
    });
    return { ledger, jobIds };
  }

  createImmediate(jobs: number, fieldsOf: (index: number) => Partial<JobInput> = () => ({})): Promise<Batch> {
    return this.create({
      jobs,
      scheduleOf: (index) => ({ scheduleType: 'IMMEDIATE', ...fieldsOf(index) }),
    });
  }

  makeTenants(tenants: Tenants): Promise<void> {
    return makeTenants(this.#open.engine, tenants);
  }

  /** What was started is recorded when no lease is left; whether all of it was, `assertCorrect` says. */
  async recorded(): Promise<void> {
    const giveUpAtMs = performance.now() + recordPatienceMs;
    while (!(await isAllRecorded(this.#pool)))
      if (performance.now() > giveUpAtMs) throw new Error('outcomes were not recorded in time');
  }

  /** Every job of the batch started once and recorded once. Only a stopped engine can be judged: it starts nothing more. */
  async assertCorrect(batch: Batch): Promise<void> {
    if (this.#running) throw new Error('stop the engine before judging it');
    const { ledger, jobIds } = batch;
    const faults = ledger.faults();
    const sinceMs = this.#openedMs - 60_000;
    const { pending, jobs, succeeded, failed } = await recordedRunsOf(this.#pool, { jobIds, sinceMs });
    if (pending > 0) faults.push(`${pending} still pending in the store`);
    if (jobs !== ledger.jobs || succeeded !== ledger.jobs)
      faults.push(`${succeeded} history rows of ${jobs} jobs for ${ledger.jobs} created`);
    const planned = this.#shape === 'results' ? failuresAmong(ledger.jobs) : 0;
    if (ledger.failures !== planned || failed !== planned)
      faults.push(`${ledger.failures} failed and ${failed} are recorded as such, planned were ${planned}`);
    if (this.#shape === 'results') faults.push(...(await this.#resultFaults(batch)));
    if (faults.length > 0) throw new Error(`not correct: ${faults.join('; ')}`);
  }

  /** Of some of the jobs, evenly chosen: every attempt as people see it, newest first, and the whole result. */
  async #resultFaults({ jobIds }: Batch): Promise<string[]> {
    const step = Math.max(1, Math.floor(jobIds.length / sampleSize));
    let wrong = 0;
    for (let index = 0; index < jobIds.length; index += step) {
      const runs = await this.#open.engine.operations.listRuns(SERVER, jobIds[index] as JobId, { limit: 10 });
      // Compared as values: the store may keep the fields of JSON in an order of its own.
      const seen = runs.map(({ status, result }) => (status === 'SUCCESS' ? parsed(result) : status));
      const wanted = failsOnce(index) ? [resultOf(index), 'FAILED'] : [resultOf(index)];
      if (!isDeepStrictEqual(seen, wanted)) wrong += 1;
    }
    return wrong === 0 ? [] : [`${wrong} jobs looked at have other attempts or results than planned`];
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

function parsed(result: string | undefined): unknown {
  return result === undefined ? undefined : JSON.parse(result);
}

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
import { createJobs, handlerName, type OpenEngine, openEngine } from './open-engine.ts';
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

type Batch = { readonly ledger: StartLedger; readonly jobIds: readonly JobId[] };

export class Subject {
  readonly #ledgers = new Map<string, StartLedger>();
  readonly #openedMs = Date.now();
  readonly #pool: pg.Pool;
  readonly #shape: RunShape;
  #open!: OpenEngine;

  private constructor(databaseUrl: string, shape: RunShape) {
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    this.#shape = shape;
  }

  static async open(options: {
    databaseUrl: string;
    slots: number;
    shape?: RunShape | undefined;
  }): Promise<Subject> {
    const { databaseUrl, slots, shape = 'plain' } = options;
    const subject = new Subject(databaseUrl, shape);
    subject.#open = await openEngine({
      databaseUrl,
      slots,
      handler: (context) => subject.#handle(context),
      settings: shape === 'results' ? { retriesPerSecond } : {},
    });
    return subject;
  }

  #handle(context: RunContext): object | undefined {
    const { payload, scheduledAt } = context;
    const index = payload.index as number;
    // Jobs of a backlog that become due meanwhile carry no mark, and are nobody's.
    const ledger = this.#ledgers.get(payload.batch as string);
    if (this.#shape === 'results') {
      try {
        failIfPlanned(index, context);
      } catch (error) {
        ledger?.failed(index);
        throw error;
      }
    }
    ledger?.started(index, scheduledAt.getTime());
    return this.#shape === 'results' ? resultOf(index) : undefined;
  }

  start(): Promise<void> {
    return this.#open.start();
  }

  async unready(): Promise<string[]> {
    return this.#open.engine.unready();
  }

  async create(options: {
    jobs: number;
    instantsMs?: Float64Array;
    scheduleOf: (index: number) => Partial<JobInput>;
  }): Promise<Batch> {
    const { jobs, instantsMs, scheduleOf } = options;
    const name = `batch-${this.#ledgers.size + 1}`;
    const ledger = new StartLedger(jobs, instantsMs);
    this.#ledgers.set(name, ledger);
    const jobIds = await createJobs(this.#open.engine, jobs, (index) => ({
      name: 'bench',
      handler: handlerName,
      payload: { batch: name, index },
      ...(this.#shape === 'results' && retriedAtOnce),
      ...scheduleOf(index),
    }));
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

  /** Every job of the batch started once and recorded once. Stops the engine first: then it starts nothing more. */
  async assertCorrect(batch: Batch): Promise<void> {
    await this.stop();
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
      const runs = await this.#open.engine.operations.listRuns(SERVER, jobIds[index]!, { limit: 10 });
      // Compared as values: the store may keep the fields of JSON in an order of its own.
      const seen = runs.map(({ status, result }) => (status === 'SUCCESS' ? parsed(result) : status));
      const wanted = failsOnce(index) ? [resultOf(index), 'FAILED'] : [resultOf(index)];
      if (!isDeepStrictEqual(seen, wanted)) wrong += 1;
    }
    return wrong === 0 ? [] : [`${wrong} jobs looked at have other attempts or results than planned`];
  }

  stop(): Promise<void> {
    return this.#open.stop();
  }

  async close(): Promise<void> {
    await this.#open.close();
    await this.#pool.end();
  }
}

function parsed(result: string | undefined): unknown {
  return result === undefined ? undefined : JSON.parse(result);
}

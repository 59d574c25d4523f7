/**
 * The way in that writes straight to the storage, in groups: jobs that arrive together share one transaction. Bounded:
 * when the storage is slower than the callers for long, new jobs are refused at once instead of waiting without end.
 */
import { Refusal } from '@carillon/domain';
import { BatchBuffer, type Clock } from '@carillon/foundation';
import { applyInBatches } from '../storage/apply-in-batches.ts';
import type { InsertedJob, JobStore, NewJob } from '../storage/job-store.ts';
import type { Ingest } from './ingest.ts';

export interface DirectIngestOptions {
  readonly jobs: Pick<JobStore, 'insert'>;
  readonly batchMax?: number;
  readonly flushesMax?: number;
  readonly capacity?: number;
  readonly clock: Clock;
  /** As BatchBuffer has it. */
  readonly defer?: (flush: () => void) => void;
}

/** Fewer new jobs than this wait for the transaction under way instead of opening another. */
const BESIDE_MIN = 24;
/**
 * Callers who were answered together send their next jobs together: these gather for about this long, since a transaction has a
 * cost of its own. A few callers, each of whom waits for its answer, never wait for others.
 */
const COOLDOWN = { msMax: 2, itemsMin: 8 };
/** More than this many wait for longer than that: whoever comes now learns at once that the server is busy, and may ask another. */
const WAIT_MAX = { items: 500, ms: 200 };
/** A batch of this many gains nothing by waiting for others: such have transactions of their own, so many at a time. */
const LARGE_MIN = 250;
const LARGE_FLUSHES_MAX = 3;
/** Few: each takes as long as a statement may run, and callers wait for it. */
const TIMEOUTS_MAX = 3;

class NotInserted {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

type Outcome = InsertedJob | NotInserted;

export class DirectIngest implements Ingest {
  readonly #jobs: Pick<JobStore, 'insert'>;
  readonly #buffer: BatchBuffer<NewJob, Outcome>;
  readonly #large: BatchBuffer<NewJob, Outcome>;
  readonly #batchMax: number;
  readonly #capacity: number;
  /** Batches that share their transaction with nobody; bounded like the others, or they would take all connections. */
  readonly #wholes: BatchBuffer<readonly NewJob[], readonly InsertedJob[]>;
  #wholeJobs = 0;

  constructor(options: DirectIngestOptions) {
    const { jobs, clock, batchMax = 1_000, flushesMax = 2, capacity = 50_000, defer } = options;
    this.#jobs = jobs;
    this.#batchMax = batchMax;
    this.#capacity = capacity;
    this.#buffer = new BatchBuffer({
      flush: (batch) => this.#insert(batch),
      batchMax,
      flushesMax,
      capacity,
      onFull: overloaded,
      besideMin: BESIDE_MIN,
      cooldown: { ...COOLDOWN, clock },
      waitMax: { ...WAIT_MAX, clock },
      ...(defer && { defer }),
    });
    this.#large = new BatchBuffer({
      flush: (batch) => this.#insert(batch),
      batchMax,
      flushesMax: LARGE_FLUSHES_MAX,
      capacity,
      onFull: overloaded,
    });
    this.#wholes = new BatchBuffer({
      flush: async (batches) => {
        const [batch] = batches;
        return [await jobs.insert(batch!, { atomic: true })];
      },
      batchMax: 1,
      flushesMax,
      capacity,
      onFull: overloaded,
    });
  }

  async accept(job: NewJob): Promise<InsertedJob> {
    this.#requireRoom(1);
    return insertedOf(await this.#buffer.add(job));
  }

  /** All find room or none is taken, so that "overloaded" always means that nothing was accepted. */
  async acceptAll(jobs: readonly NewJob[]): Promise<InsertedJob[]> {
    this.#requireRoom(jobs.length);
    const buffer = jobs.length < LARGE_MIN ? this.#buffer : this.#large;
    const parts: Promise<readonly Outcome[]>[] = [];
    for (let from = 0; from < jobs.length; from += this.#batchMax)
      parts.push(buffer.addAll(jobs.slice(from, from + this.#batchMax)));
    const outcomes = parts.length === 1 ? await parts[0]! : (await Promise.all(parts)).flat();
    return outcomes.map(insertedOf);
  }

  /** Not in the buffer: who shares a transaction with others cannot take it back. */
  async acceptAtomic(jobs: readonly NewJob[]): Promise<InsertedJob[]> {
    this.#requireRoom(jobs.length);
    this.#wholeJobs += jobs.length;
    try {
      return [...(await this.#wholes.add(jobs))];
    } finally {
      this.#wholeJobs -= jobs.length;
    }
  }

  /** Resolves when everything taken so far is written or refused. */
  async drained(): Promise<void> {
    await Promise.all([this.#buffer.drained(), this.#large.drained(), this.#wholes.drained()]);
  }

  #requireRoom(count: number): void {
    const taken = this.#buffer.size + this.#large.size + this.#wholeJobs;
    if (taken + count > this.#capacity || (count < LARGE_MIN && this.#buffer.isFull)) throw overloaded();
  }

  /** Callers who never met share a transaction: one job that the storage cannot take must not fail the others. */
  #insert(batch: readonly NewJob[]): Promise<readonly Outcome[]> {
    return applyInBatches<NewJob, Outcome>(batch, {
      apply: (part) => this.#jobs.insert(auditedAtOnce(part)),
      fail: (error) => new NotInserted(error),
      timeoutsMax: TIMEOUTS_MAX,
    });
  }
}

/** Written together is done at one instant, the latest of them: the audit log then keeps the jobs of one caller as one row. */
function auditedAtOnce(batch: readonly NewJob[]): readonly NewJob[] {
  const atMs = batch.at(-1)?.audit?.atMs;
  if (atMs === undefined || batch.every(({ audit }) => audit?.atMs === atMs)) return batch;
  return batch.map((entry) => (entry.audit ? { ...entry, audit: { ...entry.audit, atMs } } : entry));
}

function insertedOf(outcome: Outcome): InsertedJob {
  if (outcome instanceof NotInserted) throw outcome.error;
  return outcome;
}

function overloaded(): Refusal {
  return new Refusal(
    'overloaded',
    'Too many jobs are waiting to be written; nothing of this request was accepted.',
  );
}

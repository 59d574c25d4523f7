/**
 * Admits runs of jobs with a limit, in the shards of this node: planned runs (retries, run-now, redriven) at their instant, and
 * waiting runs when a slot becomes free. The storage decides; the admitter chooses when it is asked, and about which jobs.
 */
import { type JobId, shardOf } from '@carillon/domain';
import { Loop, type Service } from '@carillon/foundation';
import type {
  Admitted,
  OwnerOptions,
  PlannedRun,
  ShardGuard,
  WaitingJob,
} from '../storage/schedule-store.ts';
import { DelayQueue } from './delay-queue.ts';
import { handleInBatches } from './handle-in-batches.ts';
import { OwnedShards } from './owned-shards.ts';
import { RetryQueue } from './retry-queue.ts';
import type { SchedulerOptions } from './scheduler.ts';

const IDLE_MS = 1_000;
const JOBS_PER_ADMISSION = 500;
/** Runs that one admission opens, or leaves waiting, about: a job may have thousands of slots. */
const RUNS_PER_ADMISSION = 2_000;
/** Jobs whose admission failed are tried again after so long the first time, and then ever later. */
const RETRY_MS_FIRST = 1_000;
const RETRY_MS_MAX = 10_000;
/**
 * A run that was left waiting may have missed the slot that became free in the same moment: the statements that freed it and
 * that left it waiting have not seen each other. Its job is tried once more.
 */
const ASK_AGAIN_MS = 50;

export class Admitter implements Service {
  readonly #options: SchedulerOptions;
  readonly #planned: OwnedShards<PlannedRun>;
  readonly #loop: Loop;
  readonly #unsubscribe: () => void;
  /** Jobs of which runs may be admitted now. */
  readonly #toAdmit = new Set<JobId>();
  /** Jobs that are tried once more. */
  readonly #again: DelayQueue<JobId>;
  readonly #failed: RetryQueue<JobId>;
  /** Jobs whose newest occurrence waits and replaces the others. */
  readonly #toReplace = new Map<JobId, WaitingJob>();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { clock, signals, store } = options;
    this.#again = new DelayQueue({ clock, afterMs: ASK_AGAIN_MS });
    this.#failed = new RetryQueue({
      ...{ clock, firstMs: RETRY_MS_FIRST, mostMs: RETRY_MS_MAX },
      keyOf: (jobId) => jobId,
    });
    this.#loop = new Loop({ ...options, name: 'admitter', idleMs: IDLE_MS, runOnce: () => this.runOnce() });
    this.#planned = new OwnedShards({
      ...options,
      wake: () => this.#loop.wake(),
      read: (positions, window) => store.readPlanned(positions, window),
      keyOf: ({ runId, fireAtMs }) => `${runId}@${fireAtMs}`,
      idOf: ({ runId }) => runId,
    });
    this.#unsubscribe = signals.on('slots-freed', ({ jobIds }) => this.admitSoon(jobIds));
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#planned.close();
    await this.#loop.stop();
  }

  wake(): void {
    this.#loop.wake();
  }

  get rowsAhead(): number {
    return this.#planned.size;
  }

  /** Runs of these jobs may be admitted; jobs in shards of other nodes are ignored. */
  admitSoon(jobIds: Iterable<JobId>): void {
    let isMine = false;
    for (const jobId of jobIds) {
      if (!this.#planned.owns(shardOf(jobId))) continue;
      this.#toAdmit.add(jobId);
      isMine = true;
    }
    if (isMine) this.#loop.wake();
  }

  /** Announces what was opened, and remembers what was left waiting. */
  follow({ opened, waiting }: Admitted, { isAgain = false } = {}): void {
    if (opened.length > 0) this.#options.signals.send('runs-open', { lanes: opened });
    if (waiting.length === 0) return;
    for (const job of waiting) {
      if (!isAgain) this.#again.add(job.jobId);
      if (job.replaces) this.#toReplace.set(job.jobId, job);
    }
    this.#loop.wake();
  }

  /** One pass: follow ownership, read, admit. Returns how long nothing will be due. */
  async runOnce(): Promise<number> {
    const guard = this.#options.guard();
    if (!this.#planned.follow(guard)) return IDLE_MS;
    await this.#planned.read();
    await this.#replaceSome(guard);
    if (await this.#admitDue(guard)) return 0;
    if (this.#toAdmit.size > 0) return 0;
    return Math.min(this.#planned.untilNext(), this.#again.inMs, this.#failed.inMs);
  }

  /** For jobs whose newest occurrence replaces the others. */
  async replace(waiting: readonly WaitingJob[], guard: ShardGuard): Promise<void> {
    const { store, signals, clock } = this.#options;
    const jobIds = waiting.filter(({ replaces }) => replaces).map(({ jobId }) => jobId);
    if (jobIds.length === 0) return;
    const runIds = await store.replace(jobIds, { guard, nowMs: clock.now() });
    signals.send('events-recorded', {});
    if (runIds.length > 0) signals.send('cancel-requested', { runIds });
    const admitted = await store.admit(jobIds, { guard, nowMs: clock.now(), runsPerJob: RUNS_PER_ADMISSION });
    this.follow({ ...admitted, waiting: [] });
  }

  async #replaceSome(guard: ShardGuard): Promise<void> {
    const jobs = [...this.#toReplace.values()].slice(0, JOBS_PER_ADMISSION);
    for (const { jobId } of jobs) this.#toReplace.delete(jobId);
    try {
      await this.replace(jobs, guard);
    } catch (error) {
      for (const job of jobs) this.#toReplace.set(job.jobId, job);
      throw error;
    }
  }

  /** False when there was no job to admit runs of. */
  async #admitDue(guard: ShardGuard): Promise<boolean> {
    const nowMs = this.#options.clock.now();
    const planned = this.#planned.takeDue(nowMs, JOBS_PER_ADMISSION).map(({ jobId }) => jobId);
    const again = new Set(this.#again.take());
    for (const jobId of [...planned, ...this.#failed.take()]) this.#toAdmit.add(jobId);
    const jobIds = [...new Set([...this.#toAdmit, ...again])].slice(0, JOBS_PER_ADMISSION);
    if (jobIds.length === 0) return false;
    for (const jobId of again) this.#toAdmit.add(jobId);
    for (const jobId of jobIds) this.#toAdmit.delete(jobId);
    await this.#admit(jobIds, { guard, nowMs, isAgain: jobIds.every((jobId) => again.has(jobId)) });
    return true;
  }

  #admit(
    jobIds: readonly JobId[],
    { guard, nowMs, isAgain }: OwnerOptions & { isAgain: boolean },
  ): Promise<void> {
    const { store, log } = this.#options;
    const runsPerJob = Math.ceil(RUNS_PER_ADMISSION / jobIds.length);
    return handleInBatches(jobIds, {
      handle: async (batch) => {
        const admitted = await store.admit(batch, { guard, nowMs, runsPerJob });
        this.follow(admitted, { isAgain });
        for (const jobId of admitted.more) this.#toAdmit.add(jobId);
      },
      putBack: (jobId) => this.#toAdmit.add(jobId),
      setAside: (jobId, error) => {
        const retryInMs = this.#failed.add(jobId);
        log.error({ err: error, jobId, retryInMs }, 'runs of a job cannot be admitted; trying again later');
      },
    });
  }
}

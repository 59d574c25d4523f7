/**
 * Lets in the runs that ask for a place of their job, in the shards of this node: retries, run-now and redriven runs at their
 * instant, and what waits when a place becomes free. The storage decides; this says when it is asked, and about which jobs.
 */
import { type JobId, shardOf } from '@carillon/domain';
import { Loop, type Service } from '@carillon/foundation';
import type { Admitted, AskingRun, WaitingJob } from '../storage/schedule-store.ts';
import type { ShardGuard } from '../storage/shard-guard.ts';
import { OwnedShards } from './owned-shards.ts';
import type { SchedulerOptions } from './scheduler.ts';

const IDLE_MS = 1_000;
const JOBS_PER_ADMISSION = 500;
/**
 * A run that was left waiting may have missed the place that became free in the same moment: the statements that freed it and
 * that left it waiting have not seen each other. It is asked for once more.
 */
const ASK_AGAIN_MS = 50;

export class Admitter implements Service {
  readonly #options: SchedulerOptions;
  readonly #asking: OwnedShards<AskingRun>;
  readonly #loop: Loop;
  readonly #unsubscribe: () => void;
  /** Jobs of which runs may be let in now. */
  readonly #toAdmit = new Set<JobId>();
  /** Jobs that are asked about once more, and when. */
  readonly #again = new Map<JobId, number>();
  /** Jobs whose newest occurrence waits and replaces the others. */
  readonly #toReplace = new Map<JobId, WaitingJob>();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { clock, random, log, signals, store } = options;
    this.#loop = new Loop({
      name: 'admitter',
      clock,
      random,
      log,
      idleMs: IDLE_MS,
      runOnce: () => this.runOnce(),
    });
    this.#asking = new OwnedShards({
      ...options,
      wake: () => this.#loop.wake(),
      read: (places, window) => store.readAsking(places, window),
      keyOf: ({ runId, fireAtMs }) => `${runId}@${fireAtMs}`,
      idOf: ({ runId }) => runId,
    });
    this.#unsubscribe = signals.on('places-freed', ({ jobIds }) => this.admitSoon(jobIds));
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#asking.close();
    await this.#loop.stop();
  }

  wake(): void {
    this.#loop.wake();
  }

  get held(): number {
    return this.#asking.size;
  }

  /** Runs of these jobs may be let in; those of others are somebody else's. */
  admitSoon(jobIds: Iterable<JobId>): void {
    let isMine = false;
    for (const jobId of jobIds) {
      if (!this.#asking.owns(shardOf(jobId))) continue;
      this.#toAdmit.add(jobId);
      isMine = true;
    }
    if (isMine) this.#loop.wake();
  }

  /** Tells of what was opened, and remembers what was left waiting. */
  follow({ opened, waiting }: Admitted, { isAgain = false } = {}): void {
    const { signals, clock } = this.#options;
    if (opened.length > 0) signals.send('runs-open', { lanes: opened });
    if (waiting.length === 0) return;
    const at = clock.monotonic() + ASK_AGAIN_MS;
    for (const job of waiting) {
      if (!isAgain && !this.#again.has(job.jobId)) this.#again.set(job.jobId, at);
      if (job.replaces) this.#toReplace.set(job.jobId, job);
    }
    this.#loop.wake();
  }

  /** One pass: follow ownership, read, admit. Answers how long nothing will be due. */
  async runOnce(): Promise<number> {
    const { clock } = this.#options;
    const guard = this.#options.guard();
    if (!this.#asking.follow(guard)) return IDLE_MS;
    await this.#asking.read();
    await this.#replaceSome(guard);
    if (await this.#admitDue(guard)) return 0;
    const [again] = this.#again.values();
    const againInMs = (again ?? Number.POSITIVE_INFINITY) - clock.monotonic();
    return this.#toAdmit.size > 0 ? 0 : Math.max(0, Math.min(this.#asking.untilNext(), againInMs));
  }

  /** For jobs whose newest occurrence replaces the others. */
  async replace(waiting: readonly WaitingJob[], guard: ShardGuard): Promise<void> {
    const { store, signals, clock } = this.#options;
    const jobIds = waiting.filter(({ replaces }) => replaces).map(({ jobId }) => jobId);
    if (jobIds.length === 0) return;
    const runIds = await store.replace(jobIds, { guard, nowMs: clock.now() });
    signals.send('events-recorded', {});
    if (runIds.length > 0) signals.send('cancel-requested', { runIds });
    const { opened } = await store.admit(jobIds, { guard, nowMs: clock.now() });
    if (opened.length > 0) signals.send('runs-open', { lanes: opened });
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

  /** True when somebody asked. */
  async #admitDue(guard: ShardGuard): Promise<boolean> {
    const { clock, store } = this.#options;
    const nowMs = clock.now();
    const asking = this.#asking.takeDue(nowMs, JOBS_PER_ADMISSION);
    for (const { jobId } of asking) this.#toAdmit.add(jobId);
    const again = this.#dueAgain();
    if (this.#toAdmit.size === 0 && again.size === 0) return false;
    const jobIds = [...new Set([...this.#toAdmit, ...again])].slice(0, JOBS_PER_ADMISSION);
    for (const jobId of again) this.#toAdmit.add(jobId);
    for (const jobId of jobIds) this.#toAdmit.delete(jobId);
    try {
      const admitted = await store.admit(jobIds, { guard, nowMs });
      this.follow(admitted, { isAgain: jobIds.every((jobId) => again.has(jobId)) });
    } catch (error) {
      this.#asking.putBack(asking);
      for (const jobId of jobIds) this.#toAdmit.add(jobId);
      throw error;
    }
    return true;
  }

  #dueAgain(): Set<JobId> {
    const now = this.#options.clock.monotonic();
    const due = new Set<JobId>();
    for (const [jobId, at] of this.#again) {
      // In the order they were noted, so the first that is not due ends it.
      if (at > now) break;
      this.#again.delete(jobId);
      due.add(jobId);
    }
    return due;
  }
}

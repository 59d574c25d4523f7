/**
 * Fires due cursors at their instant, in the shards of this node: each becomes runs that are open, waiting or skipped, by the limit of
 * its job (one statement per batch). The length of the backlog makes no difference here: only the waiting runs of a job that fires are
 * counted, up to a bound.
 */
import { fireTime, type JobId, occurrenceRunId, planFires } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { Cursor } from '../storage/due.ts';
import type { Fire, Fired, ScheduleStore, ShardGuard, WaitingJob } from '../storage/schedule-store.ts';
import { Admitter } from './admitter.ts';
import { DelayQueue } from './delay-queue.ts';
import { handleInBatches } from './handle-in-batches.ts';
import { OwnedShards } from './owned-shards.ts';
import { RetryQueue } from './retry-queue.ts';

export interface SchedulerOptions {
  readonly store: ScheduleStore;
  readonly signals: SignalBus;
  readonly guard: () => ShardGuard;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly windowMs: number;
  readonly rowsPerShard: number;
}

const IDLE_MS = 1_000;
const FIRES_PER_BATCH = 1_000;
/** Runs made by one batch of fires, about: a policy may catch up thousands for each cursor. */
const RUNS_PER_BATCH = 2_000;
/** Cursors that had changed are read again at once, and then at most this often: their shard may belong to another node by now. */
const READ_AGAIN_MS = 50;
/** Cursors that could not be fired are tried again after so long the first time, and then ever later. */
const RETRY_MS_FIRST = 1_000;
const RETRY_MS_MAX = 60_000;

export class Scheduler implements Service {
  readonly #options: SchedulerOptions;
  readonly #cursors: OwnedShards<Cursor>;
  /** Has a loop of its own: admission may take long, and no schedule waits for it. */
  readonly #admitter: Admitter;
  readonly #loop: Loop;
  readonly #changed: DelayQueue<Cursor>;
  #readAgainAt = 0;
  readonly #failed: RetryQueue<Cursor>;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { clock, store } = options;
    this.#admitter = new Admitter(options);
    this.#changed = new DelayQueue({ clock, afterMs: READ_AGAIN_MS });
    this.#failed = new RetryQueue({
      ...{ clock, firstMs: RETRY_MS_FIRST, mostMs: RETRY_MS_MAX },
      keyOf: ({ jobId }) => jobId,
    });
    this.#loop = new Loop({ ...options, name: 'scheduler', idleMs: IDLE_MS, runOnce: () => this.fireOnce() });
    this.#cursors = new OwnedShards({
      ...options,
      wake: () => this.#loop.wake(),
      read: (positions, window) => store.readCursors(positions, window),
      keyOf: ({ jobId, nominalAtMs, jobVersion }) => `${jobId}@${nominalAtMs}.${jobVersion}`,
      idOf: ({ jobId }) => jobId,
    });
  }

  start(): void {
    this.#loop.start();
    this.#admitter.start();
  }

  async stop(): Promise<void> {
    this.#cursors.close();
    await Promise.all([this.#loop.stop(), this.#admitter.stop()]);
  }

  wake(): void {
    this.#loop.wake();
    this.#admitter.wake();
  }

  /** Rows read ahead and kept in memory. */
  get rowsAhead(): number {
    return this.#cursors.size + this.#admitter.rowsAhead;
  }

  /** Runs of these jobs may be admitted. */
  admitSoon(jobIds: Iterable<JobId>): void {
    this.#admitter.admitSoon(jobIds);
  }

  /** For jobs whose newest occurrence replaces the others. */
  replace(waiting: readonly WaitingJob[], guard: ShardGuard): Promise<void> {
    return this.#admitter.replace(waiting, guard);
  }

  /** A pass of both loops. Returns how long nothing will be due. */
  async runOnce(): Promise<number> {
    const fireInMs = await this.fireOnce();
    return Math.min(fireInMs, await this.#admitter.runOnce());
  }

  /** One pass: follow ownership, read, fire. Returns how long nothing will be due. */
  async fireOnce(): Promise<number> {
    const { clock } = this.#options;
    const guard = this.#options.guard();
    if (!this.#cursors.follow(guard)) return IDLE_MS;
    for (const { shard, fireAtMs } of this.#changed.take()) this.#cursors.touch(shard, fireAtMs);
    this.#cursors.putBack(this.#failed.take());
    await this.#cursors.read();
    const nowMs = clock.now();
    const due = newestOfEachJob(this.#cursors.takeDue(nowMs, FIRES_PER_BATCH));
    if (due.length === 0) return Math.min(this.#cursors.untilNext(), this.#changed.inMs, this.#failed.inMs);
    const { fires, rest } = this.#plan(due, nowMs);
    this.#cursors.putBack(rest);
    await this.#fire(fires, { guard, nowMs });
    return 0;
  }

  /** A failure loses nothing: a cursor that did fire fails its compare-and-set the next time (SCHED-1). */
  async #fire(fires: readonly Fire[], options: { guard: ShardGuard; nowMs: number }): Promise<void> {
    const { store, log } = this.#options;
    await handleInBatches(fires, {
      handle: async (batch) => this.#follow(batch, await store.fire(batch, options)),
      putBack: ({ cursor }) => this.#cursors.putBack([cursor]),
      setAside: ({ cursor }, error) => {
        const retryInMs = this.#failed.add(cursor);
        const { jobId } = cursor;
        log.error({ err: error, jobId, retryInMs }, 'a schedule cannot be fired; trying again later');
      },
    });
  }

  /** The next occurrence of a fired cursor is known without reading it back. */
  #follow(fires: readonly Fire[], fired: Fired): void {
    this.#admitter.follow(fired);
    if (fired.skipped > 0 || fires.some((fire) => fire.skipped.length > 0))
      this.#options.signals.send('events-recorded', {});
    const now = this.#options.clock.monotonic();
    const mayReadAgain = now >= this.#readAgainAt;
    for (const { cursor, next } of fires) {
      if (fired.later.has(cursor.jobId)) this.#cursors.putBack([cursor]);
      else if (!fired.jobIds.has(cursor.jobId)) {
        // It may be due as it is now.
        if (mayReadAgain) this.#cursors.touch(cursor.shard, cursor.fireAtMs);
        else this.#changed.add(cursor);
        this.#readAgainAt = Math.max(this.#readAgainAt, mayReadAgain ? now + READ_AGAIN_MS : 0);
      } else if (next) this.#cursors.offer({ ...cursor, ...next, resumedAtMs: undefined });
    }
  }

  /** As many as make a batch; rest: the others. */
  #plan(cursors: readonly Cursor[], nowMs: number): { fires: Fire[]; rest: Cursor[] } {
    const fires: Fire[] = [];
    let runs = 0;
    for (const [i, cursor] of cursors.entries()) {
      if (runs >= RUNS_PER_BATCH) return { fires, rest: cursors.slice(i) };
      try {
        const fire = planFire(cursor, nowMs);
        runs += fire.runs.length;
        fires.push(fire);
      } catch (error) {
        const { jobId } = cursor;
        this.#options.log.error({ err: error, jobId }, 'a schedule cannot be planned; its job does not fire');
      }
    }
    return { fires, rest: [] };
  }
}

function planFire(cursor: Cursor, nowMs: number): Fire {
  const { schedule, misfire, jobId, nominalAtMs: cursorMs, resumedAtMs, skips } = cursor;
  const plan = planFires({ schedule, misfire, jobId, cursorMs, nowMs, resumedAtMs, skips });
  return {
    cursor,
    runs: plan.run.map((nominalAtMs) => ({ runId: occurrenceRunId(jobId, nominalAtMs), nominalAtMs })),
    // A range stands for its first occurrence.
    skipped: plan.skipped.map((range) => ({ runId: occurrenceRunId(jobId, range.fromMs), ...range })),
    next:
      plan.nextMs === undefined
        ? undefined
        : { nominalAtMs: plan.nextMs, fireAtMs: fireTime({ schedule, jobId, nominalMs: plan.nextMs }) },
  };
}

/** After an edit or a lost answer an outdated cursor may be in memory beside the current one; only the current one can fire. */
function newestOfEachJob(cursors: readonly Cursor[]): Cursor[] {
  const newest = new Map<JobId, Cursor>();
  for (const cursor of cursors) {
    const other = newest.get(cursor.jobId);
    const isNewer =
      !other ||
      cursor.jobVersion > other.jobVersion ||
      (cursor.jobVersion === other.jobVersion && cursor.nominalAtMs > other.nominalAtMs);
    if (isNewer) newest.set(cursor.jobId, cursor);
  }
  return [...newest.values()];
}

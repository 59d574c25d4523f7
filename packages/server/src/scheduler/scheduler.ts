/**
 * Fires what is due at its instant, in the shards of this node: due cursors become runs (one transaction per batch, compare-and-set
 * on each cursor), open, waiting or skipped by the limits of their jobs. How many runs wait to be executed, or to be let in, makes
 * no difference here: it never looks at them.
 */
import { fireTime, type JobId, occurrenceRunId, planFires } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { Cursor } from '../storage/due.ts';
import type { Fire, Fired, ScheduleStore, WaitingJob } from '../storage/schedule-store.ts';
import type { ShardGuard } from '../storage/shard-guard.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import { Admitter } from './admitter.ts';
import { OwnedShards } from './owned-shards.ts';

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
/** Cursors that had changed are read again at most this often: they may also be somebody else's by now. */
const READ_AGAIN_MS = 50;

export class Scheduler implements Service {
  readonly #options: SchedulerOptions;
  readonly #cursors: OwnedShards<Cursor>;
  /** Has a loop of its own: letting runs in may take long, and no schedule waits for it. */
  readonly #admitter: Admitter;
  readonly #loop: Loop;
  #readAgainAt = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { clock, random, log, store } = options;
    this.#admitter = new Admitter(options);
    this.#loop = new Loop({
      name: 'scheduler',
      clock,
      random,
      log,
      idleMs: IDLE_MS,
      runOnce: () => this.fireOnce(),
    });
    this.#cursors = new OwnedShards({
      ...options,
      wake: () => this.#loop.wake(),
      read: (places, window) => store.readCursors(places, window),
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

  /** Instants held in memory. */
  get held(): number {
    return this.#cursors.size + this.#admitter.held;
  }

  /** Runs of these jobs may be let in. */
  admitSoon(jobIds: Iterable<JobId>): void {
    this.#admitter.admitSoon(jobIds);
  }

  /** For jobs whose newest occurrence replaces the others. */
  replace(waiting: readonly WaitingJob[], guard: ShardGuard): Promise<void> {
    return this.#admitter.replace(waiting, guard);
  }

  /** A pass of both loops. Answers how long nothing will be due. */
  async runOnce(): Promise<number> {
    const fireInMs = await this.fireOnce();
    return Math.min(fireInMs, await this.#admitter.runOnce());
  }

  /** One pass: follow ownership, read, fire. Answers how long nothing will be due. */
  async fireOnce(): Promise<number> {
    const { clock } = this.#options;
    const guard = this.#options.guard();
    if (!this.#cursors.follow(guard)) return IDLE_MS;
    await this.#cursors.read();
    const nowMs = clock.now();
    const due = newestOfEachJob(this.#cursors.takeDue(nowMs, FIRES_PER_BATCH));
    if (due.length === 0) return this.#cursors.untilNext();
    const { fires, rest } = this.#plan(due, nowMs);
    this.#cursors.putBack(rest);
    await this.#fire(fires, { guard, nowMs });
    return 0;
  }

  /** One cursor that cannot be fired holds up no other: the batch is halved until it stands alone. */
  async #fire(fires: readonly Fire[], options: { guard: ShardGuard; nowMs: number }): Promise<void> {
    const { store, signals, log } = this.#options;
    try {
      const fired = await store.fire(fires, options);
      this.#admitter.follow(fired);
      if (fired.skipped > 0 || fires.some((fire) => fire.skipped.length > 0))
        signals.send('events-recorded', {});
      this.#holdNext(fires, fired);
    } catch (error) {
      const isEverybodys = error instanceof StorageUnavailable || error instanceof StorageTimeout;
      if (!isEverybodys && fires.length > 1) {
        const half = Math.ceil(fires.length / 2);
        await this.#fire(fires.slice(0, half), options);
        await this.#fire(fires.slice(half), options);
        return;
      }
      // Nothing is lost: what did fire fails its compare-and-set the next time. What cannot is found again by the next full pass.
      if (isEverybodys) this.#cursors.putBack(fires.map(({ cursor }) => cursor));
      else
        log.error(
          { err: error, jobId: fires[0]!.cursor.jobId },
          'a schedule cannot be fired; trying again later',
        );
      if (isEverybodys) throw error;
    }
  }

  /** What comes next of them is known, without reading it back. */
  #holdNext(fires: readonly Fire[], { jobIds, later }: Fired): void {
    const lost: Fire[] = [];
    for (const fire of fires) {
      const { cursor, next } = fire;
      if (later.has(cursor.jobId)) this.#cursors.putBack([cursor]);
      else if (!jobIds.has(cursor.jobId)) lost.push(fire);
      else if (next) this.#cursors.offer({ ...cursor, ...next, resumedAtMs: undefined });
    }
    this.#readAgain(lost);
  }

  /** Cursors that had changed may be due as they are now. At most once in a while: they may also be somebody else's by now. */
  #readAgain(lost: readonly Fire[]): void {
    const now = this.#options.clock.monotonic();
    if (lost.length === 0 || now < this.#readAgainAt) return;
    this.#readAgainAt = now + READ_AGAIN_MS;
    for (const { cursor } of lost) this.#cursors.touch(cursor.shard, cursor.fireAtMs);
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
  const { schedule, misfire, jobId, nominalAtMs: cursorMs, resumedAtMs } = cursor;
  const plan = planFires({ schedule, misfire, jobId, cursorMs, nowMs, resumedAtMs });
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

/** After an edit or a lost answer an outdated cursor may be held beside the present one; only that one can win. */
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

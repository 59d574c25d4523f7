/**
 * Fires what is due at its instant, in the shards of this node, and lets in the runs that ask for a place of their job. Due
 * cursors become runs (one transaction per batch, compare-and-set on each cursor), open, waiting or skipped by the limits of
 * their jobs. How many runs wait to be executed makes no difference here: it never looks at them.
 */
import { fireTime, type JobId, occurrenceRunId, planFires, shardOf } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { Cursor } from '../storage/due.ts';
import type { Admitted, AskingRun, Fire, ScheduleStore, WaitingJob } from '../storage/schedule-store.ts';
import type { ShardGuard } from '../storage/shard-guard.ts';
import { LookAhead } from './look-ahead.ts';

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

/** A lost hint costs at most this much. */
const SWEEP_MS = 1_000;
const FULL_SWEEP_MS = 60_000;
const READ_AHEAD_MS = 20_000;
const FIRES_PER_BATCH = 1_000;
/** Runs made by one batch of fires, about: a policy may catch up thousands for each cursor. */
const RUNS_PER_BATCH = 2_000;
const JOBS_PER_ADMISSION = 500;
/**
 * A run that was left waiting may have missed the place that became free in the same moment: the statements that freed it and
 * that left it waiting have not seen each other. It is asked for once more.
 */
const ASK_AGAIN_MS = 50;

export class Scheduler implements Service {
  readonly #options: SchedulerOptions;
  readonly #cursors: LookAhead<Cursor>;
  readonly #asking: LookAhead<AskingRun>;
  readonly #loop: Loop;
  readonly #unsubscribe: () => void;
  #owned: ReadonlyMap<number, number> = new Map();
  /** Jobs of which runs may be let in now. */
  #toAdmit = new Set<JobId>();
  /** Jobs that are asked about once more, and when. */
  readonly #again = new Map<JobId, number>();
  #againAt = 0;
  #sweepAt = 0;
  #fullSweepAt = 0;
  #readAheadAt = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { clock, random, log, signals, store, windowMs, rowsPerShard } = options;
    const bounds = { windowMs, rowsPerShard };
    this.#cursors = new LookAhead({
      ...bounds,
      read: (places, window) => store.readCursors(places, window),
      keyOf: ({ jobId, nominalAtMs, jobVersion }) => `${jobId}@${nominalAtMs}.${jobVersion}`,
      idOf: ({ jobId }) => jobId,
    });
    this.#asking = new LookAhead({
      ...bounds,
      read: (places, window) => store.readAsking(places, window),
      keyOf: ({ runId, fireAtMs }) => `${runId}@${fireAtMs}`,
      idOf: ({ runId }) => runId,
    });
    this.#loop = new Loop({
      name: 'scheduler',
      clock,
      random,
      log,
      idleMs: SWEEP_MS,
      runOnce: () => this.runOnce(),
    });
    const listening = [
      signals.on('shards-due', ({ shards }) => this.#onShardsDue(shards)),
      signals.on('places-freed', ({ jobIds }) => this.admitSoon(jobIds)),
    ];
    this.#unsubscribe = () => {
      for (const stop of listening) stop();
    };
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
  }

  wake(): void {
    this.#loop.wake();
  }

  /** Instants held in memory. */
  get held(): number {
    return this.#cursors.size + this.#asking.size;
  }

  /** Runs of these jobs may be let in; those of others are somebody else's. */
  admitSoon(jobIds: Iterable<JobId>): void {
    let isMine = false;
    for (const jobId of jobIds) {
      if (!this.#owned.has(shardOf(jobId))) continue;
      this.#toAdmit.add(jobId);
      isMine = true;
    }
    if (isMine) this.#loop.wake();
  }

  /** One pass: follow ownership, read, fire, admit. Answers how long nothing will be due. */
  async runOnce(): Promise<number> {
    const guard = this.#options.guard();
    this.#followOwnership(guard);
    if (guard.epochs.size === 0) return SWEEP_MS;
    await this.#read();
    const fired = await this.#fireDue(guard);
    const admitted = await this.#admitDue(guard);
    return fired || admitted ? 0 : this.#untilNext();
  }

  #followOwnership(guard: ShardGuard): void {
    if (guard.epochs === this.#owned) return;
    this.#owned = guard.epochs;
    this.#cursors.own(guard.epochs);
    this.#asking.own(guard.epochs);
    this.#readAheadAt = 0;
  }

  async #read(): Promise<void> {
    const { clock, windowMs } = this.#options;
    const now = clock.monotonic();
    const nowMs = clock.now();
    if (now >= this.#fullSweepAt) {
      this.#fullSweepAt = now + FULL_SWEEP_MS;
      this.#readAheadAt = 0;
      for (const ahead of [this.#cursors, this.#asking]) ahead.restart();
    }
    if (now >= this.#sweepAt) {
      this.#sweepAt = now + SWEEP_MS;
      await this.#cursors.sweep(nowMs);
      await this.#asking.sweep(nowMs);
    }
    if (now < this.#readAheadAt) return;
    this.#readAheadAt = now + Math.min(READ_AHEAD_MS, windowMs / 4);
    try {
      const more = [await this.#cursors.readAhead(nowMs), await this.#asking.readAhead(nowMs)];
      if (more.some(Boolean)) this.#readAheadAt = 0;
    } catch (error) {
      this.#readAheadAt = 0;
      throw error;
    }
  }

  /** True when something was due. */
  async #fireDue(guard: ShardGuard): Promise<boolean> {
    const { clock, store } = this.#options;
    const nowMs = clock.now();
    const due = newestOfEachJob(this.#cursors.takeDue(nowMs, FIRES_PER_BATCH));
    if (due.length === 0) return false;
    // Rows that left make room for the next.
    this.#readAheadAt = 0;
    const { fires, rest } = this.#plan(due, nowMs);
    this.#cursors.putBack(rest);
    try {
      const fired = await store.fire(fires, { guard, nowMs });
      await this.#follow(fired, { guard, isAgain: false });
      if (fired.skipped > 0 || fires.some((fire) => fire.skipped.length > 0))
        this.#options.signals.send('events-recorded', {});
      for (const { cursor, next } of fires)
        if (next && fired.jobIds.has(cursor.jobId))
          this.#cursors.offer({ ...cursor, ...next, resumedAtMs: undefined });
      this.#readAgain(fires.filter(({ cursor }) => !fired.jobIds.has(cursor.jobId)));
    } catch (error) {
      // Nothing is lost: what did fire fails its compare-and-set the next time.
      this.#cursors.putBack(due);
      throw error;
    }
    return true;
  }

  /** Cursors that had changed may be due as they are now. At most once in a while: they may also be somebody else's by now. */
  #readAgain(lost: readonly Fire[]): void {
    const now = this.#options.clock.monotonic();
    if (lost.length === 0 || now < this.#againAt) return;
    this.#againAt = now + ASK_AGAIN_MS;
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

  /** True when somebody asked. */
  async #admitDue(guard: ShardGuard): Promise<boolean> {
    const { clock, store } = this.#options;
    const nowMs = clock.now();
    const asking = this.#asking.takeDue(nowMs, JOBS_PER_ADMISSION);
    for (const { jobId } of asking) this.#toAdmit.add(jobId);
    const now = clock.monotonic();
    const again = new Set<JobId>();
    for (const [jobId, at] of this.#again) {
      // In the order they were noted, so the first that is not due ends it.
      if (at > now) break;
      this.#again.delete(jobId);
      again.add(jobId);
    }
    if (this.#toAdmit.size === 0 && again.size === 0) return false;
    const jobIds = [...new Set([...this.#toAdmit, ...again])].slice(0, JOBS_PER_ADMISSION);
    for (const jobId of jobIds) this.#toAdmit.delete(jobId);
    for (const jobId of again) if (!jobIds.includes(jobId)) this.#toAdmit.add(jobId);
    try {
      const admitted = await store.admit(jobIds, { guard, nowMs });
      await this.#follow(admitted, { guard, isAgain: jobIds.every((jobId) => again.has(jobId)) });
    } catch (error) {
      this.#asking.putBack(asking);
      for (const jobId of jobIds) this.#toAdmit.add(jobId);
      throw error;
    }
    return true;
  }

  async #follow(
    { opened, waiting }: Admitted,
    { guard, isAgain }: { guard: ShardGuard; isAgain: boolean },
  ): Promise<void> {
    const { signals, clock } = this.#options;
    if (opened.length > 0) signals.send('runs-open', { lanes: opened });
    if (!isAgain) {
      const at = clock.monotonic() + ASK_AGAIN_MS;
      for (const { jobId } of waiting) if (!this.#again.has(jobId)) this.#again.set(jobId, at);
    }
    await this.replace(waiting, guard);
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

  #untilNext(): number {
    const { clock } = this.#options;
    if (this.#toAdmit.size > 0) return 0;
    const now = clock.monotonic();
    const nowMs = clock.now();
    const instants = [this.#cursors.nextAtMs(), this.#asking.nextAtMs()].filter((at) => at !== undefined);
    const [again] = this.#again.values();
    return Math.max(
      0,
      Math.min(
        ...instants.map((at) => at - nowMs),
        (again ?? Number.POSITIVE_INFINITY) - now,
        this.#sweepAt - now,
        this.#readAheadAt - now,
      ),
    );
  }

  #onShardsDue(shards: readonly { readonly shard: number; readonly atMs: number }[]): void {
    let isMine = shards.length === 0;
    if (isMine) this.#sweepAt = 0;
    for (const { shard, atMs } of shards) {
      if (!this.#owned.has(shard)) continue;
      this.#cursors.touch(shard, atMs);
      this.#asking.touch(shard, atMs);
      isMine = true;
    }
    if (!isMine) return;
    this.#readAheadAt = 0;
    this.#loop.wake();
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

/**
 * Fires what is due at its instant. It looks ahead over its shards, waits for the next instant, turns cursors into runs (one
 * transaction per batch, compare-and-set on each cursor) and passes runs on to the run queue. It decides nothing else.
 */
import { fireTime, type JobId, planFires, type RunId } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { RunQueue } from '../run-queue/run-queue.ts';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { Cursor, DueRow, DueRun } from '../storage/due.ts';
import type { Fire, ScheduleStore } from '../storage/schedule-store.ts';
import type { ShardGuard } from '../storage/shard-guard.ts';
import { LookAhead } from './look-ahead.ts';

export interface SchedulerOptions {
  readonly store: ScheduleStore;
  readonly queue: RunQueue;
  readonly signals: SignalBus;
  readonly guard: () => ShardGuard;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly windowMs: number;
  readonly rowsMax: number;
}

/** A lost hint costs at most this much. */
const SWEEP_MS = 1_000;
const FULL_SWEEP_MS = 60_000;
const READ_AHEAD_MS = 20_000;
const FIRES_PER_BATCH = 1_000;
const RUNS_PER_BATCH = 2_000;
/** How soon it is looked whether a full line has room again. */
const ROOM_WAIT_MS = 5;

export class Scheduler implements Service {
  readonly #options: SchedulerOptions;
  readonly #ahead: LookAhead;
  readonly #loop: Loop;
  readonly #unsubscribe: () => void;
  #owned: ReadonlyMap<number, number> = new Map();
  #hinted = new Set<number>();
  readonly #forgotten = new Set<number>();
  #sweepAt = 0;
  #fullSweepAt = 0;
  #readAheadAt = 0;
  #foundFull = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { clock, random, log, signals, store, windowMs, rowsMax } = options;
    this.#ahead = new LookAhead({ store, windowMs, rowsMax });
    this.#loop = new Loop({
      name: 'scheduler',
      clock,
      random,
      log,
      idleMs: SWEEP_MS,
      runOnce: () => this.runOnce(),
    });
    const listening = [
      signals.on('due-added', (signal) => this.#onDueAdded(signal.shards, signal.rows)),
      signals.on('runs-forgotten', ({ shards }) => {
        for (const shard of shards) this.#forgotten.add(shard);
      }),
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

  /** Rows held in memory. */
  get held(): number {
    return this.#ahead.size;
  }

  /** One pass: follow ownership, read, fire. Answers how long nothing will be due. */
  async runOnce(): Promise<number> {
    const guard = this.#options.guard();
    this.#followOwnership(guard);
    if (guard.epochs.size === 0) return SWEEP_MS;
    const more = await this.#look();
    const fired = await this.#fireDue(guard);
    if (more || fired === 'more') return 0;
    return fired === 'full' ? Math.min(ROOM_WAIT_MS, this.#untilNext()) : this.#untilNext();
  }

  #followOwnership(guard: ShardGuard): void {
    if (guard.epochs === this.#owned) return;
    this.#owned = guard.epochs;
    this.#ahead.own(guard.epochs);
    this.#readAheadAt = 0;
  }

  /** Reads what is needed now; true when lanes have more than one read brought. */
  async #look(): Promise<boolean> {
    const now = this.#options.clock.monotonic();
    const nowMs = this.#options.clock.now();
    if (now >= this.#fullSweepAt) {
      this.#fullSweepAt = now + FULL_SWEEP_MS;
      this.#readAheadAt = 0;
      this.#ahead.restart();
    }
    if (this.#hinted.size > 0) {
      const shards = this.#hinted;
      this.#hinted = new Set();
      await this.#ahead.reread(shards, nowMs);
    }
    if (now >= this.#sweepAt) {
      // No oftener than a sweep: rows that really are gone must not make it read in circles.
      if (this.#forgotten.size > 0) {
        this.#ahead.restart(this.#forgotten);
        this.#forgotten.clear();
        this.#readAheadAt = 0;
      }
      await this.#ahead.sweep(nowMs);
      this.#sweepAt = now + SWEEP_MS;
    }
    if (now < this.#readAheadAt && !this.#isWorthReading()) return false;
    const state = await this.#ahead.readAhead(nowMs);
    this.#foundFull = state === 'full';
    if (state === 'more') this.#readAheadAt = 0;
    // Well before the end of what was read: beyond it nothing is swept, and a fire there would be late.
    if (state === 'done') this.#readAheadAt = now + Math.min(READ_AHEAD_MS, this.#options.windowMs / 2);
    // Nothing to do but wait for room: without this pause a full memory would keep the loop spinning. It ends early when
    // there is room: a backlog that drains in half the pause would leave everybody idle for the rest of it.
    if (state === 'full') this.#readAheadAt = now + SWEEP_MS;
    return state === 'more';
  }

  /** full: what is left to pass on waits for room in its line. */
  async #fireDue(guard: ShardGuard): Promise<'more' | 'done' | 'full'> {
    const { clock, queue } = this.#options;
    const rows = this.#ahead.takeDue(clock.now(), (priority) => queue.room(priority));
    if (rows.length === 0) return this.#ahead.lateCount > 0 ? 'full' : 'done';
    await queue.publish(rows.filter((row): row is DueRun => row.kind === 'run'));
    const cursors = newestOfEachJob(rows.filter((row): row is Cursor => row.kind === 'cursor'));
    for (let from = 0; from < cursors.length; from += FIRES_PER_BATCH) {
      try {
        await this.#passOn(await this.#fire(cursors.slice(from, from + FIRES_PER_BATCH), guard));
      } catch (error) {
        // Nothing is lost: what did fire fails its compare-and-set the next time.
        this.#ahead.putBack(cursors.slice(from));
        throw error;
      }
    }
    return 'more';
  }

  /** What was missed may be more than its line has room for: the rest waits here, and holds up nothing else. */
  async #passOn(runs: readonly DueRun[]): Promise<void> {
    const { queue, clock } = this.#options;
    const room = { low: queue.room('low'), medium: queue.room('medium'), high: queue.room('high') };
    const fits = runs.filter(({ priority }) => room[priority]-- > 0);
    await queue.publish(fits);
    if (fits.length === runs.length) return;
    const passed = new Set(fits);
    this.#ahead.putBack(
      runs.filter((run) => !passed.has(run)),
      clock.now(),
    );
  }

  /** Answers the runs that were made. */
  async #fire(cursors: readonly Cursor[], guard: ShardGuard): Promise<DueRun[]> {
    const { clock, store } = this.#options;
    const nowMs = clock.now();
    const fires = this.#planFires(cursors, nowMs);
    const fired = await store.fire(fires, { guard, nowMs });
    const won = fires.filter((fire) => fired.has(fire.cursor.jobId));
    for (const fire of won) if (fire.next) this.#offer({ ...fire.cursor, ...fire.next });
    return won.flatMap((fire) => fire.runs.map((run) => runOf(fire.cursor, run, nowMs)));
  }

  /**
   * A schedule that cannot be planned (a zone this machine does not know, say) must not keep the others from firing: it is
   * left where it is, and the full pass tries it again. Misfires of many runs are spread over several transactions.
   */
  #planFires(cursors: readonly Cursor[], nowMs: number): Fire[] {
    const { log } = this.#options;
    const fires: Fire[] = [];
    let runs = 0;
    for (const cursor of cursors) {
      if (runs >= RUNS_PER_BATCH) {
        this.#ahead.putBack([cursor]);
        continue;
      }
      try {
        const fire = this.#planFire(cursor, nowMs);
        runs += fire.runs.length;
        fires.push(fire);
      } catch (error) {
        log.error(
          { err: error, jobId: cursor.jobId },
          'a schedule cannot be planned here; its job does not fire',
        );
      }
    }
    return fires;
  }

  #planFire(cursor: Cursor, nowMs: number): Fire {
    const { random } = this.#options;
    const { schedule, misfire, jobId } = cursor;
    const plan = planFires({ schedule, misfire, jobId, cursorMs: cursor.nominalAtMs, nowMs });
    return {
      cursor,
      runs: plan.run.map((nominalAtMs) => ({ runId: random.id() as RunId, nominalAtMs })),
      skipped: plan.skipped[0] && { runId: random.id() as RunId, ...plan.skipped[0] },
      next:
        plan.nextMs === undefined
          ? undefined
          : { nominalAtMs: plan.nextMs, fireAtMs: fireTime({ schedule, jobId, nominalMs: plan.nextMs }) },
    };
  }

  #isWorthReading(): boolean {
    return this.#foundFull && this.#ahead.hasRoom;
  }

  #untilNext(): number {
    const { clock } = this.#options;
    if (this.#isWorthReading()) return 0;
    const monotonic = clock.monotonic();
    const next = this.#ahead.nextFireAtMs();
    const untilFire = next === undefined ? SWEEP_MS : next - clock.now();
    return Math.max(0, Math.min(untilFire, this.#sweepAt - monotonic, this.#readAheadAt - monotonic));
  }

  #offer(row: DueRow): void {
    if (this.#ahead.offer(row, this.#options.clock.now())) this.#readAheadAt = 0;
  }

  #onDueAdded(shards: readonly number[], rows: readonly DueRow[]): void {
    const mine = shards.filter((shard) => this.#owned.has(shard));
    if (mine.length === 0) return;
    if (rows.length === 0) for (const shard of mine) this.#hinted.add(shard);
    else for (const row of rows) if (this.#owned.has(row.shard)) this.#offer(row);
    this.#loop.wake();
  }
}

/**
 * After an edit or a lost answer an outdated cursor may be held beside the present one. Fired together, the answer (by job)
 * could not tell which of them won, and runs that exist nowhere would be passed on.
 */
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

function runOf(cursor: Cursor, run: { runId: RunId; nominalAtMs: number }, nowMs: number): DueRun {
  const jobId: JobId = cursor.jobId;
  return {
    kind: 'run',
    jobId,
    runId: run.runId,
    shard: cursor.shard,
    priority: cursor.priority,
    fireAtMs: nowMs,
    nominalAtMs: run.nominalAtMs,
    trigger: 'schedule',
    attempt: 1,
    handler: cursor.handler,
    maxConcurrency: cursor.maxConcurrency,
    overlap: cursor.overlap,
    startTimeoutMs: cursor.startTimeoutMs,
  };
}

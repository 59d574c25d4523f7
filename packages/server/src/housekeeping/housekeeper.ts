/**
 * Keeps the history, the events and the audit log in shape: partitions for the days to come, nothing past its retention. Warns of
 * transactions left open, which keep the small hot tables from staying small (hazard 29), and sees to it that plans follow when those
 * tables grow, and that the newest runs are found quickly.
 */
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import { dayOf, type LogStore } from '../log-store/log-store.ts';
import type { HousekeepingStore } from '../storage/housekeeping-store.ts';
import type { RunLogStore } from '../storage/run-log-store.ts';
import type { StatsStore } from '../storage/stats-store.ts';
import { AHEAD_DAYS, untilPartitioned } from './until-partitioned.ts';

export interface HousekeeperOptions {
  readonly store: HousekeepingStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly retentionMs: number;
  /** Events tell of runs in the history: they are never kept longer. */
  readonly eventRetentionMs: number;
  readonly auditRetentionMs: number;
  /** What runs wrote. Left out: nothing is kept of it. */
  readonly logs?: {
    readonly store: Pick<LogStore, 'dropSome'>;
    readonly records: Pick<RunLogStore, 'dropLogs'>;
    readonly retentionMs: number;
  };
  /** Counts of runs over time. Left out: they are not cleaned. */
  readonly counts?: Pick<StatsStore, 'dropCounts'>;
  /** A transaction open for longer is warned of. */
  readonly openSecondsMax?: number;
}

/** What could not be done now is tried again by the next pass. */
const PASS_MS = 60_000;
/** Deleted in steps, so that none takes long, until nothing is left or this time is over: with any rate of arrival, removing must keep up (hazard 48). */
const STEPS_MS_MAX = 20_000;
/** The next pass follows so soon where something is left. */
const LEFT_MS = 1_000;
const STATISTICS_MS = 3_000;
/** While many runs are recorded. */
const BUSY_MS = 1_000;
const AUDIT_EVERY_MS = 3_600_000;
/** The end of a run removes its checkpoint, but for a save that came in that moment, and runs that ended while they waited. */
const CHECKPOINT_LEFT_MS = 3_600_000;
const MINUTES_KEPT_MS = 2 * 86_400_000;
const HOURS_KEPT_MS = 400 * 86_400_000;
/** Longer than any statement of ours may take, by far. */
const OPEN_SECONDS_MAX = 300;

export class Housekeeper implements Service {
  readonly #options: HousekeeperOptions;
  readonly #loop: Loop;
  readonly #statistics: Loop;
  #auditAt = Number.NEGATIVE_INFINITY;
  #stopping = new AbortController();

  constructor(options: HousekeeperOptions) {
    this.#options = options;
    this.#loop = new Loop({
      ...options,
      name: 'housekeeper',
      idleMs: PASS_MS,
      runOnce: () => this.runOnce(),
    });
    this.#statistics = new Loop({
      ...options,
      name: 'statistics',
      idleMs: STATISTICS_MS,
      runOnce: async () => {
        await options.store.refreshStatistics();
        const summaries = await options.store.summarizeHistory({ nowMs: options.clock.now() });
        return summaries > 0 ? BUSY_MS : undefined;
      },
    });
  }

  /** Today's partition has to be there before anything runs; the rest is left to the passes. */
  async start(): Promise<void> {
    const { store, clock, log } = this.#options;
    this.#stopping = new AbortController();
    const { signal } = this.#stopping;
    await untilPartitioned({ store, clock, log, signal, nowMs: () => clock.now() });
    this.#loop.start();
    this.#statistics.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#loop.stop(), this.#statistics.stop()]);
  }

  /** Each step stands alone: one that fails neither keeps the others from being done, nor the server from running. */
  async runOnce(): Promise<number | undefined> {
    const { clock } = this.#options;
    await this.#makePartitions();
    await this.#attempt('drop what is past its retention', () => this.#drop());
    const left = [
      await this.#attempt('remove old requests of runs', () => this.#dropRequests()),
      await this.#attempt('remove old checkpoints', () => this.#dropCheckpoints()),
      await this.#attempt('remove old logs of runs', () => this.#dropLogs()),
      await this.#attempt('remove old counts of runs', () => this.#dropCounts()),
    ];
    const now = clock.monotonic();
    if (now >= this.#auditAt) {
      const isLeft = await this.#attempt('clean the audit log', () => this.#dropAudit());
      left.push(isLeft);
      if (!isLeft) this.#auditAt = now + AUDIT_EVERY_MS;
    }
    await this.#attempt('look for transactions left open', () => this.#watchTransactions());
    return left.includes(true) ? LEFT_MS : undefined;
  }

  /** True: something is left to do at once. What failed waits for the next minute. */
  async #attempt(what: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      return (await work()) === true;
    } catch (error) {
      this.#options.log.warn({ err: error, retryMs: PASS_MS }, `could not ${what}; trying again later`);
      return false;
    }
  }

  /** Until a step finds nothing to remove. True: the time was over before. */
  async #repeat(step: () => Promise<number | boolean>): Promise<boolean> {
    const { clock } = this.#options;
    const until = clock.monotonic() + STEPS_MS_MAX;
    while (clock.monotonic() < until && !this.#stopping.signal.aborted) if (!(await step())) return false;
    return true;
  }

  #makePartitions(): Promise<boolean> {
    const { store, clock } = this.#options;
    return this.#attempt('make partitions for the days ahead', () =>
      store.makePartitions({ nowMs: clock.now(), aheadDays: AHEAD_DAYS }),
    );
  }

  async #drop(): Promise<void> {
    const { store, clock, retentionMs, eventRetentionMs, log } = this.#options;
    const nowMs = clock.now();
    const dropped = [
      ...(await store.dropEvents({ beforeMs: nowMs - Math.min(eventRetentionMs, retentionMs) })),
      ...(await store.dropHistory({ beforeMs: nowMs - retentionMs })),
    ];
    if (dropped.length > 0) log.info({ dropped }, 'dropped what is past its retention');
  }

  #dropRequests(): Promise<boolean> {
    const { store, clock, retentionMs } = this.#options;
    const beforeMs = clock.now() - retentionMs;
    return this.#repeat(() => store.dropRequests({ beforeMs }));
  }

  #dropCheckpoints(): Promise<boolean> {
    const { store, clock, retentionMs } = this.#options;
    const nowMs = clock.now();
    const before = { leftBeforeMs: nowMs - CHECKPOINT_LEFT_MS, lettersBeforeMs: nowMs - retentionMs };
    return this.#repeat(() => store.dropCheckpoints(before));
  }

  async #dropAudit(): Promise<boolean> {
    const { store, clock, auditRetentionMs, log } = this.#options;
    const beforeMs = clock.now() - auditRetentionMs;
    let entries = 0;
    const isLeft = await this.#repeat(async () => {
      const removed = await store.dropAudit({ beforeMs });
      entries += removed;
      return removed;
    });
    if (entries > 0) log.info({ entries }, 'removed entries of the audit log that are past their retention');
    return isLeft;
  }

  /** The texts first: a text that nothing names is never removed. */
  async #dropLogs(): Promise<boolean> {
    const { logs, clock } = this.#options;
    if (logs === undefined) return false;
    const beforeDay = dayOf(clock.now() - logs.retentionMs);
    const areTextsLeft = await this.#repeat(() => logs.store.dropSome({ beforeDay }));
    return (await this.#repeat(() => logs.records.dropLogs({ beforeDay }))) || areTextsLeft;
  }

  async #dropCounts(): Promise<boolean> {
    const { counts, clock } = this.#options;
    if (counts === undefined) return false;
    const nowMs = clock.now();
    const before = { minutesBeforeMs: nowMs - MINUTES_KEPT_MS, hoursBeforeMs: nowMs - HOURS_KEPT_MS };
    return this.#repeat(() => counts.dropCounts(before));
  }

  async #watchTransactions(): Promise<void> {
    const { store, log, openSecondsMax = OPEN_SECONDS_MAX } = this.#options;
    const oldest = await store.oldestTransaction();
    if (oldest && oldest.seconds > openSecondsMax)
      log.warn({ ...oldest }, 'a transaction was left open: it holds up cleaning and events until it ends');
  }
}

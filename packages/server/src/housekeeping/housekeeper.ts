/**
 * Keeps the history, the events and the audit log in shape: partitions for the days to come, nothing past its retention. Warns of
 * transactions left open, which keep the small hot tables from staying small (hazard 29).
 */
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { HousekeepingStore } from '../storage/housekeeping-store.ts';

export interface HousekeeperOptions {
  readonly store: HousekeepingStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly retentionMs: number;
  /** Events tell of runs in the history: they are never kept longer. */
  readonly eventRetentionMs: number;
  readonly auditRetentionMs: number;
  /** A transaction open for longer is warned of. */
  readonly openSecondsMax?: number;
}

const PASS_MS = 60_000;
const PARTITIONS_EVERY_MS = 3_600_000;
/** Deleted in parts, so that no statement takes long; what is left over waits for the next hour. */
const AUDIT_PARTS_MAX = 1_000;
/** Longer than any statement of ours may take, by far. */
const OPEN_SECONDS_MAX = 300;
const AHEAD_DAYS = 3;

export class Housekeeper implements Service {
  readonly #options: HousekeeperOptions;
  readonly #loop: Loop;
  #partitionsAt = Number.NEGATIVE_INFINITY;

  constructor(options: HousekeeperOptions) {
    this.#options = options;
    const { clock, random, log } = options;
    this.#loop = new Loop({
      name: 'housekeeper',
      clock,
      random,
      log,
      idleMs: PASS_MS,
      runOnce: () => this.runOnce(),
    });
  }

  /** Today's partition has to be there before anything runs. */
  async start(): Promise<void> {
    await this.runOnce();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async runOnce(): Promise<undefined> {
    const { clock } = this.#options;
    const now = clock.monotonic();
    if (now >= this.#partitionsAt) {
      await this.#keepPartitions();
      this.#partitionsAt = now + PARTITIONS_EVERY_MS;
    }
    await this.#watchTransactions();
    return undefined;
  }

  async #watchTransactions(): Promise<void> {
    const { store, log, openSecondsMax = OPEN_SECONDS_MAX } = this.#options;
    const oldest = await store.oldestTransaction();
    if (oldest && oldest.seconds > openSecondsMax)
      log.warn({ ...oldest }, 'a transaction was left open: it holds up cleaning and events until it ends');
  }

  async #keepPartitions(): Promise<void> {
    const { store, clock, retentionMs, eventRetentionMs, auditRetentionMs, log } = this.#options;
    const nowMs = clock.now();
    await store.makePartitions({ nowMs, aheadDays: AHEAD_DAYS });
    const dropped = [
      ...(await store.dropEvents({ beforeMs: nowMs - Math.min(eventRetentionMs, retentionMs) })),
      ...(await store.dropHistory({ beforeMs: nowMs - retentionMs })),
    ];
    if (dropped.length > 0) log.info({ dropped }, 'dropped what is past its retention');
    let entries = 0;
    for (let parts = 0; parts < AUDIT_PARTS_MAX; parts += 1) {
      const removed = await store.dropAudit({ beforeMs: nowMs - auditRetentionMs });
      entries += removed;
      if (removed === 0) break;
    }
    if (entries > 0) log.info({ entries }, 'removed entries of the audit log that are past their retention');
  }
}

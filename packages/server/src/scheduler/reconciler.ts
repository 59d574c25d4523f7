/**
 * Compares admissions with the tables, in the shards of this node, every second: slots that belong to no run become free (SCHED-8),
 * runs that wait though there is a free slot are admitted, and runs that waited too long for their start become dead letters. So a
 * lost hint or a crash costs seconds, and no copy in memory is trusted for longer (hazard 37).
 */
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { ScheduleStore, ShardGuard } from '../storage/schedule-store.ts';
import type { Scheduler } from './scheduler.ts';

export interface ReconcilerOptions {
  readonly store: ScheduleStore;
  readonly scheduler: Pick<Scheduler, 'admitSoon' | 'replace'>;
  readonly signals: SignalBus;
  readonly guard: () => ShardGuard;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const PASS_MS = 1_000;
/** A pass takes at most one part in so many of the time, but one that was slow once does not put the next off for long. */
const PASS_SHARE = 20;
const PASS_MS_MAX = 10_000;
const JOBS_PER_PASS = 1_000;
const RUNS_PER_PASS = 1_000;
/**
 * A run whose handler no worker of the cluster offers becomes a dead letter after this long without an offer, in which a reconciler was
 * running (hazard 21). However long it waited before for a worker that was busy does not count.
 */
const UNOFFERED_MS = 24 * 3_600_000;
const UNOFFERED_EVERY_MS = 600_000;

export class Reconciler implements Service {
  readonly #options: ReconcilerOptions;
  readonly #loop: Loop;
  /** By the monotonic clock: neither a wall clock that is set forward nor the sleep of a machine counts as running. */
  #watchingSince: number | undefined;
  #unofferedAt = 0;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#loop = new Loop({ ...options, name: 'reconciler', idleMs: PASS_MS, runOnce: () => this.runOnce() });
    options.signals.on('slots-freed', ({ jobIds }) => {
      if (jobIds.length === 0) this.#loop.wake();
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async runOnce(): Promise<number> {
    const { guard: guardNow, clock, store, scheduler } = this.#options;
    const guard = guardNow();
    const startedAt = clock.monotonic();
    this.#watchingSince ??= startedAt;
    if (guard.epochs.size === 0) return PASS_MS;
    let isMoreLeft = false;
    try {
      const waiting = await store.reconcile({ guard, nowMs: clock.now(), limit: JOBS_PER_PASS });
      scheduler.admitSoon(waiting.map(({ jobId }) => jobId));
      await scheduler.replace(waiting, guard);
    } finally {
      // Last, since its write into the history may wait for a lock; and also when the rest failed.
      isMoreLeft = await this.#giveUp(guard);
    }
    if (isMoreLeft) return 0;
    return Math.min(Math.max(PASS_MS, (clock.monotonic() - startedAt) * PASS_SHARE), PASS_MS_MAX);
  }

  /** True when more may be left. */
  async #giveUp(guard: ShardGuard): Promise<boolean> {
    const { store, clock, signals, scheduler, log } = this.#options;
    const limit = RUNS_PER_PASS;
    const nowMs = clock.now();
    const given = await store.expire({ guard, nowMs, limit });
    const now = clock.monotonic();
    if (now >= this.#unofferedAt && now - this.#watchingSince! > UNOFFERED_MS) {
      this.#unofferedAt = now + UNOFFERED_EVERY_MS;
      const beforeMs = nowMs - UNOFFERED_MS;
      given.push(...(await store.expireUnoffered({ guard, nowMs, beforeMs, limit })));
    }
    if (given.length === 0) return false;
    log.warn({ runs: given.length }, 'gave up runs that could not be started in time');
    scheduler.admitSoon(given.map(({ jobId }) => jobId));
    signals.send('events-recorded', {});
    return given.length >= limit;
  }
}

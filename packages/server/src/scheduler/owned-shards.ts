/** The look-ahead over the shards of this node: follows ownership, reads on in time, sweeps, and reacts to hints. */
import type { Clock } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { ShardGuard } from '../storage/schedule-store.ts';
import { LookAhead, type LookAheadOptions } from './look-ahead.ts';

export interface OwnedShardsOptions<Row extends { readonly shard: number; readonly fireAtMs: number }>
  extends LookAheadOptions<Row> {
  readonly signals: SignalBus;
  readonly clock: Clock;
  /** A hint arrived. */
  readonly wake: () => void;
}

/** SCHED-5: how long a row that no hint named may stay unnoticed. */
const SWEEP_MS = 1_000;
const FULL_SWEEP_MS = 60_000;
/**
 * How far back a full sweep begins. Older rows were read when the shard was acquired; reading them again would walk over all dead
 * rows since, while an old snapshot keeps them. One full sweep in so many begins at the very start.
 */
const FULL_SWEEP_BACK_MS = 3_600_000;
const SWEEPS_PER_RESTART = 10;
const READ_AHEAD_MS = 20_000;

export class OwnedShards<
  Row extends { readonly shard: number; readonly fireAtMs: number },
> extends LookAhead<Row> {
  readonly #options: OwnedShardsOptions<Row>;
  readonly #unsubscribe: () => void;
  #owned: ReadonlyMap<number, number> = new Map();
  #sweepAt = 0;
  #fullSweepAt = 0;
  #sweeps = 0;
  #readAheadAt = 0;

  constructor(options: OwnedShardsOptions<Row>) {
    super(options);
    this.#options = options;
    this.#unsubscribe = options.signals.on('shards-due', ({ shards }) => this.#hear(shards));
  }

  close(): void {
    this.#unsubscribe();
  }

  /** False when this node owns nothing. */
  follow(guard: ShardGuard): boolean {
    if (guard.epochs !== this.#owned) {
      this.#owned = guard.epochs;
      this.own(guard.epochs);
      this.#readAheadAt = 0;
    }
    return guard.epochs.size > 0;
  }

  owns(shard: number): boolean {
    return this.#owned.has(shard);
  }

  override takeDue(nowMs: number, max: number): Row[] {
    const rows = super.takeDue(nowMs, max);
    // Rows that were taken make room for the next.
    if (rows.length > 0) this.#readAheadAt = 0;
    return rows;
  }

  override touch(shard: number, atMs: number): void {
    super.touch(shard, atMs);
    this.#readAheadAt = 0;
  }

  async read(): Promise<void> {
    const { clock, windowMs } = this.#options;
    const now = clock.monotonic();
    const nowMs = clock.now();
    if (now >= this.#fullSweepAt) {
      this.#fullSweepAt = now + FULL_SWEEP_MS;
      this.restart(this.#sweeps % SWEEPS_PER_RESTART === 0 ? 0 : nowMs - FULL_SWEEP_BACK_MS);
      this.#sweeps += 1;
    }
    if (now >= this.#sweepAt) {
      this.#sweepAt = now + SWEEP_MS;
      await this.sweep(nowMs);
    }
    if (now < this.#readAheadAt) return;
    this.#readAheadAt = now + Math.min(READ_AHEAD_MS, windowMs / 4);
    try {
      if (await this.readAhead(nowMs)) this.#readAheadAt = 0;
    } catch (error) {
      this.#readAheadAt = 0;
      throw error;
    }
  }

  untilNext(): number {
    const { clock } = this.#options;
    const now = clock.monotonic();
    const dueInMs = (this.nextAtMs() ?? Number.POSITIVE_INFINITY) - clock.now();
    return Math.max(0, Math.min(dueInMs, this.#sweepAt - now, this.#readAheadAt - now));
  }

  #hear(shards: readonly { readonly shard: number; readonly atMs: number }[]): void {
    if (shards.length === 0) this.#sweepAt = 0;
    const mine = shards.filter(({ shard }) => this.#owned.has(shard));
    for (const { shard, atMs } of mine) this.touch(shard, atMs);
    if (mine.length > 0 || shards.length === 0) this.#options.wake();
  }
}

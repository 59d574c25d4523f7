/**
 * The backlog in the storage: runs wait there in lanes, and the statement that finds them claims them. Nothing is held here but
 * which lanes have something, so a backlog of any length costs no memory and stands before nothing else.
 */
import type { ClaimedBatch } from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import { handlerKey, type LaneHint, type LaneKey } from '../storage/lane.ts';
import type { LanePick, LeaseStore } from '../storage/lease-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import type { Backlog, TakeRequest } from './backlog.ts';
import { Lanes } from './lanes.ts';

export interface StorageBacklogOptions {
  readonly leases: Pick<LeaseStore, 'claim' | 'lanes'>;
  readonly signals: SignalBus;
  readonly clock: Clock;
  readonly log: Log;
}

/** A lost hint costs about this much, where a look is quick. */
const LOOK_MS = 1_000;
/** Looking over all lanes takes at most one part in so many of the time, but one that was slow once does not put the next off for long. */
const LOOK_SHARE = 20;
const LOOK_MS_MAX = 20_000;
const LANES_PER_PAGE = 5_000;
/** Lanes whose next run is further off are not kept: a look finds them in time. Longer than from one look to the next. */
const HORIZON_MS = 60_000;

export class StorageBacklog implements Backlog {
  readonly #options: StorageBacklogOptions;
  readonly #lanes = new Lanes();
  readonly #listeners: (() => void)[] = [];
  /** What workers here offer, as of the last look. Lanes of other handlers are nobody's business here. */
  #offered = new Set<number>();
  #offeredNames = '';
  #lookAt = 0;

  constructor(options: StorageBacklogOptions) {
    this.#options = options;
    options.signals.on('runs-open', ({ lanes }) => this.#hear(lanes));
  }

  /** Lanes that have something, now or later. */
  get size(): number {
    return this.#lanes.size;
  }

  onReady(listener: () => void): void {
    this.#listeners.push(listener);
  }

  prefer(isOwn: (part: number) => boolean): void {
    this.#lanes.prefer(isOwn);
  }

  readyInMs(handlers: readonly string[]): number {
    const { clock } = this.#options;
    if (this.#lanes.hasReady(offersOf(handlers))) return 0;
    return Math.max(0, (this.#lanes.nextAtMs ?? Number.POSITIVE_INFINITY) - clock.now());
  }

  lookInMs(): number {
    return Math.max(0, this.#lookAt - this.#options.clock.monotonic());
  }

  take(request: TakeRequest): Promise<ClaimedBatch> | undefined {
    const { handlers, runsMax } = request;
    const nowMs = this.#options.clock.now();
    const picks = this.#lanes.choose({ nowMs, runsMax, offers: offersOf(handlers) });
    return picks.length === 0 ? undefined : this.#claim(request, picks, nowMs);
  }

  async look(handlers: ReadonlySet<string>): Promise<void> {
    this.#offer(handlers);
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    if (startedAt < this.#lookAt) return;
    const nextAt = startedAt + LOOK_MS;
    this.#lookAt = nextAt;
    try {
      await this.#lookOver();
    } catch (error) {
      // Counted from its end: one that runs into a time limit must not be followed by the next at once.
      this.#lookAt = clock.monotonic() + LOOK_MS;
      throw error;
    }
    const tookMs = clock.monotonic() - startedAt;
    // Unless somebody asked for another look meanwhile: this one may have passed by what that is about.
    if (this.#lookAt === nextAt)
      this.#lookAt = startedAt + Math.min(Math.max(LOOK_MS, tookMs * LOOK_SHARE), LOOK_MS_MAX);
  }

  async #lookOver(): Promise<void> {
    this.#lanes.beginLook();
    for (let after: LaneKey | undefined; ; ) {
      const heads = await this.#options.leases.lanes({ after, limit: LANES_PER_PAGE });
      for (const head of heads)
        if (this.#offered.has(head.handlerKey) && this.#isNear(head.laneAtMs)) this.#lanes.found(head);
      if (heads.length < LANES_PER_PAGE) break;
      after = heads.at(-1);
    }
    this.#lanes.endLook();
  }

  async #claim(request: TakeRequest, picks: readonly LanePick[], nowMs: number): Promise<ClaimedBatch> {
    const { leaseId, workerId, runsMax } = request;
    try {
      const pick = { lanes: picks, runsMax };
      const claimed = await this.#options.leases.claim({ leaseId, workerId, nowMs, pick });
      const looks = claimed.looks.map((look) =>
        look.nextAtMs === undefined || this.#isNear(look.nextAtMs) ? look : { ...look, nextAtMs: undefined },
      );
      this.#lanes.settle(picks, looks, { runsMax });
      return claimed;
    } catch (error) {
      const isStorages = error instanceof StorageUnavailable || error instanceof StorageTimeout;
      if (isStorages) this.#lanes.giveUp(picks);
      // One of them cannot be claimed from. Those that are there are found again by the look.
      else this.#lanes.forget(picks);
      // What was claimed and is given back, or what others had locked, may lie behind the marks.
      this.#lookAt = 0;
      throw error;
    }
  }

  #isNear(atMs: number): boolean {
    return atMs <= this.#options.clock.now() + HORIZON_MS;
  }

  /** New handlers: what waits for them has to be looked for. */
  #offer(handlers: ReadonlySet<string>): void {
    const names = [...handlers].sort().join('\n');
    if (names === this.#offeredNames) return;
    this.#offeredNames = names;
    this.#offered = new Set([...handlers].map(handlerKey));
    this.#lookAt = 0;
  }

  #hear(hints: readonly LaneHint[]): void {
    if (hints.length === 0) this.#lookAt = 0;
    let isHeard = hints.length === 0;
    for (const hint of hints) {
      if (!this.#offered.has(hint.handlerKey) || !this.#isNear(hint.atMs)) continue;
      this.#lanes.hint(hint);
      isHeard = true;
    }
    if (isHeard) for (const listener of this.#listeners) listener();
  }
}

function offersOf(handlers: readonly string[]): (key: number) => boolean {
  const keys = new Set(handlers.map(handlerKey));
  return (key) => keys.has(key);
}

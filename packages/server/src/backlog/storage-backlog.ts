/**
 * The backlog in the storage: open runs lie there in lanes, and the statement that finds them claims them. Only what is known of the
 * lanes is in memory, so a backlog of any length costs no memory and delays nothing else.
 */
import type { ClaimedBatch } from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import { handlerKey, type LaneHint, type LaneKey, namespaceKey } from '../storage/lane.ts';
import type { LanePick, LeaseStore } from '../storage/lease-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import type { Backlog, TakeRequest, WorkerOffer } from './backlog.ts';
import type { LaneOffer } from './fair-queue.ts';
import { Lanes } from './lanes.ts';

export interface StorageBacklogOptions {
  readonly leases: Pick<LeaseStore, 'claim' | 'lanes'>;
  readonly signals: SignalBus;
  readonly clock: Clock;
  readonly log: Log;
}

/** A lost hint costs about this much, where a scan is quick. */
const SCAN_MS = 1_000;
/** Scanning all lanes takes at most one part in so many of the time, but one that was slow once does not put the next off for long. */
const SCAN_SHARE = 20;
const SCAN_MS_MAX = 20_000;
const LANES_PER_PAGE = 5_000;
/** Lanes whose next run is further off are not kept: a scan finds them in time. Longer than from one scan to the next. */
const HORIZON_MS = 60_000;

export class StorageBacklog implements Backlog {
  readonly #options: StorageBacklogOptions;
  readonly #lanes = new Lanes();
  readonly #listeners: (() => void)[] = [];
  /** What workers here offer, as of the last scan. Lanes of other handlers are not kept. */
  #offered = new Set<number>();
  #offeredNames = '';
  #scanAt = 0;

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

  readyInMs(workers: readonly WorkerOffer[]): number {
    const { clock } = this.#options;
    if (workers.some((worker) => this.#lanes.hasReady(laneOffer(worker)))) return 0;
    return Math.max(0, (this.#lanes.nextAtMs ?? Number.POSITIVE_INFINITY) - clock.now());
  }

  scanInMs(): number {
    return Math.max(0, this.#scanAt - this.#options.clock.monotonic());
  }

  take(request: TakeRequest): Promise<ClaimedBatch> | undefined {
    const { runsMax } = request;
    const nowMs = this.#options.clock.now();
    const picks = this.#lanes.choose({ nowMs, runsMax, ...laneOffer(request) });
    return picks.length === 0 ? undefined : this.#claim(request, picks, nowMs);
  }

  /** DISP-6. */
  async scan(handlers: ReadonlySet<string>): Promise<void> {
    this.#offer(handlers);
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    if (startedAt < this.#scanAt) return;
    const nextAt = startedAt + SCAN_MS;
    this.#scanAt = nextAt;
    try {
      await this.#scanLanes();
    } catch (error) {
      // Counted from its end: one that runs into a time limit must not be followed by the next at once.
      this.#scanAt = clock.monotonic() + SCAN_MS;
      throw error;
    }
    const tookMs = clock.monotonic() - startedAt;
    // Unless a hint asked for another scan meanwhile: this one may have passed the lane it is about.
    if (this.#scanAt === nextAt)
      this.#scanAt = startedAt + Math.min(Math.max(SCAN_MS, tookMs * SCAN_SHARE), SCAN_MS_MAX);
  }

  async #scanLanes(): Promise<void> {
    this.#lanes.beginScan();
    for (let after: LaneKey | undefined; ; ) {
      const heads = await this.#options.leases.lanes({ after, limit: LANES_PER_PAGE });
      for (const head of heads)
        if (this.#offered.has(head.handlerKey) && this.#isNear(head.laneAtMs)) this.#lanes.found(head);
      if (heads.length < LANES_PER_PAGE) break;
      after = heads.at(-1);
    }
    this.#lanes.endScan();
  }

  async #claim(request: TakeRequest, picks: readonly LanePick[], nowMs: number): Promise<ClaimedBatch> {
    const { leaseId, workerId, runsMax } = request;
    try {
      const pick = { lanes: picks, runsMax };
      const claimed = await this.#options.leases.claim({ leaseId, workerId, nowMs, pick });
      const scans = claimed.scans.map((scan) =>
        scan.nextAtMs === undefined || this.#isNear(scan.nextAtMs) ? scan : { ...scan, nextAtMs: undefined },
      );
      this.#lanes.settle(picks, scans, { runsMax, isCut: claimed.isCut });
      return claimed;
    } catch (error) {
      const isStorages = error instanceof StorageUnavailable || error instanceof StorageTimeout;
      if (isStorages) this.#lanes.giveUp(picks);
      // One of them cannot be claimed from. Those that are there are found again by the scan.
      else this.#lanes.forget(picks);
      // Runs of a claim that was rolled back, or that others had locked, may lie behind the marks.
      this.#scanAt = 0;
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
    this.#scanAt = 0;
  }

  #hear(hints: readonly LaneHint[]): void {
    if (hints.length === 0) this.#scanAt = 0;
    let isHeard = hints.length === 0;
    for (const hint of hints) {
      if (!this.#offered.has(hint.handlerKey) || !this.#isNear(hint.atMs)) continue;
      this.#lanes.hint(hint);
      isHeard = true;
    }
    if (isHeard) for (const listener of this.#listeners) listener();
  }
}

function laneOffer({ handlers, namespaces, full }: WorkerOffer): LaneOffer {
  const keys = new Set(handlers.map(handlerKey));
  return { offers: (key) => keys.has(key), namespaces: namespaces?.map(namespaceKey), full };
}

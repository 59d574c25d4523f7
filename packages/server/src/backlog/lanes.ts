/**
 * What is known of the lanes: how far each was read, and from which instant on it has something to claim. A copy of what the
 * storage has; hints and claims keep it up to date, and a scan over all lanes corrects it whatever was missed.
 */
import { PRIORITIES, type Priority } from '@carillon/domain';
import { MinHeap } from '@carillon/foundation';
import {
  compareMarks,
  LANE_START,
  type LaneHead,
  type LaneHint,
  type LaneKey,
  type LaneMark,
  laneName,
} from '../storage/lane.ts';
import type { LanePick, LaneScan } from '../storage/lease-store.ts';
import { FairQueue, type LaneOffer } from './fair-queue.ts';
import type { Settlement } from './shares.ts';
import { StarvingLanes, type Watch } from './starving-lanes.ts';

/** asleep: nothing can be claimed before its instant. ready: something may be. claiming: a claim scans it. */
type LaneState = 'asleep' | 'ready' | 'claiming';

class Lane implements LaneKey {
  readonly part: number;
  readonly priority: Priority;
  readonly handlerKey: number;
  readonly tenant: number;
  mark: LaneMark = LANE_START;
  state: LaneState = 'asleep';
  /** When the next run may be claimed; while a claim scans it: by the hints that came meanwhile. */
  atMs = Number.POSITIVE_INFINITY;
  /** When the first that waits in it became claimable, as far as is known. */
  waitingSinceMs = Number.POSITIVE_INFINITY;
  /** While a claim scans it: the earliest instant of which something was heard. What the claim reads past may have come after its scan. */
  heardMs = Number.POSITIVE_INFINITY;
  /** The number of the last scan that found it. */
  seenIn = 0;
  /** No hint named a run in it since a claim or a scan last read it. */
  mayBeEmpty = false;
  /** While it is ready: where it stands. */
  queue: FairQueue<Lane> | undefined;
  watch: Watch<Lane> | undefined;
  /** While a claim scans it: from where, and for how many runs its tenant is charged. */
  takenFrom: { giveBack(lane: Lane, settlement: Settlement): void } | undefined;
  charged = 0;

  constructor({ part, priority, handlerKey, tenant }: LaneKey) {
    this.part = part;
    this.priority = priority;
    this.handlerKey = handlerKey;
    this.tenant = tenant;
  }
}

interface ChooseOptions extends LaneOffer {
  readonly nowMs: number;
  readonly runsMax: number;
}

/** Lanes of one claim: each costs a look into an index. */
const LANES_PER_CLAIM = 512;
const RUNS_PER_LANE_MIN = 8;
/** Claims that look side by side share the lanes out. */
const CLAIMS_BESIDE = 4;
/** How long the lanes of others are left to them. */
const OTHERS_FIRST_MS = 15;

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #asleep = new MinHeap<{ lane: Lane; atMs: number }>((a, b) => a.atMs - b.atMs);
  /** Most urgent first. */
  readonly #tiers = PRIORITIES.toReversed().map((priority) => ({
    priority,
    queue: new FairQueue<Lane>({ prefers: ({ part }) => this.#isOwn(part) }),
  }));
  #isOwn: (part: number) => boolean = () => true;
  readonly #starving = new StarvingLanes<Lane>();
  #scans = 0;

  /** Lanes that are known. */
  get size(): number {
    return this.#lanes.size;
  }

  /** Whether there may be something to claim now that is offered. */
  hasReady(offer: LaneOffer): boolean {
    return this.#tiers.some(({ queue }) => queue.counts(offer).ready > 0);
  }

  /** When the next lane wakes up. */
  get nextAtMs(): number | undefined {
    this.#dropVoid();
    return this.#asleep.peek()?.atMs;
  }

  /**
   * Which parts are scanned first here: claims of several processes then rarely meet. Whose turn it is does not depend on it: the parts
   * of a process with few slots hold runs of tenants that the others owe a turn.
   */
  prefer(isOwn: (part: number) => boolean): void {
    this.#isOwn = isOwn;
  }

  /** A run may be claimed there from the instant on. A run at or before the mark would never be read, so the mark is moved back before it. */
  hint(hint: LaneHint): void {
    const lane = this.#lane(hint);
    if (hint.atMs <= lane.mark.laneAtMs) lane.mark = before(hint.atMs);
    this.#hear(lane, { atMs: hint.atMs, waitingSinceMs: Math.min(lane.waitingSinceMs, hint.atMs) });
  }

  /** A scan over all lanes begins; until it ends, heads are given to found(). */
  beginScan(): void {
    this.#scans += 1;
  }

  found(head: LaneHead): void {
    const lane = this.#lane(head);
    lane.seenIn = this.#scans;
    if (compareMarks(head, lane.mark) <= 0) lane.mark = before(head.laneAtMs);
    this.#hear(lane, { atMs: head.laneAtMs, waitingSinceMs: head.laneAtMs });
  }

  /** Lanes that were not found have nothing, unless something was heard of them since: what sleeps wakes up anyway. */
  endScan(): void {
    for (const [key, lane] of this.#lanes) {
      if (lane.seenIn === this.#scans) continue;
      lane.mayBeEmpty = true;
      if (lane.state === 'asleep' && lane.atMs === Number.POSITIVE_INFINITY) this.#lanes.delete(key);
    }
  }

  /**
   * The lanes to claim from now, in order (DISP-3). Each is in the state claiming until settle() or giveUp(). No more than there are slots, since others can
   * not have them meanwhile; those that may be empty come on top, or each of them would cost a claim of its own.
   */
  choose(options: ChooseOptions): LanePick[] {
    const { nowMs, runsMax } = options;
    this.#wake(nowMs);
    const picks = this.#pickStarving(options);
    let slots = runsMax - picks.length;
    for (const { queue } of this.#tiers) {
      if (slots <= 0) break;
      const { ready, taken, tenants } = queue.counts(options);
      // A share of the lanes, but one of every tenant as far as the runs go: these slots may be the last for a long time.
      const fair = Math.min(tenants, Math.floor(runsMax / RUNS_PER_LANE_MIN));
      const share = Math.max(1, fair, Math.ceil((ready + taken) / CLAIMS_BESIDE));
      const lanesMax = Math.min(LANES_PER_CLAIM - picks.length, share, ready);
      if (lanesMax <= 0) continue;
      // Charged for what it is expected to give: all lanes together give no more than there are slots.
      const charge = Math.ceil(runsMax / Math.min(lanesMax, slots));
      const each = Math.min(runsMax, Math.max(RUNS_PER_LANE_MIN, charge));
      let lanes = 0;
      for (; lanes < lanesMax && slots > 0; lanes += 1) {
        const lane = queue.take(charge, options)!;
        this.#starving.unwatch(lane);
        if (!lane.mayBeEmpty) slots -= 1;
        picks.push(this.#pick(lane, { runsMax: each, charge, takenFrom: queue }));
      }
      // Lanes that are left to other claims come before anything less urgent.
      if (ready > lanes) break;
    }
    return picks;
  }

  /** What a claim of these picks saw. */
  settle(
    picks: readonly LanePick[],
    scans: readonly LaneScan[],
    { runsMax, isCut = false }: { runsMax: number; isCut?: boolean },
  ): void {
    const found = scans.reduce((sum, scan) => sum + scan.found, 0);
    const isFull = isCut || found >= runsMax;
    const last = isFull ? scans.findLastIndex((scan) => scan.found > 0) : scans.length;
    picks.forEach((pick, i) => {
      const lane = pick.lane as Lane;
      const scan = scans[i] ?? { found: 0, last: undefined, nextAtMs: undefined };
      if (scan.last && compareMarks(scan.last, lane.mark) > 0) lane.mark = scan.last;
      // DISP-5.
      if (lane.heardMs <= lane.mark.laneAtMs) lane.mark = before(lane.heardMs);
      if (scan.last) lane.waitingSinceMs = Math.min(scan.last.laneAtMs, lane.heardMs);
      // Where the claim was full, the lane it ended in has more, and those after it were not scanned.
      const hasMore = scan.found >= pick.runsMax || i >= last || scans.length === 0;
      if (!hasMore) lane.waitingSinceMs = Math.min(lane.heardMs, scan.nextAtMs ?? Number.POSITIVE_INFINITY);
      if (scan.nextAtMs !== undefined) this.#expect(lane, scan.nextAtMs);
      const isAnnounced = scan.nextAtMs !== undefined || lane.heardMs < Number.POSITIVE_INFINITY;
      if (scan.found > 0) lane.mayBeEmpty = !isAnnounced;
      this.#return(lane, { given: scan.found, ready: hasMore });
    });
  }

  /** The claim broke off: nobody knows what it did. */
  giveUp(picks: readonly LanePick[]): void {
    for (const { lane } of picks) this.#return(lane as Lane, { given: (lane as Lane).charged, ready: true });
  }

  /** As if they had never been heard of. */
  forget(picks: readonly LanePick[]): void {
    for (const pick of picks) {
      const lane = pick.lane as Lane;
      this.#return(lane, { given: 0, ready: false });
      lane.atMs = Number.POSITIVE_INFINITY;
      this.#lanes.delete(laneName(lane));
    }
  }

  #pickStarving(options: ChooseOptions): LanePick[] {
    const mostUrgent = this.#tiers.find(({ queue }) => queue.counts(options).ready > 0)?.priority;
    if (mostUrgent === undefined) return [];
    const lanesMax = Math.min(LANES_PER_CLAIM, options.runsMax);
    return this.#starving.take({ ...options, lanesMax, mostUrgent }).map(({ lane, runs }) => {
      lane.queue!.remove(lane);
      return this.#pick(lane, { runsMax: runs, charge: runs, takenFrom: this.#starving });
    });
  }

  #pick(
    lane: Lane,
    { runsMax, charge, takenFrom }: { runsMax: number; charge: number; takenFrom: Lane['takenFrom'] },
  ): LanePick {
    lane.state = 'claiming';
    lane.queue = undefined;
    lane.takenFrom = takenFrom;
    lane.charged = charge;
    lane.atMs = Number.POSITIVE_INFINITY;
    lane.heardMs = Number.POSITIVE_INFINITY;
    return { lane, after: lane.mark, runsMax };
  }

  #return(lane: Lane, { given, ready }: { given: number; ready: boolean }): void {
    const { takenFrom, charged } = lane;
    lane.takenFrom = undefined;
    lane.state = 'asleep';
    // Before it is given back: then its tenant has not left in between.
    if (ready) this.#ready(lane);
    else if (lane.atMs < Number.POSITIVE_INFINITY) this.#asleep.push({ lane, atMs: lane.atMs });
    // Without a queue and an instant it is as good as unknown; the next scan over all lanes drops it.
    takenFrom?.giveBack(lane, { charged, given });
  }

  #hear(lane: Lane, { atMs, waitingSinceMs }: { atMs: number; waitingSinceMs: number }): void {
    lane.waitingSinceMs = waitingSinceMs;
    lane.heardMs = Math.min(lane.heardMs, atMs);
    lane.mayBeEmpty = false;
    if (lane.state === 'ready') this.#starving.watch(lane);
    else this.#expect(lane, atMs);
  }

  #lane(key: LaneKey): Lane {
    const name = laneName(key);
    let lane = this.#lanes.get(name);
    if (!lane) {
      lane = new Lane(key);
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #expect(lane: Lane, atMs: number): void {
    const fromMs = this.#isOwn(lane.part) ? atMs : atMs + OTHERS_FIRST_MS;
    if (fromMs >= lane.atMs) return;
    lane.atMs = fromMs;
    if (lane.state === 'asleep') this.#asleep.push({ lane, atMs: fromMs });
  }

  #wake(nowMs: number): void {
    this.#dropVoid();
    for (let top = this.#asleep.peek(); top && top.atMs <= nowMs; top = this.#asleep.peek()) {
      this.#asleep.pop();
      this.#ready(top.lane);
      this.#dropVoid();
    }
  }

  #ready(lane: Lane): void {
    const tier = this.#tiers.find(({ priority }) => priority === lane.priority)!;
    lane.state = 'ready';
    lane.atMs = Number.POSITIVE_INFINITY;
    lane.queue = tier.queue;
    tier.queue.add(lane);
    this.#starving.watch(lane);
  }

  #dropVoid(): void {
    for (let top = this.#asleep.peek(); top; top = this.#asleep.peek()) {
      if (top.lane.state === 'asleep' && top.lane.atMs === top.atMs) return;
      this.#asleep.pop();
    }
  }
}

/** Just before every run of the instant. */
function before(laneAtMs: number): LaneMark {
  return { laneAtMs: laneAtMs - 1, runId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
}

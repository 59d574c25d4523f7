/**
 * Ageing: lanes that are ready and less urgent than others, and a share of the slots for those of them that starve. A lane starves
 * by its own oldest run, so nothing fresh beside it hides that; those that starve take turns as fairly as all others do.
 */
import { PRIORITIES, type Priority, STARVING_MS, STARVING_SHARE } from '@carillon/domain';
import { MinHeap } from '@carillon/foundation';
import { FairQueue, type LaneOffer } from './fair-queue.ts';
import type { Settlement } from './shares.ts';

export interface Watch<Lane> {
  readonly lane: Lane;
  readonly sinceMs: number;
  starves: boolean;
}

interface WatchedLane<Lane> {
  readonly priority: Priority;
  readonly handlerKey: number;
  readonly tenant: number;
  /** When the first that waits in it became claimable. */
  readonly waitingSinceMs: number;
  /** Set while it is watched; only changed here. */
  watch: Watch<Lane> | undefined;
}

interface TakeOptions extends LaneOffer {
  readonly nowMs: number;
  readonly runsMax: number;
  readonly lanesMax: number;
  /** The most urgent priority that has something ready. */
  readonly mostUrgent: Priority;
}

/** Void watches that may stay beside the others. */
const VOID_MIN = 16;

export class StarvingLanes<Lane extends WatchedLane<Lane>> {
  /** Least urgent first. Nothing comes before the most urgent one, so that one needs no share. */
  readonly #tiers = PRIORITIES.slice(0, -1).map((priority) => ({
    ...{ priority, queue: new FairQueue<Lane>() },
    /** Runs that it may still get of its share. */
    credit: 0,
  }));
  /** Of lanes that did not starve when last scanned. */
  readonly #watches = new MinHeap<Watch<Lane>>((a, b) => a.sinceMs - b.sinceMs);
  #watched = 0;

  /** The lane is ready, or what it waits for has changed. */
  watch(lane: Lane): void {
    if (!this.#tierOf(lane) || lane.watch?.sinceMs === lane.waitingSinceMs) return;
    this.unwatch(lane);
    lane.watch = { lane, sinceMs: lane.waitingSinceMs, starves: false };
    this.#watched += 1;
    this.#watches.push(lane.watch);
    if (this.#watches.size > VOID_MIN + this.#watched * 2)
      this.#watches.retain((watch) => watch.lane.watch === watch);
  }

  /** The lane is not ready any more. */
  unwatch(lane: Lane): void {
    if (lane.watch?.starves) this.#tierOf(lane)!.queue.remove(lane);
    this.#drop(lane);
  }

  /** Lanes that starve, and how many runs of the share each may give; they are not watched any more. */
  take(options: TakeOptions): { lane: Lane; runs: number }[] {
    const { nowMs, runsMax, lanesMax, mostUrgent } = options;
    this.#judge(nowMs);
    const taken: { lane: Lane; runs: number }[] = [];
    const below = this.#tiers.slice(0, PRIORITIES.indexOf(mostUrgent));
    const starving = below.filter(({ queue }) => queue.counts(options).ready > 0);
    for (const tier of starving) {
      const { ready } = tier.queue.counts(options);
      tier.credit = Math.min(runsMax, tier.credit + runsMax / STARVING_SHARE / starving.length);
      let left = Math.floor(tier.credit);
      for (let lanes = Math.min(left, ready, lanesMax - taken.length); lanes > 0; lanes -= 1) {
        const runs = Math.ceil(left / lanes);
        const lane = tier.queue.take(runs, options)!;
        this.#drop(lane);
        left -= runs;
        tier.credit -= runs;
        taken.push({ lane, runs });
      }
    }
    return taken;
  }

  /** What it did not give is left for others that starve. */
  giveBack(lane: Lane, settlement: Settlement): void {
    const tier = this.#tierOf(lane)!;
    tier.credit += settlement.charged - settlement.given;
    tier.queue.giveBack(lane, settlement);
  }

  #judge(nowMs: number): void {
    for (let top = this.#watches.peek(); top; top = this.#watches.peek()) {
      const isVoid = top.lane.watch !== top;
      if (!isVoid && nowMs - top.sinceMs <= STARVING_MS) return;
      this.#watches.pop();
      if (isVoid) continue;
      top.starves = true;
      this.#tierOf(top.lane)!.queue.add(top.lane);
    }
  }

  #drop(lane: Lane): void {
    if (lane.watch) this.#watched -= 1;
    lane.watch = undefined;
  }

  #tierOf({ priority }: Lane) {
    return this.#tiers.find((tier) => tier.priority === priority);
  }
}

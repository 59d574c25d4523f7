/**
 * Virtual time and the only source of chance. Time stands still while anything can still happen at this instant, then jumps
 * to the next timer; nothing reads the system's clock, so a seed always gives the same history.
 */
import { ManualClock, SeededRandom } from '@carillon/foundation';
import { Trace } from './trace.ts';

export const WORLD_START_MS = Date.UTC(2030, 0, 1, 12);

/** Steps at one instant before the simulation is called stuck: a role that spins without waiting. */
const STEPS_PER_INSTANT_MAX = 5_000;

export class World {
  readonly seed: number;
  readonly clock = new ManualClock(WORLD_START_MS);
  readonly chance: Chance;
  readonly trace: Trace;
  /** Ids come from one place, so that two processes never make the same one. */
  readonly ids: SeededRandom;
  #broken: string | undefined;

  constructor(seed: number) {
    this.seed = seed;
    this.chance = new Chance(seed);
    this.ids = new SeededRandom(seed ^ 0x5bd1e995);
    this.trace = new Trace(() => this.clock.monotonic());
  }

  /** What went wrong first; the run stops there. */
  get broken(): string | undefined {
    return this.#broken;
  }

  violate(message: string): void {
    this.#broken ??= message;
  }

  /** Milliseconds since the start. */
  get nowMs(): number {
    return this.clock.monotonic();
  }

  /** The storage's clock, UTC. */
  get wallMs(): number {
    return this.clock.now();
  }

  at(atMs: number, callback: () => void): void {
    this.clock.timer(atMs - this.nowMs, callback);
  }

  /** Lets time pass until the instant, until done, or until something breaks. */
  async runUntil(untilMs: number, done: () => boolean = () => false): Promise<void> {
    let atMs = this.nowMs;
    let steps = 0;
    await settled();
    while (!this.#broken && !done()) {
      const waitMs = this.clock.untilNextTimer();
      if (waitMs === undefined || this.nowMs + waitMs > untilMs) {
        this.clock.advance(Math.max(0, untilMs - this.nowMs));
        return;
      }
      this.clock.advance(waitMs);
      await settled();
      steps = this.nowMs === atMs ? steps + 1 : 0;
      atMs = this.nowMs;
      if (steps > STEPS_PER_INSTANT_MAX) this.violate('time stands still: something spins without waiting');
    }
  }
}

/** Every promise that can resolve at this instant has resolved when this does. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Choices from the seed. */
export class Chance {
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = new SeededRandom(Math.imul(seed, 0x9e3779b1) ^ 0x85ebca6b);
  }

  next(): number {
    return this.#random.next();
  }

  happens(probability: number): boolean {
    return probability > 0 && this.#random.next() < probability;
  }

  between(min: number, max: number): number {
    return min + this.#random.next() * (max - min);
  }

  /** A whole number, both ends included. */
  whole(min: number, max: number): number {
    return min + this.#random.below(max - min + 1);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.#random.below(items.length)]!;
  }
}

/**
 * Virtual time and the only source of chance. Time stands still while anything can still happen at this instant, then jumps
 * to the next timer; nothing reads the system's clock, so a seed always gives the same history.
 */
import { ManualClock, SeededRandom } from '@carillon/foundation';
import { Trace } from './trace.ts';

export const WORLD_START_MS = Date.UTC(2030, 0, 1, 12);

/** Whoever has not read the storage's clock since it was set goes by the old one: until the next reading that gets through. */
export const STEP_FELT_MS = 60_000;
/** Steps at one instant before the simulation is called stuck: a role that spins without waiting. */
const STEPS_PER_INSTANT_MAX = 5_000;

export class World {
  readonly seed: number;
  readonly clock = new ManualClock(WORLD_START_MS);
  readonly chance: Chance;
  readonly trace: Trace;
  /** Ids come from one cursor, so that two processes never make the same one. */
  readonly ids: SeededRandom;
  #broken: string | undefined;
  /** How far the storage's clock is from the time that passes, now and before it was last set. */
  #stepped = { byMs: 0, byMsMax: 0 };
  #believedMs = WORLD_START_MS;
  #formerly: { readonly byMs: number; readonly untilMs: number }[] = [];

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

  /** The clocks of machines, which nobody sets when the storage's is. */
  get machineMs(): number {
    return this.wallMs - this.#stepped.byMs;
  }

  /** The latest instant that anybody may have taken for the present, by the storage's clock before or after it was set. */
  get believedMs(): number {
    return Math.max(this.#believedMs, this.wallMs);
  }

  /** How far ahead of the storage's clock those may be who have not noticed that it was set back. */
  get unnoticedMs(): number {
    const { byMs } = this.#stepped;
    const felt = this.#formerly.filter(({ untilMs }) => untilMs > this.nowMs);
    return Math.max(0, ...felt.map((former) => former.byMs - byMs));
  }

  stepStorageClock(byMs: number): void {
    this.trace.add('world', `the storage's clock is set by ${byMs} ms`);
    const before = this.#stepped;
    if (byMs < 0) this.#believedMs = Math.max(this.#believedMs, this.wallMs + STEP_FELT_MS);
    this.#formerly.push({ byMs: before.byMs, untilMs: this.nowMs + STEP_FELT_MS });
    const afterMs = before.byMs + byMs;
    this.#stepped = { byMs: afterMs, byMsMax: Math.max(before.byMsMax, afterMs) };
    this.clock.step(byMs);
  }

  /** To the latest it ever was: what was written by it then need not be waited for. */
  correctStorageClock(): void {
    const { byMs, byMsMax } = this.#stepped;
    if (byMs < byMsMax) this.stepStorageClock(byMsMax - byMs);
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
  integer(min: number, max: number): number {
    return min + this.#random.below(max - min + 1);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.#random.below(items.length)]!;
  }
}

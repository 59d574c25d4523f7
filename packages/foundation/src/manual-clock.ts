/** A clock that moves only when a test moves it. Timers fall due in order, each at its own instant. */
import type { Clock } from './clock.ts';
import { MinHeap } from './min-heap.ts';

interface Pending {
  atMs: number;
  order: number;
  callback: (() => void) | undefined;
}

export class ManualClock implements Clock {
  #elapsedMs = 0;
  #wallMs: number;
  #order = 0;
  readonly #timers = new MinHeap<Pending>((a, b) => a.atMs - b.atMs || a.order - b.order);

  constructor(startMs = Date.UTC(2030, 0, 1)) {
    this.#wallMs = startMs;
  }

  now(): number {
    return this.#wallMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  timer(delayMs: number, callback: () => void): () => void {
    const pending: Pending = { atMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.push(pending);
    return () => {
      pending.callback = undefined;
    };
  }

  /** Steps the wall clock alone, as an administrator or NTP would. */
  step(byMs: number): void {
    this.#wallMs += byMs;
  }

  /** Milliseconds until the next timer, undefined when none waits. */
  untilNextTimer(): number | undefined {
    for (let next = this.#timers.peek(); next; next = this.#timers.peek()) {
      if (next.callback) return next.atMs - this.#elapsedMs;
      this.#timers.pop();
    }
    return undefined;
  }

  /** Moves time forward, calling the timers that fall due on the way. Promise callbacks run when the caller awaits. */
  advance(byMs: number): void {
    const targetMs = this.#elapsedMs + byMs;
    for (let wait = this.untilNextTimer(); wait !== undefined; wait = this.untilNextTimer()) {
      if (this.#elapsedMs + wait > targetMs) break;
      this.#move(wait);
      this.#timers.pop()?.callback?.();
    }
    this.#move(targetMs - this.#elapsedMs);
  }

  #move(byMs: number): void {
    this.#elapsedMs += byMs;
    this.#wallMs += byMs;
  }
}

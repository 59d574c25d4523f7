/**
 * Whether a process can notice anything: running, stopped for a while (SIGSTOP, a stalled machine), or dead. Everything that
 * comes to it from outside (timers, answers, messages) passes here; what comes while it is stopped is noticed afterwards,
 * and what comes after its death never is.
 */
import type { Clock } from '@carillon/foundation';
import type { World } from './world.ts';

/** One thing after the other, each with all that follows from it, before the next is noticed. */
const NOTICE_MS = 0.25;

export class ProcessGate {
  readonly #world: World;
  #pausedUntilMs = 0;
  /** When the last of what came during a pause is noticed. */
  #caughtUpMs = 0;
  #dead = false;
  readonly #onDeath: (() => void)[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  get dead(): boolean {
    return this.#dead;
  }

  get paused(): boolean {
    return this.#pausedUntilMs > this.#world.nowMs;
  }

  kill(): void {
    this.#dead = true;
    for (const tell of this.#onDeath.splice(0)) tell();
  }

  /** For what notices the death from outside. */
  onDeath(tell: () => void): void {
    this.#onDeath.push(tell);
  }

  pause(forMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#world.nowMs + forMs);
  }

  /** Lets it in now, when the process continues, or never. */
  enter(callback: () => void): void {
    if (this.#dead) return;
    if (!this.paused) callback();
    else {
      this.#caughtUpMs = Math.max(this.#caughtUpMs + NOTICE_MS, this.#pausedUntilMs);
      this.#world.at(this.#caughtUpMs, () => this.enter(callback));
    }
  }
}

/** The clock of one machine: its wall clock may be wrong and may be set; monotonic time goes on during a pause. */
export class ProcessClock implements Clock {
  readonly #world: World;
  readonly #gate: ProcessGate;
  /** Monotonic time starts somewhere else on every machine. */
  readonly #originMs: number;
  #skewMs: number;

  constructor(world: World, gate: ProcessGate, options: { skewMs: number; originMs: number }) {
    this.#world = world;
    this.#gate = gate;
    this.#skewMs = options.skewMs;
    this.#originMs = options.originMs;
  }

  now(): number {
    return this.#world.machineMs + this.#skewMs;
  }

  monotonic(): number {
    return this.#world.nowMs + this.#originMs;
  }

  timer(delayMs: number, callback: () => void): () => void {
    let live = true;
    const cancel = this.#world.clock.timer(delayMs, () => this.#gate.enter(() => live && callback()));
    return () => {
      live = false;
      cancel();
    };
  }

  step(byMs: number): void {
    this.#skewMs += byMs;
  }
}

/**
 * Whether a process can notice anything: running, stopped for a while (SIGSTOP, a stalled machine), or dead. Everything that
 * comes to it from outside (timers, answers, messages) passes here; what comes while it is stopped is noticed afterwards,
 * and what comes after its death never is.
 */
import type { Clock } from '@carillon/foundation';
import type { World } from './world.ts';

export class ProcessGate {
  readonly #world: World;
  #pausedUntilMs = 0;
  #dead = false;

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
  }

  pause(forMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#world.nowMs + forMs);
  }

  /** Lets it in now, when the process continues, or never. */
  enter(callback: () => void): void {
    if (this.#dead) return;
    if (!this.paused) callback();
    else this.#world.at(this.#pausedUntilMs, () => this.enter(callback));
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
    return this.#world.wallMs + this.#skewMs;
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

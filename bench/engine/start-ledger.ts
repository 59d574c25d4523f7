/**
 * What a handler saw: how often each job was started, for which instant, and how long after it. Delays are rounded up to
 * the next millisecond, since instants and the clock have no finer grain: a figure is never better than the truth.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../percentile.ts';

export type Delays = {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Below zero when a job was started before its instant. */
  readonly minMs: number;
};

export class StartLedger {
  /** Resolves when every job was started at least once. */
  readonly allStarted: Promise<void>;
  readonly #instantsMs: Float64Array | undefined;
  readonly #starts: Uint16Array;
  readonly #failures: Uint8Array;
  readonly #delaysMs: Int32Array;
  readonly #done: () => void;
  #missing: number;
  #unknown = 0;
  #wrongInstant = 0;
  #firstStartAt: number | undefined;

  /** Without instants, any scheduled instant is right. */
  constructor(jobs: number, instantsMs?: Float64Array) {
    this.#instantsMs = instantsMs;
    this.#starts = new Uint16Array(jobs);
    this.#failures = new Uint8Array(jobs);
    this.#delaysMs = new Int32Array(jobs);
    this.#missing = jobs;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.allStarted = promise;
    this.#done = resolve;
  }

  started(index: number, scheduledAtMs: number): void {
    const nowMs = Date.now();
    const before = this.#starts[index];
    if (before === undefined) {
      this.#unknown += 1;
      return;
    }
    this.#firstStartAt ??= performance.now();
    this.#starts[index] = before + 1;
    if (before > 0) return;
    this.#delaysMs[index] = nowMs + 1 - scheduledAtMs;
    if (this.#instantsMs && this.#instantsMs[index] !== scheduledAtMs) this.#wrongInstant += 1;
    this.#missing -= 1;
    if (this.#missing === 0) this.#done();
  }

  /** A start that fails by plan, and so is none of those that must come exactly once. */
  failed(index: number): void {
    if (this.#failures[index] === undefined) this.#unknown += 1;
    else this.#failures[index] += 1;
  }

  get failures(): number {
    return this.#failures.reduce((sum, failures) => sum + failures, 0);
  }

  get jobs(): number {
    return this.#starts.length;
  }

  get missing(): number {
    return this.#missing;
  }

  /** Monotonic, of the first start of all. */
  get firstStartAt(): number {
    if (this.#firstStartAt === undefined) throw new Error('nothing was started');
    return this.#firstStartAt;
  }

  /** Gives up waiting quietly: what is missing is said by `faults`. */
  async allStartedWithin(patienceMs: number): Promise<void> {
    const late = new AbortController();
    const patience = sleep(patienceMs, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([this.allStarted, patience]);
    late.abort();
  }

  /** To be asked when nothing can be started any more. */
  faults(): string[] {
    const repeated = this.#starts.reduce((sum, starts) => sum + (starts > 1 ? 1 : 0), 0);
    const faults: string[] = [];
    if (this.#missing > 0) faults.push(`${this.#missing} of ${this.jobs} never started`);
    if (repeated > 0) faults.push(`${repeated} started more than once`);
    const failedAgain = this.#failures.reduce((sum, failures) => sum + (failures > 1 ? 1 : 0), 0);
    if (failedAgain > 0) faults.push(`${failedAgain} failed more than once`);
    if (this.#unknown > 0) faults.push(`${this.#unknown} starts of jobs nobody created`);
    if (this.#wrongInstant > 0) faults.push(`${this.#wrongInstant} started for another instant`);
    return faults;
  }

  delays(): Delays {
    const sorted = this.#delaysMs.toSorted();
    return {
      p50Ms: percentile(sorted, 0.5),
      p99Ms: percentile(sorted, 0.99),
      maxMs: sorted.at(-1)!,
      minMs: sorted[0]!,
    };
  }
}

/**
 * Shows how far runs are: about once a second, one statement for all runs that said something since. Best effort: of what a run says
 * within a second the last counts, and what cannot be written is dropped.
 */
import { PROGRESS_MESSAGE_LENGTH_MAX, type RunProgress } from '@carillon/domain';
import type { Clock, Log } from '@carillon/foundation';
import type { HeldRun } from '@carillon/worker';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import { applyInBatches } from '../storage/apply-in-batches.ts';
import type { ProgressReport, RunStateStore } from '../storage/run-state-store.ts';

export interface ProgressWriterOptions {
  readonly store: RunStateStore;
  readonly signals: SignalBus;
  readonly clock: Clock;
  readonly log: Log;
}

const WRITE_EVERY_MS = 1_000;
/** A run is shown as running a moment after it has begun: until then there is nothing to write its progress to. */
const TRIES_MAX = 3;
/** More runs than any worker has slots; what further ones say is dropped. */
const RUNS_MAX = 10_000;

interface Waiting {
  readonly report: ProgressReport;
  readonly tries: number;
}

type Entry = readonly [string, Waiting];

export class ProgressWriter {
  readonly #options: ProgressWriterOptions;
  readonly #waiting = new Map<string, Waiting>();
  /** One statement after the other: of two at the same time, what was told first might be written last. */
  #underWay: { readonly keys: ReadonlySet<string>; readonly done: Promise<void> } | undefined;
  #isArmed = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: ProgressWriterOptions) {
    this.#options = options;
  }

  tell({ leaseId, position, epoch }: HeldRun, { percent, message }: RunProgress): void {
    const key = `${leaseId}/${position}`;
    if (!this.#waiting.has(key) && this.#waiting.size >= RUNS_MAX) return;
    const report = { leaseId, position, epoch, percent, message: message && storable(message) };
    this.#waiting.set(key, { report, tries: 0 });
    this.#arm();
  }

  /** For tests: runs whose progress is not written yet. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** What a run said last is written before its end, after which it cannot be. A promise while it is. */
  close({ leaseId, position }: HeldRun): Promise<void> | undefined {
    const key = `${leaseId}/${position}`;
    if (this.#waiting.has(key)) return this.#writeBatch();
    return this.#underWay?.keys.has(key) ? this.#underWay.done : undefined;
  }

  /** What was not written by now is dropped. */
  stop(): void {
    this.#cancelTimer?.();
    this.#waiting.clear();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#cancelTimer = this.#options.clock.timer(WRITE_EVERY_MS, () => void this.#write());
  }

  async #write(): Promise<void> {
    await this.#writeBatch();
    this.#isArmed = false;
    if (this.#waiting.size > 0) this.#arm();
  }

  async #writeBatch(): Promise<void> {
    while (this.#underWay) await this.#underWay.done;
    const batch = [...this.#waiting];
    this.#waiting.clear();
    if (batch.length === 0) return;
    const done = this.#writeAll(batch).finally(() => (this.#underWay = undefined));
    this.#underWay = { keys: new Set(batch.map(([key]) => key)), done };
    await done;
  }

  async #writeAll(batch: readonly Entry[]): Promise<void> {
    const { store, signals, clock, log } = this.#options;
    let failed: { readonly err: unknown; readonly runs: number } | undefined;
    // Runs of unrelated workers share a statement: what the storage refuses is dropped alone.
    const shown = await applyInBatches<Entry, boolean | undefined>(batch, {
      apply: (part) =>
        store.showProgress(
          part.map(([, { report }]) => report),
          clock.now(),
        ),
      fail: (error) => {
        failed = { err: error, runs: (failed?.runs ?? 0) + 1 };
        return undefined;
      },
      timeoutsMax: 1,
    });
    if (failed) log.debug(failed, 'could not show the progress of runs');
    if (shown.includes(true)) signals.send('events-recorded', {});
    for (const [i, [key, { report, tries }]] of batch.entries())
      if (shown[i] === false && tries + 1 < TRIES_MAX && !this.#waiting.has(key))
        this.#waiting.set(key, { report, tries: tries + 1 });
  }
}

/** PostgreSQL's text holds neither NUL nor half a character. */
function storable(message: string): string {
  return message.replaceAll('\0', '').slice(0, PROGRESS_MESSAGE_LENGTH_MAX).toWellFormed();
}

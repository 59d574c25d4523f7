/**
 * Runs claimed batches through handlers and reports each outcome once. It knows nothing of where batches come from. Slots
 * are the bound, and a run keeps its slot until its handler has really returned.
 */
import {
  type ClaimedBatch,
  type ClaimedRun,
  DID_NOT_STOP,
  type LeaseId,
  RUN_ERRORS,
  type RunId,
  type RunOutcome,
  type RunUsage,
} from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { Handler } from './handler.ts';
import {
  largeResultOf,
  outcomeOfAnswer,
  outcomeOfError,
  outcomeOfStop,
  withoutResult,
  withResult,
} from './outcome-of.ts';
import type { RunChannel } from './run-channel.ts';
import { RunInProgress, type RunInProgressOptions } from './run-in-progress.ts';
import type { RunTrust, TrustState } from './worker-trust.ts';

export interface EndedRun {
  readonly run: ClaimedRun;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly outcome: RunOutcome;
  readonly usage?: RunUsage | undefined;
}

export interface ExecutionEngineOptions {
  readonly handlers: ReadonlyMap<string, Handler>;
  /** Whoever sends runs counts them too; what is more goes back. */
  readonly slots: number;
  readonly clock: Clock;
  /** Not given when others may have given this worker up for dead, and may execute its runs: asked before every call. */
  readonly trustState: () => TrustState;
  /** The same for handlers that start processes. */
  readonly trust?: RunTrust;
  /** Called once for every run that was accepted. */
  readonly onEnded: (ended: EndedRun) => void;
  /** Called when a slot is free again: usually with onEnded, later for a handler that did not stop when told. */
  readonly onSlotFree: () => void;
  /** Called with runs that have been going on for SHOW_AFTER_MS. */
  readonly onRunning: (runs: readonly RunInProgress[]) => void;
  /** Where output, progress and checkpoints go. Left out: nowhere. */
  readonly channel?: RunChannel;
}

const TICK_MS = 100;
/** Most runs end before anybody could look at them; only the others are shown as RUNNING. */
const SHOW_AFTER_MS = 250;
/** A handler that was told to stop gets this long before its run is reported without it. */
const STOP_GRACE_MS = 5_000;
/** How long a cancel of a run is remembered that is not here: on its way, it may have passed its run. */
const CANCEL_MS = 60_000;
const CANCELS_MAX = 10_000;
/** A run whose large result is not kept by then ends without it. */
const KEEP_RESULT_MS_MAX = 120_000;

export class ExecutionEngine {
  readonly #options: ExecutionEngineOptions;
  readonly #runOptions: RunInProgressOptions;
  /**
   * Handlers that have not returned yet. A run whose handler answers at once never gets in here: adding it and taking it out again would cost
   * more than all else. Not by run: the same run may be handed out again while an abandoned attempt of it still holds its slot. */
  readonly #running = new Set<RunInProgress>();
  /** Positions of runs that are not reported yet. */
  readonly #leases = new Map<LeaseId, Set<number>>();
  /** Runs that were cancelled and were not here then, and until when that is remembered; the oldest first. */
  readonly #cancelled = new Map<RunId, number>();
  #cancelTick: (() => void) | undefined;
  #idle: (() => void)[] = [];

  constructor(options: ExecutionEngineOptions) {
    this.#options = options;
    const { clock, channel, trust } = options;
    this.#runOptions = {
      monotonic: () => clock.monotonic(),
      holds: this.#holds,
      now: () => clock.now(),
      ...(channel && { channel }),
      ...(trust && { trust }),
    };
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** How many of these each namespace has. */
  heldBy(): ReadonlyMap<number, number> {
    const held = new Map<number, number>();
    for (const { run } of this.#running)
      if (run.namespaceKey !== undefined) held.set(run.namespaceKey, (held.get(run.namespaceKey) ?? 0) + 1);
    return held;
  }

  /** Handlers that have not returned though their runs were reported. */
  get stuckCount(): number {
    let stuck = 0;
    for (const { abandoned } of this.#running) if (abandoned) stuck += 1;
    return stuck;
  }

  /** Leases with runs that still have to be reported. */
  unreportedLeases(): LeaseId[] {
    return [...this.#leases.keys()];
  }

  /** The positions of those runs. */
  unreportedRuns(): ReadonlyMap<LeaseId, ReadonlySet<number>> {
    return this.#leases;
  }

  offers(handler: string): boolean {
    return this.#options.handlers.has(handler);
  }

  accept(batch: ClaimedBatch): void {
    // A large lease comes in several batches.
    let positions = this.#leases.get(batch.leaseId);
    if (!positions) {
      positions = new Set();
      this.#leases.set(batch.leaseId, positions);
    }
    for (const { position } of batch.runs) positions.add(position);
    for (const run of batch.runs) this.#start(run);
    if (this.#running.size > 0) this.#arm();
  }

  cancel(runIds: readonly RunId[]): void {
    if (runIds.length === 0) return;
    const wanted = new Set(runIds);
    const now = this.#options.clock.monotonic();
    for (const run of this.#running)
      if (wanted.has(run.runId)) {
        run.requestStop('cancelled', RUN_ERRORS.cancelled(), now);
        wanted.delete(run.runId);
      }
    for (const runId of wanted) {
      this.#cancelled.delete(runId);
      this.#cancelled.set(runId, now + CANCEL_MS);
    }
    for (const [runId, until] of this.#cancelled) {
      if (this.#cancelled.size <= CANCELS_MAX && until > now) break;
      this.#cancelled.delete(runId);
    }
  }

  #wasCancelled(runId: RunId): boolean {
    const until = this.#cancelled.size === 0 ? undefined : this.#cancelled.get(runId);
    return until !== undefined && until > this.#options.clock.monotonic();
  }

  /** Tells everything to stop and be given back; nothing counts as an attempt (hazard 22). */
  giveBackAll(message: string): void {
    const now = this.#options.clock.monotonic();
    for (const run of this.#running) run.requestStop('returned', message, now);
  }

  /** The same for what runs under these leases and was not stopped yet; answers how many. */
  giveBack(leases: readonly LeaseId[], message: string): number {
    const wanted = new Set(leases);
    const now = this.#options.clock.monotonic();
    const runs = [...this.#running].filter(({ run, stop }) => stop === undefined && wanted.has(run.leaseId));
    for (const run of runs) run.requestStop('returned', message, now);
    return runs.length;
  }

  /** Resolves when no run is left. */
  async drained(): Promise<void> {
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** A report was accepted or refused for good: the lease holds one run less. */
  reported({ leaseId, position }: Pick<ClaimedRun, 'leaseId' | 'position'>): void {
    const positions = this.#leases.get(leaseId);
    positions?.delete(position);
    if (positions?.size === 0) this.#leases.delete(leaseId);
  }

  /**
   * LEASE-4: a process that stood still continues with what it was about to do before any of its timers fires, so the clock is read
   * right before the handler is called. A run that goes on while the trust is doubted is not held, and not stopped either.
   */
  readonly #holds = (progress: RunInProgress): boolean => {
    if (progress.stop) return false;
    const state = this.#options.trustState();
    if (state === 'over') this.#stopUntrusted(progress);
    return state === 'given';
  };

  #stopUntrusted(progress: RunInProgress): void {
    progress.requestStop('returned', RUN_ERRORS.notTrusted(), this.#options.clock.monotonic());
  }

  #start(run: ClaimedRun): void {
    const progress = new RunInProgress(run, this.#options.clock.now(), this.#runOptions);
    const handler = this.#options.handlers.get(run.handler);
    const refusal = run.failure ?? this.#refusalOf(run, handler);
    if (refusal) {
      this.#report(progress, refusal);
      this.#options.onSlotFree();
      return;
    }
    if (!this.#holds(progress)) {
      this.#stopUntrusted(progress);
      this.#finish(progress, outcomeOfStop(progress.stop!));
      return;
    }
    let answer: unknown;
    try {
      answer = handler!(progress);
    } catch (error) {
      this.#finish(progress, outcomeOfError(progress, error));
      return;
    }
    if (!isThenable(answer)) {
      this.#finish(progress, outcomeOfAnswer(progress, answer));
      return;
    }
    this.#running.add(progress);
    answer.then(
      (value) => this.#finish(progress, outcomeOfAnswer(progress, value)),
      (error: unknown) => this.#finish(progress, outcomeOfError(progress, error)),
    );
  }

  #refusalOf({ runId, handler: name }: ClaimedRun, handler: Handler | undefined): RunOutcome | undefined {
    if (this.#wasCancelled(runId)) return { kind: 'CANCELLED', error: RUN_ERRORS.cancelledFirst() };
    // Placed by an older list of handlers: somebody else has to take it.
    if (!handler) return { kind: 'RETURNED', error: RUN_ERRORS.notOffered(name) };
    if (this.#running.size < this.#options.slots) return undefined;
    return { kind: 'RETURNED', error: RUN_ERRORS.noSlot() };
  }

  /** A run keeps its slot until its output is kept: a program that writes faster than that starts no next one. */
  #finish(progress: RunInProgress, outcome: RunOutcome): void {
    const closing = progress.close();
    const large = largeResultOf(outcome);
    if (!large && closing === undefined) {
      this.#end(progress, outcome);
      return;
    }
    progress.closing = true;
    this.#running.add(progress);
    if (large) {
      const kept = this.#keepResult(progress, { outcome, large });
      void Promise.all([kept, closing]).then(([told]) => this.#end(progress, told));
    } else void closing!.then(() => this.#end(progress, outcome));
  }

  /** A store that is away costs the result, never the run. */
  async #keepResult(
    { run, results }: RunInProgress,
    { outcome, large }: { outcome: RunOutcome; large: Uint8Array },
  ): Promise<RunOutcome> {
    const late = Promise.withResolvers<never>();
    const cancel = this.#options.clock.timer(KEEP_RESULT_MS_MAX, () =>
      late.reject(new Error(`it took more than ${KEEP_RESULT_MS_MAX / 1_000} s`)),
    );
    try {
      if (!results) throw new Error('nobody takes it');
      return withResult(outcome, await Promise.race([results.save(run, large), late.promise]));
    } catch (error) {
      return withoutResult(outcome, error instanceof Error ? error.message : String(error));
    } finally {
      cancel();
    }
  }

  #end(progress: RunInProgress, outcome: RunOutcome): void {
    if (this.#running.size > 0) this.#running.delete(progress);
    if (!progress.abandoned) this.#report(progress, outcome);
    this.#options.onSlotFree();
    if (this.#running.size === 0 && this.#idle.length > 0)
      for (const resolve of this.#idle.splice(0)) resolve();
  }

  #report(progress: RunInProgress, outcome: RunOutcome): void {
    const { run, startedAtMs, usage } = progress;
    this.#options.onEnded({ run, startedAtMs, endedAtMs: this.#options.clock.now(), outcome, usage });
  }

  /** One timer for all runs; it stands still while nothing runs. */
  #arm(): void {
    this.#cancelTick ??= this.#options.clock.timer(TICK_MS, () => {
      this.#cancelTick = undefined;
      this.tick();
      if (this.#running.size > 0) this.#arm();
    });
  }

  /** Looks over what is running: timeouts, runs to show, handlers that do not stop. Also whether the clocks still agree. */
  tick(): void {
    this.#options.trustState();
    const now = this.#options.clock.monotonic();
    const toShow: RunInProgress[] = [];
    for (const progress of this.#running) {
      if (progress.closing) continue;
      const runningMs = now - progress.startedAt;
      if (runningMs >= progress.run.timeoutMs) {
        progress.requestStop('timed_out', RUN_ERRORS.timedOut(String(progress.run.timeoutMs / 1000)), now);
      }
      if (runningMs >= SHOW_AFTER_MS && !progress.shown) {
        progress.shown = true;
        toShow.push(progress);
      }
      if (progress.stop && !progress.abandoned && now - progress.stop.at >= STOP_GRACE_MS) {
        progress.abandoned = true;
        void progress.close();
        this.#report(
          progress,
          outcomeOfStop({ ...progress.stop, message: `${progress.stop.message}${DID_NOT_STOP}` }),
        );
      }
    }
    if (toShow.length > 0) this.#options.onRunning(toShow);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  );
}

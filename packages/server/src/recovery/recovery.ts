/**
 * Takes back the runs of dead workers. A worker that was silent too long is marked dead first (LEASE-6: its heartbeats are refused
 * from then on), then each of its runs is settled as lost: it runs again with the next epoch, or becomes a dead letter. Every node
 * does this; the second one finds nothing left. It also ends what a living worker keeps beyond its time limit (LEASE-16).
 */
import { type BootId, RUN_ERRORS, type WorkerId } from '@carillon/domain';
import {
  type Clock,
  LastingCondition,
  type Log,
  Loop,
  type Random,
  type Service,
} from '@carillon/foundation';
import type { LeasedRun, LeaseStore } from '../storage/lease-store.ts';
import type { MemberStore, WorkerState } from '../storage/member-store.ts';
import { StorageTimeout } from '../storage/storage.ts';
import type { RunReports } from '../worker-link/run-reports.ts';
import { SilenceWatch } from './silence-watch.ts';

export interface RecoveryOptions {
  readonly members: MemberStore;
  readonly leases: LeaseStore;
  readonly reports: RunReports;
  /** Processes that certainly have ended: their workers are marked dead without waiting for silence. */
  readonly endedBoots: readonly BootId[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly silentMs: number;
}

const PASS_MS = 1_000;
/** Longer than a worker may take to stop a run and to hand over its last output and its result. */
const OVERDUE_MS = 180_000;
const OVERDUE_PASS_MS = 10_000;
const OVERDUE_RUNS_MAX = 1_000;
/** Searches take at most this share of the time, also while an old snapshot keeps settled leases from being vacuumed. */
const OVERDUE_SHARE = 0.02;
/** By less the clock is only corrected. */
const CLOCK_STEP_MS = 10_000;

export class Recovery implements Service {
  readonly #options: RecoveryOptions;
  readonly #loop: Loop;
  readonly #watch: SilenceWatch;
  readonly #blocked: LastingCondition;
  #overdueAt = 0;
  /** Since when the storage has answered, monotonic: after an outage reports come first. */
  #answeringSince: number | undefined;
  /** How far the clock is ahead of the monotonic one, and since when it has been right: what was claimed before counts from then. */
  #clock: { aheadMs: number; rightSinceMs: number } | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { clock, silentMs } = options;
    this.#watch = new SilenceWatch(silentMs);
    this.#blocked = new LastingCondition({ clock });
    this.#loop = new Loop({ ...options, name: 'recovery', idleMs: PASS_MS, runOnce: () => this.runOnce() });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async runOnce(): Promise<undefined> {
    const dead = await this.#markDead().catch((error: unknown) => {
      this.#watch.startOver();
      this.#answeringSince = undefined;
      throw error;
    });
    this.#answeringSince ??= this.#options.clock.monotonic();
    // After marking: a take-over that is slow or fails must not delay noticing the next silent worker.
    if (dead.length > 0) await this.#takeOver(dead);
    await this.#endOverdue();
    return undefined;
  }

  /** LEASE-16: a worker that lives and does not end a run, by a defect or on purpose, does not keep it. */
  async #endOverdue(): Promise<void> {
    const { leases, reports, clock, silentMs, log } = this.#options;
    const at = clock.monotonic();
    const nowMs = clock.now();
    const rightSinceMs = this.#rightSinceMs(nowMs, at);
    if (at < this.#overdueAt || at - this.#answeringSince! < silentMs) return;
    const found = await leases.overdue({ beforeMs: nowMs - OVERDUE_MS, limit: OVERDUE_RUNS_MAX });
    const tookMs = clock.monotonic() - at;
    this.#overdueAt = at + Math.max(OVERDUE_PASS_MS, tookMs / OVERDUE_SHARE);
    const overdue = found.filter(
      ({ claimedAtMs, timeoutMs }) => Math.max(claimedAtMs, rightSinceMs) + timeoutMs + OVERDUE_MS < nowMs,
    );
    if (overdue.length === 0) return;
    const answers = await reports.ended(
      overdue.map((run) => ({
        ...{ run, startedAtMs: undefined, endedAtMs: nowMs },
        outcome: { kind: 'TIMED_OUT', error: RUN_ERRORS.overdue(String(run.timeoutMs / 1_000)) },
      })),
    );
    const ended = overdue.filter((_, i) => answers[i] === 'settled' || answers[i] === 'cancelled');
    if (ended.length > 0)
      log.warn(factsOf(ended), 'ended runs that their workers kept beyond their time limit');
  }

  /** A clock that is set would make everything overdue at once. Whether it was set before this process looked at it, nobody knows. */
  #rightSinceMs(nowMs: number, at: number): number {
    const aheadMs = nowMs - at;
    const before = this.#clock;
    const wasSet = before === undefined || Math.abs(aheadMs - before.aheadMs) > CLOCK_STEP_MS;
    this.#clock = { aheadMs, rightSinceMs: wasSet ? nowMs : before.rightSinceMs };
    return this.#clock.rightSinceMs;
  }

  /** Returns all workers that are dead and not forgotten. */
  async #markDead(): Promise<WorkerId[]> {
    const { members, clock, endedBoots: ended } = this.#options;
    const askedAt = clock.monotonic();
    const workers = await members.workers();
    const silent = this.#watch.observe({ workers, askedAt, answeredAt: clock.monotonic() });
    const isGone = ({ alive, bootId }: WorkerState) => !alive || ended.includes(bootId);
    return silent.length > 0 || workers.some(isGone)
      ? members.markDead({ silent, ended, nowMs: clock.now() })
      : [];
  }

  async #takeOver(marked: readonly WorkerId[]): Promise<void> {
    const { members, leases } = this.#options;
    let dead = marked;
    const leased = await leases.leasedBy(dead);
    if (leased.length > 0) {
      const left = await this.#takeBack(leased);
      dead = dead.filter((workerId) => !left.has(workerId));
    }
    if (dead.length > 0) await members.forgetWorkers(dead);
  }

  /**
   * Returns the workers with runs left for the next pass, because a transaction holds locks on their jobs. Unlike an outage, that
   * does not restart the watch over the other workers (hazard 47).
   */
  async #takeBack(leased: readonly LeasedRun[]): Promise<ReadonlySet<WorkerId>> {
    const { reports, clock } = this.#options;
    const endedAtMs = clock.now();
    const othersCrashes = crashesOfOthers(leased);
    const answers = await reports.ended(
      leased.map((run) => ({
        run,
        startedAtMs: undefined,
        endedAtMs,
        outcome: { kind: 'LOST', error: RUN_ERRORS.lost(run.workerId), ...othersCrashes(run) },
      })),
    );
    const left = leased.filter((_, i) => answers[i] instanceof StorageTimeout);
    // A stale run was taken back by another server, which logs it.
    this.#log(
      leased.filter((_, i) => answers[i] === 'settled' || answers[i] === 'cancelled'),
      left,
    );
    const failure = answers.find((answer) => answer instanceof Error && !(answer instanceof StorageTimeout));
    if (failure) throw failure;
    return new Set(left.map(({ workerId }) => workerId));
  }

  #log(taken: readonly LeasedRun[], left: readonly LeasedRun[]): void {
    const { log } = this.#options;
    if (taken.length > 0) log.warn(factsOf(taken), 'took back the runs of dead workers');
    if (left.length === 0) this.#blocked.end();
    else if (this.#blocked.notice())
      log.warn(
        { ...factsOf(left), jobId: left[0]!.jobId, runId: left[0]!.runId },
        'runs of dead workers cannot be taken back yet: somebody holds locked in the database what they need; trying again',
      );
  }
}

/** For each run, the highest number of workers that another run on the same worker has lost: that run may be the cause instead. */
function crashesOfOthers(leased: readonly LeasedRun[]): (run: LeasedRun) => { othersCrashes?: number } {
  const most = new Map<WorkerId, readonly number[]>();
  for (const [workerId, runs] of Map.groupBy(leased, (run) => run.workerId)) {
    const counts = runs.map(({ crashes }) => crashes).sort((a, b) => b - a);
    most.set(workerId, counts.slice(0, 2));
  }
  return ({ workerId, crashes }) => {
    const [first, second] = most.get(workerId) ?? [];
    const others = crashes === first ? second : first;
    return others === undefined ? {} : { othersCrashes: others };
  };
}

function factsOf(runs: readonly LeasedRun[]): { workers: WorkerId[]; runs: number } {
  return { workers: [...new Set(runs.map(({ workerId }) => workerId))], runs: runs.length };
}

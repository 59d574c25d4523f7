/**
 * Takes back what dead workers held. A worker that was silent too long is buried first (its heartbeats and reports are
 * refused from then on), then each of its runs is settled as lost: run again with the next epoch, or given up as a poison
 * pill. Every node does this; whoever is second finds nothing left.
 */
import type { BootId, WorkerId } from '@carillon/domain';
import {
  type Clock,
  LastingCondition,
  type Log,
  Loop,
  type Random,
  type Service,
} from '@carillon/foundation';
import type { HeldRun, LeaseStore } from '../storage/lease-store.ts';
import type { MemberStore, WorkerState } from '../storage/member-store.ts';
import { StorageTimeout } from '../storage/storage.ts';
import type { RunReports } from '../worker-link/run-reports.ts';
import { SilenceWatch } from './silence-watch.ts';

export interface RecoveryOptions {
  readonly members: MemberStore;
  readonly leases: LeaseStore;
  readonly reports: RunReports;
  /** Processes that certainly have ended: what their workers held need not wait for the silence. */
  readonly endedBoots: readonly BootId[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly silentMs: number;
}

const PASS_MS = 1_000;

export class Recovery implements Service {
  readonly #options: RecoveryOptions;
  readonly #loop: Loop;
  readonly #watch: SilenceWatch;
  readonly #heldUp: LastingCondition;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { clock, random, log, silentMs } = options;
    this.#watch = new SilenceWatch(silentMs);
    this.#heldUp = new LastingCondition({ clock });
    this.#loop = new Loop({
      name: 'recovery',
      clock,
      random,
      log,
      idleMs: PASS_MS,
      runOnce: () => this.runOnce(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async runOnce(): Promise<undefined> {
    const dead = await this.#bury().catch((error: unknown) => {
      this.#watch.startOver();
      throw error;
    });
    // Slow or failing for one of the dead, this does not keep anybody from noticing the next.
    if (dead.length > 0) await this.#takeOver(dead);
    return undefined;
  }

  /** Answers all that are dead and not forgotten. */
  async #bury(): Promise<WorkerId[]> {
    const { members, clock, endedBoots: ended } = this.#options;
    const askedAt = clock.monotonic();
    const workers = await members.workers();
    const silent = this.#watch.look({ workers, askedAt, answeredAt: clock.monotonic() });
    const isGone = ({ alive, bootId }: WorkerState) => !alive || ended.includes(bootId);
    return silent.length > 0 || workers.some(isGone) ? members.buryWorkers({ silent, ended }) : [];
  }

  async #takeOver(buried: readonly WorkerId[]): Promise<void> {
    const { members, leases } = this.#options;
    let dead = buried;
    const held = await leases.heldBy(dead);
    if (held.length > 0) {
      const left = await this.#takeBack(held);
      dead = dead.filter((workerId) => !left.has(workerId));
    }
    if (dead.length > 0) await members.forgetWorkers(dead);
  }

  /**
   * Answers the workers of which runs are left for the next pass, because somebody holds their jobs locked. That is no reason
   * to watch the others from the beginning, as after a storage that was away (hazard 47).
   */
  async #takeBack(held: readonly HeldRun[]): Promise<ReadonlySet<WorkerId>> {
    const { reports, clock } = this.#options;
    const endedAtMs = clock.now();
    const othersCrashes = crashesOfOthers(held);
    const answers = await reports.ended(
      held.map((run) => ({
        run,
        startedAtMs: undefined,
        endedAtMs,
        outcome: { kind: 'LOST', error: lostMessage(run.workerId), ...othersCrashes(run) },
      })),
    );
    const left = held.filter((_, i) => answers[i] instanceof StorageTimeout);
    // What another server has taken meanwhile is stale here, and told of there.
    this.#tell(
      held.filter((_, i) => answers[i] === 'settled' || answers[i] === 'cancelled'),
      left,
    );
    const failure = answers.find((answer) => answer instanceof Error && !(answer instanceof StorageTimeout));
    if (failure) throw failure;
    return new Set(left.map(({ workerId }) => workerId));
  }

  #tell(taken: readonly HeldRun[], left: readonly HeldRun[]): void {
    const { log } = this.#options;
    if (taken.length > 0) log.warn(factsOf(taken), 'took back the runs of dead workers');
    if (left.length === 0) this.#heldUp.end();
    else if (this.#heldUp.notice())
      log.warn(
        { ...factsOf(left), jobId: left[0]!.jobId, runId: left[0]!.runId },
        'runs of dead workers cannot be taken back yet: somebody holds locked in the database what they need; trying again',
      );
  }
}

/** For each run, the most workers that any other run of its worker had lost before: who is the likeliest killer on board. */
function crashesOfOthers(held: readonly HeldRun[]): (run: HeldRun) => { othersCrashes?: number } {
  const most = new Map<WorkerId, readonly number[]>();
  for (const [workerId, runs] of Map.groupBy(held, (run) => run.workerId)) {
    const counts = runs.map(({ crashes }) => crashes).sort((a, b) => b - a);
    most.set(workerId, counts.slice(0, 2));
  }
  return ({ workerId, crashes }) => {
    const [first, second] = most.get(workerId) ?? [];
    const others = crashes === first ? second : first;
    return others === undefined ? {} : { othersCrashes: others };
  };
}

function factsOf(runs: readonly HeldRun[]): { workers: WorkerId[]; runs: number } {
  return { workers: [...new Set(runs.map(({ workerId }) => workerId))], runs: runs.length };
}

function lostMessage(workerId: WorkerId): string {
  return `worker ${workerId} was lost while it held the run`;
}

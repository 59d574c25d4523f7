/**
 * Takes back what dead workers held. A worker that was silent too long is buried first (its heartbeats and reports are
 * refused from then on), then each of its runs is settled as lost: run again with the next epoch, or given up as a poison
 * pill. Every node does this; whoever is second finds nothing left.
 */
import type { NodeId, WorkerId } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service } from '@carillon/foundation';
import type { HeldRun, LeaseStore } from '../storage/lease-store.ts';
import type { MemberStore } from '../storage/member-store.ts';
import type { RunReports } from '../worker-link/run-reports.ts';

export interface RecoveryOptions {
  readonly members: MemberStore;
  readonly leases: LeaseStore;
  readonly reports: RunReports;
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly silentMs: number;
  /** When the storage's clock was last seen to jump (monotonic): until all have seen it, everybody looks silent. */
  readonly clockSteppedAt: () => number;
}

const PASS_MS = 1_000;

export class Recovery implements Service {
  readonly #options: RecoveryOptions;
  readonly #loop: Loop;
  /** Since when the storage has answered without a break: an outage makes everybody look silent. */
  #answeringSince: number | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { clock, random, log } = options;
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
    try {
      await this.#pass();
    } catch (error) {
      this.#answeringSince = undefined;
      throw error;
    }
    return undefined;
  }

  async #pass(): Promise<void> {
    const { members, leases, clock, nodeId, incarnation, silentMs, log, clockSteppedAt } = this.#options;
    const firstAnswer = this.#answeringSince === undefined;
    this.#answeringSince ??= clock.monotonic();
    // After an outage the living get one full period to be heard before anybody is judged by their silence.
    const mayJudge =
      !firstAnswer && clock.monotonic() - Math.max(this.#answeringSince, clockSteppedAt()) >= silentMs;
    const silentSinceMs = mayJudge ? clock.now() - silentMs : 0;
    const dead = await members.buryWorkers({ silentSinceMs, nodeId, incarnation });
    if (dead.length === 0) return;
    const held = await leases.heldBy(dead);
    if (held.length > 0) {
      log.warn({ workers: dead, runs: held.length }, 'taking back the runs of dead workers');
      await this.#takeBack(held);
    }
    await members.forgetWorkers(dead);
  }

  async #takeBack(held: readonly HeldRun[]): Promise<void> {
    const { reports, clock } = this.#options;
    await Promise.all(
      held.map((run) =>
        reports.ended({
          leaseId: run.leaseId,
          position: run.position,
          leaseSize: undefined,
          epoch: run.epoch,
          jobId: run.jobId,
          runId: run.runId,
          claimedAtMs: run.claimedAtMs,
          startedAtMs: undefined,
          endedAtMs: clock.now(),
          outcome: { kind: 'LOST', error: lostMessage(run.workerId) },
        }),
      ),
    );
  }
}

function lostMessage(workerId: WorkerId): string {
  return `worker ${workerId} was lost while it held the run`;
}

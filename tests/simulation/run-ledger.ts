/**
 * An account of every run, kept from the storage calls that were applied and from nothing else: who holds it, at which
 * epoch, how it ended. It is simple enough to be right, and the storage is compared with it.
 */
import type { ClaimedRun, JobId, LeaseId, RunId, WorkerId } from '@carillon/domain';
import type { LeaseRef } from '../../packages/server/src/storage/lease-store.ts';
import type { World } from './world.ts';

export interface Claim {
  readonly runId: RunId;
  readonly jobId: JobId;
  readonly epoch: number;
  readonly attempt: number;
  readonly workerId: WorkerId;
  /** The attempt itself failed or timed out: the only thing that may use up a retry. */
  failed: boolean;
}

export interface RunAccount {
  readonly runId: RunId;
  readonly jobId: JobId;
  claim: Claim | undefined;
  last: Claim | undefined;
  /** How it ended, for good. */
  end: string | undefined;
  cancelAsked: boolean;
  /** A person asked for it. */
  manual: boolean;
}

export class RunLedger {
  readonly #world: World;
  readonly #runs = new Map<RunId, RunAccount>();
  readonly #byRef = new Map<string, Claim>();
  readonly #leasedByJob = new Map<JobId, number>();

  constructor(world: World) {
    this.#world = world;
  }

  leasedOf(jobId: JobId): number {
    return this.#leasedByJob.get(jobId) ?? 0;
  }

  all(): Iterable<RunAccount> {
    return this.#runs.values();
  }

  get(runId: RunId): RunAccount | undefined {
    return this.#runs.get(runId);
  }

  account(runId: RunId, jobId: JobId): RunAccount {
    const known = this.#runs.get(runId);
    if (known) return known;
    const made: RunAccount = {
      runId,
      jobId,
      claim: undefined,
      last: undefined,
      end: undefined,
      cancelAsked: false,
      manual: false,
    };
    this.#runs.set(runId, made);
    return made;
  }

  holdsNothing(workerId: WorkerId): boolean {
    for (const { claim } of this.#runs.values()) if (claim?.workerId === workerId) return false;
    return true;
  }

  claimAt(ref: LeaseRef): Claim | undefined {
    return this.#byRef.get(keyOf(ref));
  }

  claim(run: ClaimedRun, by: { leaseId: LeaseId; workerId: WorkerId }): void {
    const { runId, jobId, epoch, attempt } = run;
    const account = this.account(runId, jobId);
    const { last } = account;
    const say = (what: string) => this.#world.violate(`run ${runId} of job ${jobId} was claimed ${what}`);
    if (account.claim) say(`at epoch ${epoch} while it is leased at epoch ${account.claim.epoch}`);
    if (account.end) say(`at epoch ${epoch} after it had ended as ${account.end}`);
    if (account.cancelAsked) say(`at epoch ${epoch} after its cancel was accepted`);
    if (last && epoch <= last.epoch) say(`at epoch ${epoch}, which is not after ${last.epoch}`);
    if (attempt > (last?.attempt ?? 1) && !last?.failed)
      say(`as attempt ${attempt} though none before it had failed`);
    if (last && (attempt < last.attempt || attempt > last.attempt + 1))
      say(`as attempt ${attempt} after ${last.attempt}`);
    const claim: Claim = { runId, jobId, epoch, attempt, workerId: by.workerId, failed: false };
    account.claim = claim;
    account.last = claim;
    this.#byRef.set(keyOf({ leaseId: by.leaseId, position: run.position, epoch }), claim);
    this.#leasedByJob.set(jobId, this.leasedOf(jobId) + 1);
  }

  /** A settlement that the storage accepted. */
  settle(ref: LeaseRef, settled: { again: boolean; status: string }): void {
    const claim = this.claimAt(ref);
    if (!claim) {
      this.#world.violate(`a settlement of the unknown lease ${ref.leaseId} was accepted`);
      return;
    }
    const account = this.#runs.get(claim.runId)!;
    if (account.claim !== claim) {
      const about = `run ${claim.runId} of job ${claim.jobId}`;
      this.#world.violate(
        `${about}: a report of epoch ${claim.epoch} was accepted, though it is no longer leased at it`,
      );
      return;
    }
    account.claim = undefined;
    this.#leasedByJob.set(claim.jobId, this.leasedOf(claim.jobId) - 1);
    if (settled.again) {
      if (account.cancelAsked)
        this.#world.violate(`run ${claim.runId} of job ${claim.jobId} is tried again after its cancel`);
    } else this.end(account, settled.status);
  }

  end(account: RunAccount, status: string): void {
    if (account.end) {
      const { runId, jobId, end } = account;
      this.#world.violate(`run ${runId} of job ${jobId} ended twice: as ${end}, then as ${status}`);
    }
    account.end = status;
  }
}

function keyOf({ leaseId, position, epoch }: LeaseRef): string {
  return `${leaseId}/${position}/${epoch}`;
}

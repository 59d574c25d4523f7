/**
 * What runs have saved, kept from the storage calls that were applied: an attempt is given what was saved last before it, and nothing
 * is saved by an attempt that the run was taken from.
 */
import type { ClaimedRun, RunId, WorkerId } from '@carillon/domain';
import type { RunContext } from '@carillon/worker';
import type { SavedCheckpoint } from '../../packages/server/src/storage/run-state-store.ts';
import type { Claim, RunLedger } from './run-ledger.ts';
import type { World } from './world.ts';

const REMOTE_CHECKPOINTS_GO_ON = true;

export class CheckpointLedger {
  readonly #world: World;
  readonly #runs: RunLedger;
  readonly #saved = new Map<RunId, string>();
  /** What each attempt saved last, as the handlers count. */
  readonly #steps = new Map<Claim, number>();
  /** By run and epoch: what the attempt begins with. */
  readonly #given = new Map<string, string | undefined>();

  constructor(world: World, runs: RunLedger) {
    this.#world = world;
    this.#runs = runs;
  }

  saved(checkpoints: readonly SavedCheckpoint[], results: readonly boolean[]): void {
    checkpoints.forEach((checkpoint, i) => {
      if (!results[i]) return;
      const claim = this.#runs.claimAt(checkpoint);
      const account = claim && this.#runs.get(claim.runId);
      if (!account || account.claim !== claim)
        this.#world.violate(
          `a checkpoint of epoch ${checkpoint.epoch} was saved, though its run is not leased at it`,
        );
      else {
        this.#goesOn(claim, checkpoint.data);
        this.#saved.set(account.runId, checkpoint.data);
      }
    });
  }

  /** Of one attempt a later checkpoint is not overwritten by an earlier one. */
  #goesOn(claim: Claim, data: string): void {
    const { runId, epoch, workerId } = claim;
    const { step } = JSON.parse(data) as { step: number };
    const before = this.#steps.get(claim) ?? 0;
    this.#steps.set(claim, step);
    if (before > step && (REMOTE_CHECKPOINTS_GO_ON || !isRemote(workerId)))
      this.#world.violate(
        `run ${runId} saved step ${step} at epoch ${epoch} over step ${before}, which is later`,
      );
  }

  claimed({ runId, epoch, checkpoint }: ClaimedRun): void {
    const last = this.#saved.get(runId);
    if (checkpoint !== last)
      this.#world.violate(
        `run ${runId} was claimed at epoch ${epoch} with the checkpoint ${checkpoint}, and ${last} was saved last`,
      );
    this.#given.set(`${runId}/${epoch}`, last);
  }

  started({ runId, epoch, checkpoint }: RunContext): void {
    const given = this.#given.get(`${runId}/${epoch}`);
    const value = checkpoint.value === undefined ? undefined : JSON.stringify(checkpoint.value);
    if (value !== given)
      this.#world.violate(
        `run ${runId} starts at epoch ${epoch} from the checkpoint ${value}, and was given ${given}`,
      );
  }

  ended(runId: RunId, status: string): void {
    if (status === 'SUCCESS' || status === 'CANCELLED') this.#saved.delete(runId);
  }

  redriven(deadRunId: RunId, as: RunId): void {
    const last = this.#saved.get(deadRunId);
    if (last !== undefined) this.#saved.set(as, last);
    this.#saved.delete(deadRunId);
  }
}

/** The id of a worker at the end of a stream names its key. */
function isRemote(workerId: WorkerId): boolean {
  return workerId.includes('@');
}

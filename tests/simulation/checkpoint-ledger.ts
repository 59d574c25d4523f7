/**
 * What runs have saved, kept from the storage calls that were applied: an attempt is given what was saved last before it, and nothing
 * is saved by an attempt that the run was taken from.
 */
import type { ClaimedRun, RunId } from '@carillon/domain';
import type { RunContext } from '@carillon/worker';
import type { SavedCheckpoint } from '../../packages/server/src/storage/run-state-store.ts';
import type { RunLedger } from './run-ledger.ts';
import type { World } from './world.ts';

interface Saved {
  readonly data: string;
  /** Of the attempt that saved it, and which of its checkpoints it is. */
  readonly epoch: number;
  readonly sequence: number;
}

export class CheckpointLedger {
  readonly #world: World;
  readonly #runs: RunLedger;
  readonly #saved = new Map<RunId, Saved>();
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
      else this.#keep(account.runId, checkpoint);
    });
  }

  /** What a server sent that stood still may arrive after what another saved for the same attempt. */
  #keep(runId: RunId, { data, epoch, sequence }: SavedCheckpoint): void {
    const last = this.#saved.get(runId);
    if (last?.epoch !== epoch || last.sequence < sequence) this.#saved.set(runId, { data, epoch, sequence });
  }

  claimed({ runId, epoch, checkpoint }: ClaimedRun): void {
    const last = this.#saved.get(runId)?.data;
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
    if (last !== undefined) this.#saved.set(as, { ...last, sequence: -1 });
    this.#saved.delete(deadRunId);
  }
}

/**
 * What runs say of themselves while they go on: checkpoints, which their next attempts go on from, and progress, for people. Both are
 * written only for a run that is under this very lease at this epoch, so an attempt that was given up cannot write beside the
 * one that followed it (LEASE-13).
 *
 * A checkpoint is handed on to the next attempt of its run, and to the run that a dead letter is redriven as. It is removed when
 * its run succeeds or is cancelled.
 */
import type { CheckpointFacts, RunId, RunProgress } from '@carillon/domain';
import type { LeaseRef } from './lease-store.ts';

export interface SavedCheckpoint extends LeaseRef {
  /** Chosen by the worker: it grows with every checkpoint of an attempt. */
  readonly sequence: number;
  /** JSON text without line breaks, within CHECKPOINT_BYTES_MAX. */
  readonly data: string;
}

export interface StoredCheckpoint extends CheckpointFacts {
  /** JSON text. */
  readonly data: string;
}

export interface ProgressReport extends LeaseRef, RunProgress {}

export interface RunStateStore {
  /**
   * Each run at most once in a call. Returns for each whether it, or a later one of the same attempt, is durable; false: the run is not
   * under this lease any more. One that arrives after a later one of its attempt, as from a server that stood still, changes nothing.
   */
  saveCheckpoints(saved: readonly SavedCheckpoint[], nowMs: number): Promise<boolean[]>;
  checkpoint(runId: RunId): Promise<StoredCheckpoint | undefined>;
  /**
   * Shows how far runs are that are shown as running. Each run at most once in a call. Returns for each whether it is shown now; false:
   * the run is not under this lease any more, or not shown as running yet.
   */
  showProgress(reports: readonly ProgressReport[], nowMs: number): Promise<boolean[]>;
}

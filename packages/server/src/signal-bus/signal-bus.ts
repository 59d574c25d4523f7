/**
 * Hints between roles: best effort, at most once. Losing every one of them costs latency (a bounded poll finds what they
 * told), never correctness.
 */
import type { JobId, RunId } from '@carillon/domain';
import type { DueRow } from '../storage/due.ts';

export interface Signals {
  /** Rows were added to `due` in these shards; rows are given where the sender has them at hand. */
  'due-added': { readonly shards: readonly number[]; readonly rows: readonly DueRow[] };
  /** Runs ended or were given back: their jobs may have room again. */
  'runs-released': {
    readonly runs: readonly { readonly jobId: JobId; readonly runId: RunId; readonly claimedAtMs: number }[];
  };
  /** The dispatcher let go of runs that may still be pending: the scheduler has to read these shards from the start. */
  'runs-forgotten': { readonly shards: readonly number[] };
  /** Somebody wants these runs stopped. */
  'cancel-requested': { readonly runIds: readonly RunId[] };
}

export interface SignalBus {
  send<Name extends keyof Signals>(name: Name, signal: Signals[Name]): void;
  /** Returns the way to stop listening. */
  on<Name extends keyof Signals>(name: Name, listener: (signal: Signals[Name]) => void): () => void;
}

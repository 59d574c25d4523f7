/**
 * Hints between roles: best effort, at most once. Losing every one of them costs latency (a bounded poll finds what they
 * announced), never correctness.
 */
import type { JobId, RunId } from '@carillon/domain';
import type { LaneHint } from '../storage/lane.ts';

export interface Signals {
  /** Runs may be claimed in these lanes from these instants on. No lanes: somewhere. */
  'runs-open': { readonly lanes: readonly LaneHint[] };
  /** Owners of these shards have something to fire or admit from these instants on. No shards: any. */
  'shards-due': { readonly shards: readonly { readonly shard: number; readonly atMs: number }[] };
  /** Runs of these jobs ended: runs that wait behind a limit of theirs may start. No jobs: any. */
  'slots-freed': { readonly jobIds: readonly JobId[] };
  /** These runs are to stop: whoever has them asks the storage whether that is so. No runs: any. */
  'cancel-requested': { readonly runIds: readonly RunId[] };
  /** Something is asked of workers, such as to drain: their next heartbeats tell what. */
  'workers-asked': Record<string, never>;
  /** A node joined or left, or released shards: they may belong to other nodes now. */
  'shards-moved': Record<string, never>;
  /** Something was recorded that event readers may want. */
  'events-recorded': Record<string, never>;
}

export interface SignalBus {
  send<Name extends keyof Signals>(name: Name, signal: Signals[Name]): void;
  /** Returns the way to stop listening. */
  on<Name extends keyof Signals>(name: Name, listener: (signal: Signals[Name]) => void): () => void;
}

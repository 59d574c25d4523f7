/**
 * Who is alive and who owns what: nodes, their shards, and workers. Membership is by heartbeat; ownership carries an epoch
 * that grows with every change of hands.
 *
 * A node id belongs to one process at a time, which is told from others by its boot id: a copied data folder starts with the
 * node id of a process that may still live (hazard 44). Only a process that joins can take a node id over, from one that it
 * knows to have ended or, as a later incarnation, from one that is silent. Whoever finds another boot id recorded than its own
 * has lost the node id for good.
 */
import type { BootId, LeaseId, NodeId, RunId, WorkerId } from '@carillon/domain';

export interface NodeBeat {
  readonly nodeId: NodeId;
  /** Grows with every start on the same data folder; a copied folder goes on counting by itself. */
  readonly incarnation: number;
  readonly bootId: BootId;
  readonly address: string;
  readonly nowMs: number;
  /** Silent longer than this: dead. */
  readonly ttlMs: number;
  /** With the first beat of a process: processes that certainly have ended, and whose node it may go on as. */
  readonly joining?: { readonly ended: readonly BootId[] };
}

export interface ShardOwner {
  readonly shard: number;
  readonly nodeId: NodeId | undefined;
  readonly epoch: number;
  readonly expiresAtMs: number;
}

export interface WorkerRecord {
  readonly workerId: WorkerId;
  readonly nodeId: NodeId;
  readonly incarnation: number;
  readonly bootId: BootId;
  readonly slots: number;
  readonly handlers: readonly string[];
}

export interface WorkerState extends WorkerRecord {
  readonly lastSeenMs: number;
  readonly alive: boolean;
}

/** A worker as it was last heard: if it has been heard since, it is not meant. */
export type HeardWorker = Pick<WorkerState, 'workerId' | 'lastSeenMs'>;

export interface WorkerBeat {
  readonly workerId: WorkerId;
  readonly holding: readonly LeaseId[];
  readonly nowMs: number;
  /**
   * Leases claimed before this and not held by the worker were lost on the way; so were those claimed as far after now, by a
   * clock that has been set back since.
   */
  readonly claimedBeforeMs: number;
}

export interface BeatAnswer {
  /** False: given up for dead; its runs belong to others. It must stop them and come back under a new id. */
  readonly alive: boolean;
  /** Runs that somebody wants stopped, repeated until they are. */
  readonly cancel: readonly RunId[];
  /** Leases that never reached the worker. */
  readonly unknown: readonly LeaseId[];
}

export interface MemberStore {
  /** The storage's own clock, which decides what is due. */
  serverTimeMs(): Promise<number>;
  /**
   * Records the node as alive and answers the living ones: those heard within their time to live, before or after now.
   * False alive: the node id is another process's.
   */
  beatNode(beat: NodeBeat): Promise<{ alive: boolean; nodes: readonly NodeId[] }>;
  leaveNode(nodeId: NodeId, bootId: BootId): Promise<void>;
  shards(): Promise<ShardOwner[]>;
  /**
   * Takes those of the shards that are free, expired, or this node's own, with a new epoch. One that lasts for more than two
   * times to live was taken by a clock that has been set back since: it counts as expired. None when the node id is another
   * process's.
   */
  acquireShards(request: {
    nodeId: NodeId;
    bootId: BootId;
    shards: readonly number[];
    nowMs: number;
    ttlMs: number;
  }): Promise<Map<number, number>>;
  /** Extends what is still owned at the given epochs; answers those shards. */
  renewShards(request: {
    nodeId: NodeId;
    epochs: ReadonlyMap<number, number>;
    nowMs: number;
    ttlMs: number;
  }): Promise<ReadonlySet<number>>;
  releaseShards(request: { nodeId: NodeId; epochs: ReadonlyMap<number, number> }): Promise<void>;
  registerWorker(worker: WorkerRecord, nowMs: number): Promise<void>;
  beatWorker(beat: WorkerBeat): Promise<BeatAnswer>;
  /** Declares dead: the silent, and those of processes that have ended. Answers all that are dead and not forgotten. */
  buryWorkers(request: { silent: readonly HeardWorker[]; ended: readonly BootId[] }): Promise<WorkerId[]>;
  /** Forgets a dead or leaving worker that holds nothing. */
  forgetWorkers(workers: readonly WorkerId[]): Promise<void>;
  workers(): Promise<WorkerState[]>;
  /** How many runs each worker holds; those that hold none are left out. */
  heldRuns(): Promise<ReadonlyMap<WorkerId, number>>;
}

/**
 * Who is alive and who owns what: nodes, their shards, and workers. Membership is by heartbeat; ownership carries an epoch
 * that grows with every change of hands.
 */
import type { LeaseId, NodeId, RunId, WorkerId } from '@carillon/domain';

export interface NodeBeat {
  readonly nodeId: NodeId;
  /** Grows with every start of the same node: the newer one inherits at once what the older one owned. */
  readonly incarnation: number;
  readonly address: string;
  readonly nowMs: number;
  /** Silent longer than this: dead. */
  readonly ttlMs: number;
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
   * False alive: a newer incarnation of this node exists.
   */
  beatNode(beat: NodeBeat): Promise<{ alive: boolean; nodes: readonly NodeId[] }>;
  leaveNode(nodeId: NodeId, incarnation: number): Promise<void>;
  shards(): Promise<ShardOwner[]>;
  /**
   * Takes those of the shards that are free, expired, or this node's own, with a new epoch. One that lasts for more than two
   * times to live was taken by a clock that has been set back since: it counts as expired.
   */
  acquireShards(request: {
    nodeId: NodeId;
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
  /** Declares dead: the silent, and earlier incarnations of the node. Answers all that are dead and not forgotten. */
  buryWorkers(request: {
    silent: readonly HeardWorker[];
    nodeId: NodeId;
    incarnation: number;
  }): Promise<WorkerId[]>;
  /** Forgets a dead or leaving worker that holds nothing. */
  forgetWorkers(workers: readonly WorkerId[]): Promise<void>;
  workers(): Promise<WorkerState[]>;
  /** How many runs each worker holds; those that hold none are left out. */
  heldRuns(): Promise<ReadonlyMap<WorkerId, number>>;
}

/**
 * Who is alive and who owns what: nodes, their shards, and workers. Membership is by heartbeat; ownership carries an epoch
 * that grows with every change of hands.
 *
 * A node id belongs to one process at a time, which its boot id identifies: a copied data folder starts with the
 * node id of a process that may still live (hazard 44). Only a process that joins can take a node id over, from one that it
 * knows to have ended or, as a later incarnation, from one that is silent. Whoever finds another boot id recorded than its own
 * has lost the node id for good.
 */
import type { BootId, JobId, LeaseId, NodeId, RunId, WorkerId } from '@carillon/domain';
import type { AuditEntry } from './audit-store.ts';
import type { LeaseRef } from './lease-store.ts';

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

/** How the other servers of the installation reach a process and recognise what it asks of them. */
export interface PublishedPeer {
  readonly nodeId: NodeId;
  /** URLs that lead to this process alone. */
  readonly urls: readonly string[];
  /** Ed25519, in base64: belongs to the private key that the process signs its requests with. */
  readonly publicKey: string;
  /** SHA-256 of the certificate that it shows; undefined: in clear. */
  readonly certificate?: string | undefined;
}

export interface Peer extends PublishedPeer {
  readonly bootId: BootId;
  readonly untilMs: number;
}

export interface PublishedAddresses {
  readonly bootId: BootId;
  /** URLs, of which only host and port count. */
  readonly addresses: readonly string[];
  readonly peer?: PublishedPeer | undefined;
  readonly untilMs: number;
  readonly forgetBeforeMs: number;
}

export interface ShardOwner {
  readonly shard: number;
  readonly nodeId: NodeId | undefined;
  readonly epoch: number;
  /** As long as its node lasts without a beat; 0 when it has none. */
  readonly expiresAtMs: number;
}

export interface WorkerRecord {
  readonly workerId: WorkerId;
  /** Its home: the node that claims for it. */
  readonly nodeId: NodeId;
  /** Of the node, for the worker of a node's own process; 0 for one at the end of a stream. */
  readonly incarnation: number;
  /** Of the worker's own process. */
  readonly bootId: BootId;
  /** Grows with every stream of a worker; 0 for one without a stream. */
  readonly session: number;
  readonly slots: number;
  readonly handlers: readonly string[];
  /** Whose jobs it may be given. Undefined: those of all. */
  readonly namespaces?: readonly string[] | undefined;
  /** For people: what it calls itself, what it is written in, and its version. */
  readonly name?: string | undefined;
  readonly language?: string | undefined;
  readonly version?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** It took no more runs under its former id already. */
  readonly draining?: boolean | undefined;
}

/** taken: another process has this id, or a later stream of the same one. dead: its runs belong to others. */
export type Registered = 'registered' | 'taken' | 'dead';

/** How a worker stands, without what it says of itself: that may be long, and those who look at all workers need nothing of it. */
export interface WorkerState
  extends Pick<WorkerRecord, 'workerId' | 'nodeId' | 'incarnation' | 'bootId' | 'session' | 'slots'> {
  /** It takes no more runs, and ends those that it has. */
  readonly draining: boolean;
  /** Handlers that have not returned though their runs were reported. */
  readonly stuck: number;
  readonly lastSeenMs: number;
  readonly alive: boolean;
}

/** A worker as people see it, also one that was given up for dead, as it was then. */
export interface KnownWorker
  extends Omit<WorkerState, 'incarnation' | 'bootId'>,
    Pick<WorkerRecord, 'handlers' | 'name' | 'language' | 'version'> {
  readonly labels: Readonly<Record<string, string>>;
  /** Since when it is given up for dead; undefined: it is not. */
  readonly lostAtMs: number | undefined;
  /** Of a lost one: runs that it held; the first of them by their ids. They were taken back. */
  readonly held: number;
  readonly heldRuns: readonly RunId[];
}

/** Those after an id, in the order of ids, at most so many. */
export interface WorkerPage {
  readonly after?: string | undefined;
  readonly limit: number;
  readonly alive?: boolean | undefined;
  /** It has all of these. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** It offers this one. */
  readonly handler?: string | undefined;
  /** In the id or the name, in small letters. */
  readonly text?: string | undefined;
  readonly nowMs: number;
}

/** A living worker that offers a handler. */
export interface OfferingWorker extends WorkerState {
  readonly labels: Readonly<Record<string, string>>;
}

export interface OfferPage {
  readonly namespaces?: readonly string[] | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** How many living workers offer a handler. */
export interface HandlerOffer {
  readonly handler: string;
  readonly workers: number;
}

/**
 * How long lost workers are known, how many of them, how many with one namespace or one key, and how many of their runs are named: nobody
 * can drive the lost workers of others out of the list.
 */
export const LOST_KEPT_MS = 3_600_000;
export const LOST_KEPT_MAX = 500;
export const LOST_SHARE_MAX = 100;
export const LOST_RUNS_MAX = 20;

/**
 * Handlers that workers offered which are gone, the latest: of those bound to a namespace, for each of them, and of all others together.
 * What is dropped keeps no run from being given up.
 */
export const NAMESPACE_OFFERS_MAX = 1_000;
export const HANDLER_OFFERS_MAX = 10_000;

export interface SaidByBeat {
  /** Handlers that have not returned though their runs were reported. */
  readonly stuck?: number;
  /** Of the stream that it came on. A later one than the storage knows was lost with its last moments: it counts again (hazard 43). */
  readonly session?: number;
}

/** What a heartbeat is answered. Not alive: given up for dead, its runs belong to others. */
export interface WorkerBeaten {
  readonly alive: boolean;
  readonly draining: boolean;
}

/** Whether a worker may be given jobs of one of these namespaces; undefined: of any. */
export function servesOneOf(
  { namespaces: own }: Pick<WorkerRecord, 'namespaces'>,
  namespaces: readonly string[] | undefined,
): boolean {
  return own === undefined || namespaces === undefined || own.some((name) => namespaces.includes(name));
}

/** A worker as it was last heard: if it has been heard since, it is not meant. */
export type HeardWorker = Pick<WorkerState, 'workerId' | 'lastSeenMs'>;

/** A run of a lease that its worker does not hold. */
export interface UnreceivedRun extends LeaseRef {
  readonly jobId: JobId;
  readonly runId: RunId;
  readonly claimedAtMs: number;
}

export interface CancelledRun {
  readonly leaseId: LeaseId;
  readonly runId: RunId;
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
  /**
   * Records where a process is reached, be it a node or not. Those that have not been recorded again by `forgetBeforeMs` are
   * forgotten.
   */
  publishAddresses(published: PublishedAddresses): Promise<void>;
  withdrawAddresses(bootId: BootId): Promise<void>;
  /** Where processes and nodes that last beyond this instant say that they are reached, each address once. */
  publishedAddresses(afterMs: number): Promise<string[]>;
  /** Processes that said how other servers reach them, the one that lasts longest first, also those that last no more. */
  publishedPeers(): Promise<Peer[]>;
  shards(): Promise<ShardOwner[]>;
  /**
   * Takes those of the shards that are free, this node's own, or of a node that is gone or silent, with a new epoch. A node that
   * lasts for more than two times to live was heard by a clock that has been set back since: it counts as silent. None when
   * the node id is another process's. Shards last as long as their node: its beats renew them.
   */
  acquireShards(request: {
    nodeId: NodeId;
    bootId: BootId;
    shards: readonly number[];
    nowMs: number;
    ttlMs: number;
  }): Promise<Map<number, number>>;
  /**
   * Keeps the shards that are still owned at the given epochs, and answers them: after a beat, for as long as that lasts. All
   * others of the node become free: it may own what it does not know of, when an answer was lost, and its beats would hold
   * that for ever. Frees nothing when the node id is another process's.
   */
  keepShards(request: {
    nodeId: NodeId;
    bootId: BootId;
    epochs: ReadonlyMap<number, number>;
  }): Promise<ReadonlySet<number>>;
  releaseShards(request: { nodeId: NodeId; epochs: ReadonlyMap<number, number> }): Promise<void>;
  /** Records the worker as heard, with what it offers and its home; and until when it offered what it offers no more. */
  registerWorker(worker: WorkerRecord, nowMs: number): Promise<Registered>;
  /**
   * Records the worker as heard: one row by its key, whatever else there is. One that is not alive must stop its runs and come
   * back under a new id.
   */
  beatWorker(workerId: WorkerId, nowMs: number, said?: SaidByBeat): Promise<WorkerBeaten>;
  /**
   * The same for several, each of them once, by one statement that waits for none of them. Those that are not alive, or whose row
   * somebody else holds right now, are left out of the answer and not recorded.
   */
  beatWorkers(
    beats: readonly (SaidByBeat & { readonly workerId: WorkerId })[],
    nowMs: number,
  ): Promise<ReadonlyMap<WorkerId, WorkerBeaten>>;
  /** Asks a living worker to drain, or to take runs again; it learns that from its next heartbeat. False: there is none. */
  drainWorker(workerId: WorkerId, draining: boolean, audit?: AuditEntry): Promise<boolean>;
  /** Runs in these leases that somebody wants stopped; named until they are. */
  cancelledRuns(leases: readonly LeaseId[]): Promise<CancelledRun[]>;
  /**
   * Which of these the storage does not know: no run of theirs is left, or the storage has lost its last moments (hazard 43).
   */
  unknownLeases(leases: readonly LeaseId[]): Promise<LeaseId[]>;
  /**
   * Runs of the worker that were claimed from the one instant on, and before the other, in leases other than those it holds. None when
   * the worker has another stream by now: whoever asks does not know what it was handed on that.
   */
  unreceivedRuns(request: {
    workerId: WorkerId;
    session: number;
    holding: readonly LeaseId[];
    fromMs: number;
    untilMs?: number;
  }): Promise<UnreceivedRun[]>;
  /**
   * Declares dead: the silent, and those of processes that have ended. Answers all that are dead and not forgotten. They are known to
   * listWorkers with what they hold now for LOST_KEPT_MS, the latest LOST_KEPT_MAX of all, and LOST_SHARE_MAX with a namespace or a key.
   */
  markDead(request: {
    silent: readonly HeardWorker[];
    ended: readonly BootId[];
    nowMs: number;
  }): Promise<WorkerId[]>;
  /** Forgets dead workers, and those of a process that leaves, which hold nothing; but not until when their handlers were offered. */
  forgetWorkers(workers: readonly WorkerId[]): Promise<void>;
  /**
   * Forgets a worker that has left on this stream and holds nothing. One that has a later stream by now has not left: its home may be
   * another node, and whoever stood still meanwhile does not know it.
   */
  forgetLeft(left: Pick<WorkerRecord, 'workerId' | 'bootId' | 'session'>): Promise<void>;
  /** All that are not forgotten. */
  workers(): Promise<WorkerState[]>;
  /** Also those that were declared dead within LOST_KEPT_MS. */
  listWorkers(page: WorkerPage): Promise<KnownWorker[]>;
  findWorker(workerId: string, nowMs: number): Promise<KnownWorker | undefined>;
  /** Living workers that offer the handler and may be given jobs of one of the namespaces; undefined: of any. */
  workersOffering(handler: string, namespaces?: readonly string[]): Promise<OfferingWorker[]>;
  /** What living workers offer to these namespaces, or to any: by name, after the given one. */
  offers(page: OfferPage): Promise<HandlerOffer[]>;
  /** How many runs each worker holds; those that hold none are left out. */
  leasedRuns(): Promise<ReadonlyMap<WorkerId, number>>;
}

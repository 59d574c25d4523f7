/** Everything the memory adapter knows, as tables that its ports share: a call of any of them changes all or nothing. */
import {
  type BootId,
  DEFAULT_NAMESPACE,
  type HandlerDescription,
  type Job,
  type JobId,
  type Namespace,
  type NodeId,
  type RunId,
  SHARD_COUNT,
  type WorkerId,
} from '@carillon/domain';
import type { AuditRecord } from '../audit-store.ts';
import type { NewRun, RunRequest } from '../due.ts';
import type { BoundSchema } from '../handler-store.ts';
import type {
  KnownWorker,
  PublishedAddresses,
  ShardOwner,
  WorkerRecord,
  WorkerState,
} from '../member-store.ts';
import type { StoredCheckpoint } from '../run-state-store.ts';
import type { DeadLetter } from '../run-store.ts';
import type { CountRow, FailureRow } from '../run-tally.ts';
import type { ShardGuard } from '../schedule-store.ts';
import type { StoredSecret } from '../secret-store.ts';
import type { StoredSigningKey } from '../signing-key-store.ts';
import { AdmissionTable } from './admission-table.ts';
import { type CursorRecord, runRecord } from './due-record.ts';
import { DueTable } from './due-table.ts';
import { EventLog } from './event-log.ts';
import { HistoryTable } from './history-table.ts';
import { LeaseTable } from './lease-table.ts';
import { RemovedNames } from './removed-names.ts';

/** What names the job is read with the letter. */
export type StoredLetter = Omit<DeadLetter, 'jobName' | 'namespace' | 'userId'>;

export interface IdempotencyRow {
  readonly jobId: JobId;
  readonly requestHash: string;
}

export interface NodeRow {
  readonly incarnation: number;
  readonly bootId: BootId;
  readonly address: string;
  readonly lastSeenMs: number;
  readonly expiresAtMs: number;
  /** Told to be lost; until it is heard again. */
  readonly lost: boolean;
}

/** Lasts as long as its node. */
export type ShardRow = Omit<ShardOwner, 'expiresAtMs'>;

export type WorkerRow = WorkerState & Omit<WorkerRecord, 'labels' | 'draining'> & Pick<KnownWorker, 'labels'>;
export type LostWorkerRow = KnownWorker & Pick<WorkerRecord, 'namespaces'> & { readonly lostAtMs: number };

export interface NamespaceRow {
  readonly namespace: Namespace;
  /** The same of events, by the seq of their cursors. */
  readonly eventsAfter: number;
  /** Entries of the audit log up to this one tell of another namespace of the same name. */
  readonly auditAfter: number;
}

export interface MemoryState {
  readonly jobs: Map<JobId, Job>;
  readonly idempotency: Map<string, IdempotencyRow>;
  /** The last occurrence that was fired, per recurring job; it outlives every replanning. */
  readonly lastNominalMs: Map<JobId, number>;
  readonly cursors: Map<JobId, CursorRecord>;
  readonly due: DueTable;
  readonly admissions: AdmissionTable;
  readonly leases: LeaseTable;
  readonly history: HistoryTable;
  readonly requests: Map<
    RunId,
    { readonly jobId: JobId; readonly requestedAtMs: number; readonly request: RunRequest }
  >;
  readonly deadLetters: Map<RunId, StoredLetter>;
  readonly checkpoints: Map<RunId, StoredCheckpoint & { readonly sequence: number }>;
  readonly nodes: Map<NodeId, NodeRow>;
  readonly listeners: Map<
    BootId,
    Pick<PublishedAddresses, 'addresses' | 'peer'> & { readonly expiresAtMs: number }
  >;
  readonly shards: Map<number, ShardRow>;
  readonly workers: Map<WorkerId, WorkerRow>;
  readonly lostWorkers: Map<WorkerId, LostWorkerRow>;
  readonly events: EventLog;
  /** Which generation of the storage it is. */
  generation: number;
  readonly audit: AuditRecord[];
  readonly namespaces: Map<string, NamespaceRow>;
  readonly removedNames: RemovedNames;
  readonly signingKeys: Map<string, StoredSigningKey>;
  readonly secrets: Map<string, StoredSecret>;
  readonly handlers: Map<string, { readonly handler: HandlerDescription; readonly seenAtMs: number }>;
  /** By namespace and name, those of each namespace in the order in which they were recorded. */
  readonly boundHandlers: Map<string, BoundSchema & { readonly seenAtMs: number }>;
  /** When workers that are forgotten, or offer less than before, last offered a handler. */
  readonly handlerOffers: Map<string, number>;
  /** The same of workers that were bound to namespaces, by each of these. */
  readonly namespaceOffers: Map<string, Map<string, number>>;
  readonly counts: { readonly minute: Map<string, CountRow>; readonly hour: Map<string, CountRow> };
  readonly failures: Map<string, FailureRow>;
  readonly fingerprintKey: string;
}

const DEFAULT: Namespace = {
  name: DEFAULT_NAMESPACE,
  description: 'Jobs that name no other namespace.',
  createdAtMs: 0,
};

export function emptyState(now: () => number): MemoryState {
  const shards = new Map<number, ShardRow>();
  for (let shard = 0; shard < SHARD_COUNT; shard += 1) {
    shards.set(shard, { shard, nodeId: undefined, epoch: 0 });
  }
  const jobs = new Map<JobId, Job>();
  return {
    jobs,
    idempotency: new Map(),
    lastNominalMs: new Map(),
    cursors: new Map(),
    due: new DueTable(),
    admissions: new AdmissionTable(),
    leases: new LeaseTable(),
    history: new HistoryTable(),
    requests: new Map(),
    deadLetters: new Map(),
    checkpoints: new Map(),
    nodes: new Map(),
    listeners: new Map(),
    shards,
    workers: new Map(),
    lostWorkers: new Map(),
    events: new EventLog({ now, jobs }),
    generation: 0,
    audit: [],
    namespaces: new Map([[DEFAULT_NAMESPACE, { namespace: DEFAULT, auditAfter: 0, eventsAfter: 0 }]]),
    removedNames: new RemovedNames(now),
    signingKeys: new Map(),
    secrets: new Map(),
    handlers: new Map(),
    boundHandlers: new Map(),
    handlerOffers: new Map(),
    namespaceOffers: new Map(),
    counts: { minute: new Map(), hour: new Map() },
    failures: new Map(),
    fingerprintKey: 'of a storage in memory',
  };
}

/** SHARD-1. Only a change of hands breaks the guard: an expired shard that nobody took is still its owner's. */
export function guardHolds(state: MemoryState, guard: ShardGuard, shard: number): boolean {
  const owner = state.shards.get(shard);
  return owner?.nodeId === guard.nodeId && owner.epoch === guard.epochs.get(shard);
}

/** Adds a run to a job that is there, with what a person said about it. */
export function addRun(state: MemoryState, job: Job, run: NewRun): void {
  const { due, requests, deadLetters } = state;
  due.put(runRecord(job, run, 'planned'));
  if (run.request) {
    const { request, fireAtMs: requestedAtMs } = run;
    requests.set(run.runId, { jobId: job.jobId, requestedAtMs, request });
  }
  const letter = run.rerunOf && deadLetters.get(run.rerunOf);
  if (letter && !letter.redrivenAs) deadLetters.set(letter.runId, { ...letter, redrivenAs: run.runId });
  limitOneOff(state, job.jobId);
}

/** The only run of a one-off is alone no longer: from now on it is planned, or takes a slot, like the others of its job. */
export function limitOneOff({ due, leases, admissions, jobs }: MemoryState, jobId: JobId): void {
  for (const run of due.ofJob(jobId)) {
    if (run.trigger === 'once' && run.state === 'open' && !run.admitted)
      due.put({ ...run, state: 'planned' });
  }
  for (const { run } of leases.ofJob(jobId)) {
    if (run.trigger === 'once' && !admissions.has(jobId, run.runId))
      admissions.take(jobId, run.runId, jobs.get(jobId)?.maxConcurrency ?? 1);
  }
}

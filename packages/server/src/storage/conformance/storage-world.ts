/**
 * The stage of every conformance test: an empty storage, one node that owns all shards, one registered worker, and short
 * words for the path of a run (insert, read, fire, claim, settle), so that a test spells out only what it is about.
 */
import {
  type BootId,
  type ClaimedBatch,
  type ClaimedRun,
  type Job,
  type JobId,
  type LeaseId,
  type NodeId,
  type PendingRun,
  type RunId,
  SHARD_COUNT,
  type WorkerId,
} from '@carillon/domain';
import { afterEach, beforeEach, expect } from 'vitest';
import type { Cursor, NewRun } from '../due.ts';
import type { PendingChange } from '../job-store.ts';
import type { Settlement, SettleVerdict } from '../lease-store.ts';
import type { RunView } from '../run-store.ts';
import type { Fire, Fired, ShardGuard, ShardPosition } from '../schedule-store.ts';
import type { Storage } from '../storage.ts';
import { claimRuns } from './claim-runs.ts';
import { EVERY_MINUTE, newId, sampleJob } from './sample-job.ts';
import { BASE_MS, DAY_MS, FAR_MS, type MakeStorage, type StorageUnderTest } from './storage-under-test.ts';

/** Before every row of the shard. */
export function shardStart(shard: number): ShardPosition {
  return { shard, afterMs: 0, afterId: '00000000-0000-0000-0000-000000000000' };
}

export const ALL_SHARDS: readonly number[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

export class StorageWorld {
  readonly storage: Storage;
  readonly nodeId = newId<NodeId>();
  readonly bootId = newId<BootId>();
  readonly workerId = newId<WorkerId>();
  guard: ShardGuard = { nodeId: this.nodeId, epochs: new Map() };

  constructor(storage: Storage) {
    this.storage = storage;
  }

  async prepare(): Promise<void> {
    await this.storage.housekeeping.makePartitions({ nowMs: BASE_MS, aheadDays: 2 });
    this.guard = await this.own(this.nodeId);
    await this.register(this.workerId);
  }

  /** The node takes every shard it can get; answers its guard. */
  async own(nodeId: NodeId, nowMs = BASE_MS): Promise<ShardGuard> {
    const epochs = await this.storage.members.acquireShards({
      nodeId,
      bootId: this.bootId,
      shards: ALL_SHARDS,
      nowMs,
      ttlMs: DAY_MS,
    });
    return { nodeId, epochs };
  }

  /** Another node takes over all shards: the guard of the first is stale from here on. */
  async changeHands(): Promise<ShardGuard> {
    await this.storage.members.releaseShards(this.guard);
    return this.own(newId<NodeId>());
  }

  async register(
    workerId: WorkerId,
    over: { nodeId?: NodeId; incarnation?: number; bootId?: BootId; nowMs?: number } = {},
  ): Promise<void> {
    const { nodeId = this.nodeId, incarnation = 1, bootId = this.bootId, nowMs = BASE_MS } = over;
    await this.storage.members.registerWorker(
      { workerId, nodeId, incarnation, bootId, session: 0, slots: 10, handlers: ['http'] },
      nowMs,
    );
  }

  /** Gives a worker up for dead; answers all that are. */
  async markDead(workerId: WorkerId, nowMs = BASE_MS): Promise<WorkerId[]> {
    const { members } = this.storage;
    const silent = (await members.workers()).filter((worker) => worker.workerId === workerId);
    return members.markDead({ silent, ended: [], nowMs });
  }

  /** Makes the namespace of the job, if there is none. */
  async house({ namespace }: Pick<Job, 'namespace'>): Promise<void> {
    await this.storage.accounts.createNamespace({ name: namespace, description: '', createdAtMs: BASE_MS });
  }

  /** A one-off whose only run is due at the instant, and has the id of its job, as the operations make it. */
  async oneOff(options: { atMs?: number; job?: Partial<Job> } = {}): Promise<{ job: Job; runId: RunId }> {
    const job = sampleJob(options.job);
    const run = { ...onceRun(options.atMs ?? BASE_MS), runId: job.jobId as string as RunId };
    await this.house(job);
    await this.storage.jobs.insert([{ job, first: { kind: 'run', run }, idempotency: undefined }]);
    return { job, runId: run.runId };
  }

  /** A recurring job whose cursor stands at the instant. */
  async recurring(options: { atMs?: number; job?: Partial<Job> } = {}): Promise<Job> {
    const job = sampleJob({ schedule: EVERY_MINUTE, ...options.job });
    const atMs = options.atMs ?? BASE_MS;
    const cursor = { fireAtMs: atMs, nominalAtMs: atMs };
    await this.house(job);
    await this.storage.jobs.insert([{ job, first: { kind: 'cursor', cursor }, idempotency: undefined }]);
    return job;
  }

  /** What is planned and waits of the job, but for what a pause holds back. */
  async pending(job: Pick<Job, 'jobId' | 'shard'>): Promise<(Cursor | PendingRun)[]> {
    const cursor = await this.cursor(job);
    return [...(cursor ? [cursor] : []), ...(await this.pendingRuns(job))];
  }

  async cursor(job: Pick<Job, 'jobId' | 'shard'>): Promise<Cursor | undefined> {
    const window = { untilMs: FAR_MS, limitPerShard: 10_000 };
    const cursors = await this.storage.schedule.readCursors([shardStart(job.shard)], window);
    return cursors.find(({ jobId }) => jobId === job.jobId);
  }

  async pendingRuns({ jobId }: Pick<Job, 'jobId'>): Promise<PendingRun[]> {
    return (await this.storage.runs.pending(jobId, 10_000)).filter(({ held }) => !held);
  }

  /** Everything that workers hold, dead ones included. */
  async living(jobId: JobId): Promise<RunId[]> {
    const workers = (await this.storage.members.workers()).map(({ workerId }) => workerId);
    const held = await this.storage.leases.leasedBy(workers);
    return held.filter((run) => run.jobId === jobId).map((run) => run.runId);
  }

  async admit(job: Pick<Job, 'jobId'>, { nowMs = BASE_MS, guard = this.guard } = {}): Promise<void> {
    await this.storage.schedule.admit([job.jobId], { guard, nowMs, runsPerJob: 1_000 });
  }

  /** Fires the job's cursor: by default its own occurrence runs and the next lies a minute later. */
  async fire(
    job: Job,
    over: Partial<Fire> = {},
    nowMs = BASE_MS,
  ): Promise<{ fired: boolean; runIds: RunId[]; answer: Fired }> {
    const fire = plainFire((over.cursor ?? (await this.cursor(job)))!, over);
    const answer = await this.storage.schedule.fire([fire], { guard: this.guard, nowMs });
    return { fired: answer.jobIds.has(job.jobId), runIds: fire.runs.map((run) => run.runId), answer };
  }

  /** Claims these runs, after their jobs have let in what asks for a slot. */
  async claim(
    runs: readonly Pick<PendingRun, 'jobId' | 'runId'>[],
    over: { workerId?: WorkerId; nowMs?: number } = {},
  ): Promise<ClaimedBatch> {
    const { workerId = this.workerId, nowMs = BASE_MS } = over;
    await this.#knowWorker(workerId);
    const jobIds = runs.map(({ jobId }) => jobId);
    await this.storage.schedule.admit(jobIds, { guard: this.guard, nowMs, runsPerJob: 1_000 });
    return claimRuns(this.storage, runs, { leaseId: newId<LeaseId>(), workerId, nowMs });
  }

  /** Only registered workers are given anything; a test that is about workers registers its own. */
  async #knowWorker(workerId: WorkerId): Promise<void> {
    const { members } = this.storage;
    if ((await members.workers()).some((worker) => worker.workerId === workerId)) return;
    await this.register(workerId, { nodeId: this.guard.nodeId });
  }

  /** Claims the one run of the job that waits. */
  async claimOne(
    job: Pick<Job, 'jobId' | 'shard'>,
    over: { workerId?: WorkerId; nowMs?: number } = {},
  ): Promise<ClaimedRun> {
    const batch = await this.claim(await this.pendingRuns(job), over);
    expect(batch.runs).toHaveLength(1);
    return batch.runs[0]!;
  }

  async settle(run: ClaimedRun, over: End = {}, nowMs = BASE_MS): Promise<SettleVerdict> {
    const { verdicts } = await this.storage.leases.settle([settlement(run, over)], nowMs);
    return verdicts[0]!;
  }

  /** Reads the job and changes it, as an operation does. */
  async change(jobId: JobId, over: Partial<Job>, pending: PendingChange, nowMs = BASE_MS) {
    const found = await this.storage.jobs.getForChange(jobId);
    const job = { ...found!.job, ...over, version: found!.job.version + 1, updatedAtMs: nowMs };
    const { version: expectedVersion, status: expectedStatus } = found!.job;
    const expectedPlannedNominalMs = found!.plannedNominalMs;
    return this.storage.jobs.apply({
      job,
      expectedVersion,
      expectedStatus,
      expectedPlannedNominalMs,
      pending,
      nowMs,
    });
  }

  pause(jobId: JobId) {
    return this.change(jobId, { status: 'PAUSED' }, { kind: 'hold' });
  }

  resume(jobId: JobId) {
    return this.change(jobId, { status: 'SCHEDULED' }, { kind: 'release' });
  }

  cancelJob(jobId: JobId) {
    return this.change(jobId, { status: 'CANCELLED' }, { kind: 'drop' });
  }

  async statusOf(jobId: JobId): Promise<Job['status'] | undefined> {
    return (await this.storage.jobs.get(jobId))?.status;
  }

  async runsOf(jobId: JobId, nowMs = BASE_MS): Promise<RunView[]> {
    return this.storage.runs.ofJob(jobId, { limit: 1_000 }, nowMs);
  }
}

export function onceRun(atMs: number): NewRun {
  return { runId: newId<RunId>(), fireAtMs: atMs, nominalAtMs: atMs, trigger: 'once', endsJob: true };
}

export function manualRun(atMs = BASE_MS): NewRun {
  return { runId: newId<RunId>(), fireAtMs: atMs, nominalAtMs: atMs, trigger: 'manual', endsJob: false };
}

export function plainFire(cursor: Cursor, over: Partial<Fire> = {}): Fire {
  const nextMs = cursor.nominalAtMs + 60_000;
  return {
    cursor,
    runs: [{ runId: newId<RunId>(), nominalAtMs: cursor.nominalAtMs }],
    skipped: [],
    next: { nominalAtMs: nextMs, fireAtMs: nextMs },
    ...over,
  };
}

/** How an attempt ends and what comes next. */
export interface End extends Partial<Omit<Settlement, 'next'>> {
  readonly next?: Settlement['next'];
}

/** A success that finishes, unless told otherwise. */
export function settlement(
  run: Pick<ClaimedRun, 'leaseId' | 'position' | 'epoch'> & { leaseSize?: number },
  over: End = {},
): Settlement {
  const { next = { kind: 'finish' }, ...rest } = over;
  return {
    leaseId: run.leaseId,
    position: run.position,
    leaseSize: run.leaseSize,
    epoch: run.epoch,
    status: 'SUCCESS',
    startedAtMs: BASE_MS,
    endedAtMs: BASE_MS,
    error: undefined,
    result: undefined,
    next,
    ...rest,
  };
}

/** A new world for every test of the describe block it is called in. */
export function useStorageWorld(make: MakeStorage): {
  readonly world: StorageWorld;
  readonly under: StorageUnderTest;
} {
  const stage: { world: StorageWorld; under: StorageUnderTest } = {} as {
    world: StorageWorld;
    under: StorageUnderTest;
  };
  beforeEach(async () => {
    stage.under = await make();
    stage.world = new StorageWorld(stage.under.storage);
    await stage.world.prepare();
  });
  afterEach(async () => {
    await stage.under.close();
  });
  return stage;
}

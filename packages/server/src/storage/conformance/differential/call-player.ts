/**
 * Plays calls on one storage and answers what it said, brought into a form in which two storages that agree are equal: what the
 * port leaves open (the order of runs in a batch, how often a lane is named) is sorted or made unique.
 */
import {
  type BootId,
  type ClaimedRun,
  type LeaseId,
  type NodeId,
  SHARD_COUNT,
  type WorkerId,
} from '@carillon/domain';
import type { JobWithPlan, PendingChange } from '../../job-store.ts';
import type { LeaseRef, Settlement } from '../../lease-store.ts';
import type { Fire, OwnerOptions, ShardGuard } from '../../schedule-store.ts';
import type { Storage } from '../../storage.ts';
import { BASE_MS, DAY_MS, FAR_MS } from '../storage-under-test.ts';
import type { Call, ChangeCall, FireCall, GuardChoice, SettleCall } from './call.ts';

const BOOT = '00000000-0000-7000-8000-00000000b007' as BootId;
export const NODE = '00000000-0000-7000-8000-00000000d0de' as NodeId;
const ALL_SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
const NO_ID = '00000000-0000-0000-0000-000000000000';
export const FROM_START = ALL_SHARDS.map((shard) => ({ shard, afterMs: 0, afterId: NO_ID }));
const LIMIT = 10_000;

export class CallPlayer {
  readonly storage: Storage;
  /** Every handing-out of every run, in order. */
  readonly #handouts = new Map<string, ClaimedRun[]>();
  #owner: ShardGuard = { nodeId: NODE, epochs: new Map() };
  #former: ShardGuard = this.#owner;

  constructor(storage: Storage) {
    this.storage = storage;
  }

  async prepare(workers: readonly WorkerId[], namespaces: readonly string[]): Promise<void> {
    await this.storage.housekeeping.makePartitions({ nowMs: BASE_MS, aheadDays: 2 });
    for (const name of namespaces)
      await this.storage.accounts.createNamespace({ name, description: '', createdAtMs: BASE_MS });
    await this.#own(NODE);
    const epochs = new Map([...this.#owner.epochs].map(([shard, epoch]) => [shard, epoch - 1]));
    this.#former = { nodeId: NODE, epochs };
    for (const workerId of workers) await this.#register(workerId);
  }

  get leases(): LeaseId[] {
    return [...new Set([...this.#handouts.values()].flat().map(({ leaseId }) => leaseId))];
  }

  /** What the call answered; a call that throws is answered as such, whatever its words. */
  async play(call: Call): Promise<unknown> {
    try {
      return await this.#answer(call);
    } catch {
      return 'threw';
    }
  }

  async #answer(call: Call): Promise<unknown> {
    const { jobs, schedule, leases, runs, members } = this.storage;
    const { nowMs } = call;
    switch (call.do) {
      case 'insert':
        return jobs.insert(call.jobs, { atomic: call.whole });
      case 'change':
        return this.#change(call.change, nowMs);
      case 'enqueue':
        return jobs.enqueue(call.jobId, call.run);
      case 'enqueueOnce':
        return jobs.enqueueOnce(call.jobId, call.run);
      case 'remove':
        return jobs.remove(call.jobId);
      case 'cancelRun':
        return jobs.cancelRun(call.runId, nowMs);
      case 'fire':
        return this.#fire(call.fires, this.#options(call));
      case 'admit': {
        const { opened, waiting } = await schedule.admit(call.jobIds, {
          ...this.#options(call),
          runsPerJob: 1_000,
        });
        return { opened: asSet(opened), waiting: asSet(waiting) };
      }
      case 'replace':
        return asSet(await schedule.replace(call.jobIds, this.#options(call)));
      case 'reconcile':
        return asSet(await schedule.reconcile({ ...this.#options(call), limit: LIMIT }));
      case 'expire':
        return asSet(await schedule.expire({ ...this.#options(call), limit: LIMIT }));
      case 'expireUnoffered': {
        const { beforeMs } = call;
        return asSet(await schedule.expireUnoffered({ ...this.#options(call), beforeMs, limit: LIMIT }));
      }
      case 'claim':
        return this.#claim(call);
      case 'settle':
        return this.#settle(call.settlements, nowMs);
      case 'cancelRuns': {
        const verdicts = [];
        for (const runId of call.runIds) verdicts.push(await jobs.cancelRun(runId, nowMs));
        return verdicts;
      }
      case 'showRunning': {
        const held = call.runIds.flatMap((runId) => this.#handout(runId, 0) ?? []);
        return leases.showRunning(
          held.map((run) => ({ ...run, startedAtMs: startOf(run) })),
          nowMs,
        );
      }
      case 'recordLate': {
        const run = this.#handout(call.runId, call.ago);
        const isHeld = run && (await leases.leased([run]))[0];
        return run && !isHeld && leases.recordLate([{ ...run, report: call.report }]);
      }
      case 'redrive':
        return runs.redrive(call.runId, { runId: call.as, nowMs });
      case 'attempts':
        return runs.attempts(call.runId, nowMs);
      case 'onWorker':
        return runs.onWorker(call.workerId, { limit: LIMIT }, nowMs);
      case 'markDead': {
        const silent = (await members.workers()).filter(({ workerId }) => workerId === call.workerId);
        return asSet(await members.markDead({ silent, ended: [], nowMs }));
      }
      case 'register':
        return this.#register(call.workerId);
      case 'beginGeneration':
        return this.storage.generations.begin();
      case 'changeHands':
        this.#former = this.#owner;
        await members.releaseShards(this.#owner);
        return this.#own(call.nodeId);
    }
  }

  /** As the operations change jobs: read, decided on what was read, applied. */
  async #change(change: ChangeCall, nowMs: number): Promise<unknown> {
    const read = await this.storage.jobs.getForChange(change.jobId);
    const decided = read && decideChange(change, read);
    if (!decided) return 'not asked';
    const { version, status } = read.job;
    const { schedule } = decided;
    return this.storage.jobs.apply({
      job: {
        ...read.job,
        ...change.over,
        status: decided.status,
        ...(schedule && { schedule }),
        version: version + 1,
        updatedAtMs: nowMs,
      },
      expectedVersion: change.isStale ? version - 1 : version,
      expectedStatus: status,
      expectedPlannedNominalMs: read.plannedNominalMs,
      pending: decided.pending,
      nowMs,
    });
  }

  async #fire(fires: readonly FireCall[], options: OwnerOptions): Promise<unknown> {
    const { schedule } = this.storage;
    const cursors = await schedule.readCursors(FROM_START, { untilMs: FAR_MS, limitPerShard: LIMIT });
    const given = fires.flatMap(({ jobId, isStale, runs, skipped, nextInMs }): Fire[] => {
      const cursor = cursors.find((row) => row.jobId === jobId);
      if (!cursor) return [];
      const { nominalAtMs: firstMs, jobVersion } = cursor;
      const nextMs = nextInMs === undefined ? undefined : firstMs + nextInMs;
      return [
        {
          cursor: isStale ? { ...cursor, jobVersion: jobVersion - 1 } : cursor,
          runs: runs.map((runId, i) => ({ runId, nominalAtMs: firstMs + skipped.length + i })),
          skipped: skipped.map((range, i) => ({
            ...range,
            ...{ fromMs: firstMs + i, toMs: firstMs + i, exact: true },
          })),
          next: nextMs === undefined ? undefined : { nominalAtMs: nextMs, fireAtMs: nextMs + 1 },
        },
      ];
    });
    const { jobIds, opened, waiting, skipped } = await schedule.fire(given, options);
    return { jobIds: asSet([...jobIds]), opened: asSet(opened), waiting: asSet(waiting), skipped };
  }

  async #claim(call: Extract<Call, { do: 'claim' }>): Promise<unknown> {
    const { leaseId, workerId, nowMs, lanes, runsMax } = call;
    const pick = { lanes, runsMax };
    const { runs, scans } = await this.storage.leases.claim({ leaseId, workerId, nowMs, pick });
    for (const run of runs) this.#handouts.set(run.runId, [...(this.#handouts.get(run.runId) ?? []), run]);
    const shown = runs.map(({ position: _position, payload, ...run }) => ({
      ...run,
      payload: JSON.parse(payload) as unknown,
    }));
    return { runs: asSet(shown), positions: asSet(runs.map(({ position }) => position)), scans };
  }

  async #settle(calls: readonly SettleCall[], nowMs: number): Promise<unknown> {
    const settlements = calls.flatMap((call): Settlement[] => {
      const run = this.#handout(call.runId, call.ago);
      if (!run) return [];
      const { leaseId, position, epoch, leaseSize } = run;
      const { status, next, error, result, hasStart, hasSize } = call;
      return [
        {
          ...{ leaseId, position, epoch, status, next, error, result },
          leaseSize: hasSize ? leaseSize : undefined,
          startedAtMs: hasStart ? startOf(run) : undefined,
          endedAtMs: nowMs,
        },
      ];
    });
    const { verdicts, freed, opened, planned } = await this.storage.leases.settle(settlements, nowMs);
    return { verdicts, freed: asSet(freed), opened: asSet(opened), planned: asSet(planned) };
  }

  /** The same handing-out stands at another position in another storage. */
  #handout(runId: string, ago: number): ClaimedRun | undefined {
    return this.#handouts.get(runId)?.at(-1 - ago);
  }

  leaseRefs(): LeaseRef[] {
    return [...this.#handouts.values()].flatMap((handouts) => handouts.slice(-1));
  }

  #options({ guard, nowMs }: { guard: GuardChoice; nowMs: number }): OwnerOptions {
    const { nodeId, epochs } = guard === 'former' ? this.#former : this.#owner;
    if (guard !== 'partial') return { guard: { nodeId, epochs }, nowMs };
    return { guard: { nodeId, epochs: new Map([...epochs].filter(([shard]) => shard % 2 === 0)) }, nowMs };
  }

  async #own(nodeId: NodeId): Promise<number> {
    const epochs = await this.storage.members.acquireShards({
      ...{ nodeId, bootId: BOOT, shards: ALL_SHARDS, nowMs: BASE_MS, ttlMs: DAY_MS },
    });
    this.#owner = { nodeId, epochs };
    return epochs.size;
  }

  async #register(workerId: WorkerId): Promise<void> {
    const worker = {
      ...{ workerId, nodeId: NODE, incarnation: 1, bootId: BOOT, session: 0, slots: 10 },
      handlers: ['http'],
    };
    await this.storage.members.registerWorker(worker, BASE_MS);
  }
}

/** What an operation would decide on the job; undefined: it would refuse. */
function decideChange(
  change: ChangeCall,
  { job }: JobWithPlan,
):
  | {
      status: JobWithPlan['job']['status'];
      pending: PendingChange;
      schedule?: JobWithPlan['job']['schedule'];
    }
  | undefined {
  const { status } = job;
  if (status === 'CANCELLED') return undefined;
  const isEnded = status === 'COMPLETED' || status === 'FAILED';
  switch (change.kind) {
    case 'keep':
      return { status, pending: { kind: 'keep' } };
    case 'replan': {
      const { first, schedule } = change;
      if (!first) return { status: 'COMPLETED', pending: { kind: 'replan', first }, schedule };
      return { status: isEnded ? 'SCHEDULED' : status, pending: { kind: 'replan', first }, schedule };
    }
    case 'hold':
      return status === 'SCHEDULED' ? { status: 'PAUSED', pending: { kind: 'hold' } } : undefined;
    case 'release':
      return status === 'PAUSED' ? { status: 'SCHEDULED', pending: { kind: 'release' } } : undefined;
    case 'drop':
      return { status: 'CANCELLED', pending: { kind: 'drop' } };
  }
}

/** Of an attempt, always the same: what is shown while it runs is what is said at its end. */
function startOf({ claimedAtMs }: ClaimedRun): number {
  return claimedAtMs + 7;
}

/** In an order of its own, each once. */
export function asSet(values: readonly unknown[]): string[] {
  return [...new Set(values.map(written))].sort();
}

/** JSON with the names of every object in order; what is undefined is left out. */
export function written(value: unknown): string {
  return (
    JSON.stringify(value, (_, part: unknown) =>
      part !== null && typeof part === 'object' && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    ) ?? 'undefined'
  );
}

/** For tests: the operations over a storage in memory, a clock that stands still, and just enough of a scheduler and a worker. */

import { randomBytes } from 'node:crypto';
import {
  type BootId,
  type ClaimedBatch,
  fireTime,
  type JobId,
  type LeaseId,
  type NodeId,
  type PendingRun,
  planFires,
  type RunId,
  SERVER,
  type WorkerId,
  writeArtifactIndex,
} from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog, TimeSlices } from '@carillon/foundation';
import { Accounts } from '../accounts/accounts.ts';
import { adminKeyDigest } from '../accounts/admin-key.ts';
import { AuditLog } from '../audit/audit-log.ts';
import { MemoryCounters } from '../counters/memory-counters.ts';
import { RunCounter } from '../counting/run-counter.ts';
import { EventFeed } from '../event-feed/event-feed.ts';
import { HandlerCatalogue } from '../handlers/handler-catalogue.ts';
import { DirectIngest } from '../ingest/direct-ingest.ts';
import { dayOf } from '../log-store/log-store.ts';
import { MemoryLogStore } from '../log-store/memory-log-store.ts';
import { SecretSeal } from '../outgoing/secret-seal.ts';
import { RunLogs } from '../run-logs/run-logs.ts';
import { artifactsKey } from '../run-results/stored-artifacts.ts';
import { SecretValues } from '../secrets/secret-values.ts';
import type { SignalBus, Signals } from '../signal-bus/signal-bus.ts';
import { ALL_SHARDS, shardStart } from '../storage/conformance/storage-world.ts';
import type { Cursor } from '../storage/due.ts';
import { LANE_START } from '../storage/lane.ts';
import type { Settlement } from '../storage/lease-store.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import type { Storage } from '../storage/storage.ts';
import { createOperations, operationsAs } from './operations.ts';

export const NODE = '00000000-0000-7000-8000-00000000000a' as NodeId;
const BOOT = '00000000-0000-7000-8000-00000000000b' as BootId;

export type SentSignal = { [Name in keyof Signals]: { name: Name; signal: Signals[Name] } }[keyof Signals];

interface LeftArtifact {
  readonly name?: string;
  readonly content?: string;
  readonly nodeId?: NodeId;
}

export class OperationsFixture {
  readonly clock = new ManualClock(Date.UTC(2030, 0, 1, 12));
  readonly random = new SeededRandom(7);
  readonly storage: Storage = this.makeStorage();
  readonly sent: SentSignal[] = [];
  readonly signals: SignalBus = {
    send: (name, signal) => void this.sent.push({ name, signal } as SentSignal),
    on: () => () => {},
  };
  readonly events = new EventFeed({
    store: this.storage.events,
    clock: this.clock,
    log: silentLog,
    listenersMax: 100,
  });
  readonly logStore = new MemoryLogStore();
  readonly logs = new RunLogs({ records: this.storage.runLogs, store: this.logStore, nodeId: NODE });
  readonly audit = new AuditLog({ store: this.storage.audit, clock: this.clock });
  readonly accounts = new Accounts({
    audit: this.audit,
    ...{ store: this.storage.accounts, clock: this.clock, random: this.random, log: silentLog },
    counters: new MemoryCounters(),
    adminKey: { holder: NODE, digest: adminKeyDigest('correct-horse-battery-staple') },
    // Real hashing, made cheap: what is tested is that it happens.
    hashCost: { memoryKib: 64, passes: 1, parallelism: 1 },
  });
  readonly handlers = new HandlerCatalogue({
    store: this.storage.handlers,
    clock: this.clock,
    log: silentLog,
  });
  /** How long each slice of a long computation seems to take. */
  partMs = 0;
  #workedMs = 0;
  readonly seal = new SecretSeal(randomBytes(32).toString('base64'));
  readonly everyones = createOperations({
    counter: new RunCounter({
      ...{ store: this.storage.stats, clock: this.clock, random: this.random, log: silentLog },
    }),
    slices: new TimeSlices({ clock: { monotonic: () => (this.#workedMs += this.partMs) } }),
    accounts: this.accounts,
    seal: this.seal,
    secretValues: new SecretValues({ store: this.storage.secrets, seal: this.seal, clock: this.clock }),
    storage: this.storage,
    handlers: this.handlers,
    events: this.events,
    logs: this.logs,
    ingest: new DirectIngest({ jobs: this.storage.jobs, clock: this.clock }),
    signals: this.signals,
    clock: this.clock,
    random: this.random,
    audit: this.audit,
  });
  /** As the server itself. */
  readonly operations = operationsAs(SERVER, this.everyones);
  #epochs: ReadonlyMap<number, number> | undefined;

  /** In memory; a test on a database overrides this. */
  protected makeStorage(): Storage {
    return new MemoryStorage({ clock: this.clock });
  }

  /** What was sent under this name. */
  sentAs<Name extends keyof Signals>(name: Name): Signals[Name][] {
    return this.sent.filter((entry) => entry.name === name).map((entry) => entry.signal as Signals[Name]);
  }

  /** A file that the first run of this batch has left, as if a worker had sent it to this server, or to another. */
  async leaveArtifact(
    { claimedAtMs, runs: [run] }: ClaimedBatch,
    { name = 'report.txt', content = 'all is well\n', nodeId = NODE }: LeftArtifact = {},
  ): Promise<void> {
    const { runId, epoch } = run!;
    const bytes = Buffer.from(content);
    const index = writeArtifactIndex({
      keptAtMs: claimedAtMs,
      files: [{ name, offset: 0, bytes: bytes.length }],
    });
    const key = artifactsKey({ runId, epoch }, { claimedAtMs, writer: undefined });
    await this.logStore.write(key, { segment: 0, offset: 0 }, Buffer.concat([bytes, index]));
    await this.storage.runLogs.recordLogs([
      {
        ...{ runId, epoch, day: dayOf(claimedAtMs), nodeId, bytes: 0, lines: 0, ended: true },
        ...{ firstAtMs: claimedAtMs, lastAtMs: claimedAtMs, incomplete: false },
      },
    ]);
  }

  /** Cursors and waiting runs of all jobs, without those held by a pause. */
  async pending(): Promise<(Cursor | PendingRun)[]> {
    return [...(await this.cursors()), ...(await this.pendingRuns())];
  }

  async pendingOf(jobId: JobId): Promise<(Cursor | PendingRun)[]> {
    return (await this.pending()).filter((row) => row.jobId === jobId);
  }

  async cursors(untilMs = Number.MAX_SAFE_INTEGER): Promise<Cursor[]> {
    return this.storage.schedule.readCursors(ALL_SHARDS.map(shardStart), { untilMs, limitPerShard: 10_000 });
  }

  async cursorOf(jobId: JobId): Promise<Cursor | undefined> {
    return (await this.cursors()).find((cursor) => cursor.jobId === jobId);
  }

  async pendingRuns(): Promise<PendingRun[]> {
    const { jobs } = await this.storage.jobs.list({ limit: 10_000 });
    const runs = await Promise.all(jobs.map(({ jobId }) => this.storage.runs.pending(jobId, 10_000)));
    return runs.flat().filter(({ held }) => !held);
  }

  /** What a scheduler does in one pass. Answers the nominal instants that became runs. */
  async fireDue(): Promise<number[]> {
    const due = await this.cursors(this.clock.now());
    return (await Promise.all(due.map((cursor) => this.fire(cursor)))).flat();
  }

  async fire(cursor: Cursor): Promise<number[]> {
    const { schedule, misfire, jobId, nominalAtMs: cursorMs, resumedAtMs, skips } = cursor;
    const nowMs = this.clock.now();
    const plan = planFires({ schedule, misfire, jobId, cursorMs, nowMs, resumedAtMs, skips });
    const runs = plan.run.map((nominalAtMs) => ({ runId: this.random.id() as RunId, nominalAtMs }));
    const next = plan.nextMs === undefined ? undefined : { nominalAtMs: plan.nextMs };
    const fired = await this.storage.schedule.fire(
      [
        {
          cursor,
          runs,
          skipped: plan.skipped.map((range) => ({ runId: this.random.id() as RunId, ...range })),
          next: next && { ...next, fireAtMs: fireTime({ schedule, jobId, nominalMs: next.nominalAtMs }) },
        },
      ],
      { guard: await this.#guard(), nowMs },
    );
    return fired.jobIds.has(jobId) ? plan.run : [];
  }

  /** Admits waiting runs, and claims everything that is due for one worker. */
  async claimDue(): Promise<ClaimedBatch> {
    const nowMs = this.clock.now();
    const due = (await this.pendingRuns()).filter(({ fireAtMs }) => fireAtMs <= nowMs);
    const jobIds = [...new Set(due.map(({ jobId }) => jobId))];
    await this.storage.schedule.admit(jobIds, { guard: await this.#guard(), nowMs, runsPerJob: 1_000 });
    const leaseId = this.random.id() as LeaseId;
    const workerId = 'worker-1' as WorkerId;
    const worker = {
      workerId,
      nodeId: NODE,
      incarnation: 1,
      bootId: BOOT,
      session: 0,
      slots: 1,
      handlers: [],
    };
    await this.storage.members.registerWorker(worker, nowMs);
    const heads = await this.storage.leases.lanes({ after: undefined, limit: 1_000 });
    const lanes = heads.map((lane) => ({ lane, after: LANE_START, runsMax: 1_000 }));
    const pick = { lanes, runsMax: 1_000 };
    return this.storage.leases.claim({ leaseId, workerId, pick, nowMs });
  }

  /** Settles the first run of the batch. */
  async settle(
    batch: ClaimedBatch,
    end: { status: Settlement['status']; next: Settlement['next']; error?: string; result?: string },
  ) {
    const nowMs = this.clock.now();
    const { leaseId, position, epoch } = batch.runs[0]!;
    const { status, next, error, result } = end;
    const times = { startedAtMs: nowMs, endedAtMs: nowMs };
    const settlement: Settlement = {
      ...{ leaseId, position, leaseSize: undefined, epoch, status, error, result, ...times },
      next,
    };
    return (await this.storage.leases.settle([settlement], nowMs)).verdicts[0]!;
  }

  async #guard() {
    this.#epochs ??= await this.storage.members.acquireShards({
      nodeId: NODE,
      bootId: BOOT,
      shards: ALL_SHARDS,
      nowMs: this.clock.now(),
      ttlMs: 1e12,
    });
    return { nodeId: NODE, epochs: this.#epochs };
  }
}

/** How many turns of the event loop passed until this was done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let counting = setImmediate(function count() {
    turns += 1;
    counting = setImmediate(count);
  });
  try {
    await work();
  } finally {
    clearImmediate(counting);
  }
  return turns;
}

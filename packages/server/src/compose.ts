/**
 * Puts the roles together over their ports: the only file that names adapters. Every role gets ports and nothing else, so
 * moving one to another machine changes what is composed here, not the role.
 */
import type { BootId, NodeId } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service, sleep } from '@carillon/foundation';
import type { Handler } from '@carillon/worker';
import { OutcomeRecorder } from './completion/outcome-recorder.ts';
import type { Counters } from './counters/counters.ts';
import { MemoryCounters } from './counters/memory-counters.ts';
import { Dispatcher } from './dispatcher/dispatcher.ts';
import { Executor } from './executor/executor.ts';
import { Housekeeper } from './housekeeping/housekeeper.ts';
import { DirectIngest } from './ingest/direct-ingest.ts';
import { Accounts, type SessionTimes } from './operations/accounts/accounts.ts';
import { AuditLog } from './operations/audit-log.ts';
import { EventFeed } from './operations/event-feed/event-feed.ts';
import { createOperations, type Operations } from './operations/operations.ts';
import { Recovery } from './recovery/recovery.ts';
import { InProcessRunQueue } from './run-queue/in-process-run-queue.ts';
import { Scheduler } from './scheduler/scheduler.ts';
import { ShardKeeper } from './sharding/shard-keeper.ts';
import { MemorySignalBus } from './signal-bus/memory-signal-bus.ts';
import type { MemberStore } from './storage/member-store.ts';
import type { Storage } from './storage/storage.ts';
import { StorageClock } from './storage/storage-clock.ts';
import { InProcessWorkerLink } from './worker-link/in-process-worker-link.ts';

export interface EngineSettings {
  readonly slots: number;
  readonly nodeTtlMs: number;
  readonly workerSilentMs: number;
  readonly lookAheadMs: number;
  readonly lookAheadRowsMax: number;
  readonly retentionMs: number;
  readonly eventRetentionMs: number;
  readonly auditRetentionMs: number;
  readonly listenersMax: number;
  readonly drainMs: number;
  readonly retriesPerSecond: number;
}

export const ENGINE_DEFAULTS: EngineSettings = {
  slots: 256,
  nodeTtlMs: 10_000,
  workerSilentMs: 15_000,
  lookAheadMs: 300_000,
  lookAheadRowsMax: 50_000,
  retentionMs: 30 * 24 * 3_600_000,
  eventRetentionMs: 7 * 24 * 3_600_000,
  auditRetentionMs: 365 * 24 * 3_600_000,
  listenersMax: 1_000,
  drainMs: 30_000,
  retriesPerSecond: 1_000,
};

export interface EngineOptions {
  readonly storage: Storage;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly nodeId: NodeId;
  readonly incarnation: number;
  /** Of this process alone. */
  readonly bootId: BootId;
  /** Earlier processes of this server that certainly have ended. */
  readonly endedBoots?: readonly BootId[];
  readonly address: string;
  readonly settings: EngineSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onReplaced: () => void;
  /** False: only the operations, for a server that answers requests while others run the jobs. */
  readonly runsJobs?: boolean;
  /** Shared by all servers. Left out: this process counts alone. */
  readonly counters?: Counters;
  readonly sessionTimes?: SessionTimes;
}

export interface Engine extends Service {
  readonly operations: Operations;
  /** Who stands behind a key or a session, for the doors. */
  readonly accounts: Accounts;
  /** Why it cannot run jobs; empty when it can. */
  unready(): Promise<string[]>;
  /** For people and tests: what waits and runs in this process, and who follows its events. */
  counts(): { held: number; waiting: number; running: number; listeners: number; eventsBehindMs: number };
}

const QUEUE_CAPACITY = 2_000;
const CLOCK_SYNC_MS = 5_000;
const READY_ANSWER_MS_MAX = 2_000;

export function composeEngine(options: EngineOptions): Engine {
  const { storage, handlers, nodeId, incarnation, bootId, address, settings, random, log, onReplaced } =
    options;
  const { runsJobs = true, endedBoots = [] } = options;
  const clock = new StorageClock(options.clock);
  const signals = new MemorySignalBus();
  const queue = new InProcessRunQueue({ capacity: QUEUE_CAPACITY });
  const link = new InProcessWorkerLink();
  const ingest = new DirectIngest({
    jobs: storage.jobs,
    // Requests that arrived together are read one after the other: all of them share the transaction.
    defer: setImmediate,
  });
  const { members, leases, schedule } = storage;
  const { listenersMax } = settings;
  const events = new EventFeed({ store: storage.events, clock, log, listenersMax });
  for (const name of ['due-added', 'runs-released'] as const) signals.on(name, () => events.nudge());
  const common = { clock, random, log };
  const accounts = new Accounts({
    ...common,
    store: storage.accounts,
    counters: options.counters ?? new MemoryCounters(),
    ...(options.sessionTimes && { sessionTimes: options.sessionTimes }),
  });
  const ports = { ...common, signals, link, queue, leases, members };
  const identity = { nodeId, incarnation, bootId };

  const keeper = new ShardKeeper({
    ...common,
    ...identity,
    address,
    members,
    ttlMs: settings.nodeTtlMs,
    onReplaced,
  });
  const guard = () => keeper.guard();
  const scheduler = new Scheduler({
    ...ports,
    store: schedule,
    guard,
    windowMs: settings.lookAheadMs,
    rowsMax: settings.lookAheadRowsMax,
  });
  const dispatcher = new Dispatcher({ ...ports, guard });
  const reports = new OutcomeRecorder({ ...ports, retriesPerSecond: settings.retriesPerSecond });
  const executor = new Executor({
    ...ports,
    ...identity,
    reports,
    handlers,
    slots: settings.slots,
    silentMs: settings.workerSilentMs,
    drainMs: settings.drainMs,
  });
  const recovery = new Recovery({
    ...ports,
    endedBoots,
    reports,
    silentMs: settings.workerSilentMs,
  });
  const housekeeper = new Housekeeper({
    ...common,
    store: storage.housekeeping,
    retentionMs: settings.retentionMs,
    eventRetentionMs: settings.eventRetentionMs,
    auditRetentionMs: settings.auditRetentionMs,
  });
  const clockKeeper = new Loop({
    ...common,
    name: 'clock',
    idleMs: CLOCK_SYNC_MS,
    runOnce: async () => {
      await clock.sync(members);
      return undefined;
    },
  });
  keeper.onChange(() => {
    scheduler.wake();
    dispatcher.wake();
  });

  return {
    accounts,
    operations: createOperations({
      accounts,
      storage,
      events,
      ingest,
      signals,
      clock,
      random,
      audit: new AuditLog({ store: storage.audit, clock }),
    }),
    counts() {
      const { listeners, behindMs: eventsBehindMs } = events.counts();
      const { held } = scheduler;
      const { waiting } = dispatcher;
      return { held, waiting, running: executor.runningCount, listeners, eventsBehindMs };
    },
    async unready() {
      const reasons: string[] = [];
      const fault = await databaseFault(members, clock);
      if (fault !== undefined) reasons.push(fault);
      if (!runsJobs) return reasons;
      if (link.workers().length === 0) reasons.push('no worker is registered yet');
      if (guard().epochs.size === 0) reasons.push('this node owns no shards yet');
      return reasons;
    },
    /** What needs the storage comes before anything runs: a start that failed there may be repeated. */
    async start() {
      await clock.sync(members);
      await housekeeper.start();
      const road = runsJobs ? [reports, recovery, executor, keeper, scheduler, dispatcher] : [];
      for (const service of [clockKeeper, accounts, ...road]) await service.start();
    },
    /** Backwards along the road, so that nothing is handed to a role that has stopped. */
    async stop() {
      events.close();
      // Others take over the shards while runs drain here; ending what was started needs no ownership.
      const road = runsJobs ? [scheduler, dispatcher, keeper, executor, recovery, reports] : [];
      for (const service of [...road, housekeeper, accounts, clockKeeper]) await service.stop();
    },
  };
}

/** Whoever asks whether the database hangs must not hang with it. */
async function databaseFault(members: MemberStore, clock: Clock): Promise<string | undefined> {
  const answered = new AbortController();
  const answer = members.serverTimeMs().then(
    () => undefined,
    () => 'the database does not answer',
  );
  const late = sleep(clock, READY_ANSWER_MS_MAX, answered.signal).then(
    () => `the database has not answered for ${READY_ANSWER_MS_MAX / 1_000} s`,
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    answered.abort();
  }
}

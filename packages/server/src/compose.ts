/**
 * Puts the roles together over their ports: the only file that names adapters. Every role gets ports and nothing else, so
 * moving one to another machine changes what is composed here, not the role.
 */
import { type BootId, type NodeId, SHARD_COUNT, type WorkerId } from '@carillon/domain';
import { type Clock, type Log, Loop, type Random, type Service, TimeSlices } from '@carillon/foundation';
import {
  type Handler,
  type HandlerPlugin,
  type OfferedHandler,
  offeredAs,
  WorkerRuntime,
} from '@carillon/worker';
import { Accounts, type SessionTimes } from './accounts/accounts.ts';
import { adminKeyDigest } from './accounts/admin-key.ts';
import { AuditLog } from './audit/audit-log.ts';
import { StorageBacklog } from './backlog/storage-backlog.ts';
import { OutcomeRecorder } from './completion/outcome-recorder.ts';
import type { Counters } from './counters/counters.ts';
import { MemoryCounters } from './counters/memory-counters.ts';
import { RunCounter } from './counting/run-counter.ts';
import { Dispatcher, inTurn } from './dispatcher/dispatcher.ts';
import { EventFeed } from './event-feed/event-feed.ts';
import { HandlerCatalogue } from './handlers/handler-catalogue.ts';
import { OwnHandlers } from './handlers/own-handlers.ts';
import { Housekeeper } from './housekeeping/housekeeper.ts';
import { DirectIngest } from './ingest/direct-ingest.ts';
import { KeptChannel } from './kept-channel.ts';
import type { LogStore } from './log-store/log-store.ts';
import { MemoryLogStore } from './log-store/memory-log-store.ts';
import { createOperations, type Operations } from './operations/operations.ts';
import { RequestSigner } from './outgoing/request-signer.ts';
import { SecretSeal } from './outgoing/secret-seal.ts';
import { SigningSecrets } from './outgoing/signing-secrets.ts';
import { databaseFault, startFaults } from './readiness.ts';
import { Recovery } from './recovery/recovery.ts';
import { RunLogs, type RunLogsOptions } from './run-logs/run-logs.ts';
import { LogCloser } from './run-output/log-closer.ts';
import { RunOutput } from './run-output/run-output.ts';
import { StoredArtifacts } from './run-results/stored-artifacts.ts';
import { StoredResults } from './run-results/stored-results.ts';
import { CheckpointSaver } from './run-state/checkpoint-saver.ts';
import { ProgressWriter } from './run-state/progress-writer.ts';
import { Reconciler } from './scheduler/reconciler.ts';
import { Scheduler } from './scheduler/scheduler.ts';
import { PayloadResolver } from './secrets/payload-resolver.ts';
import { resealSecrets } from './secrets/reseal-secrets.ts';
import { SecretValues } from './secrets/secret-values.ts';
import { ShardKeeper } from './sharding/shard-keeper.ts';
import { MemorySignalBus } from './signal-bus/memory-signal-bus.ts';
import type { SignalBus } from './signal-bus/signal-bus.ts';
import type { Storage } from './storage/storage.ts';
import { StorageClock } from './storage/storage-clock.ts';
import { LeaseChecks } from './worker-home/lease-checks.ts';
import { StorageHome } from './worker-home/storage-home.ts';
import { WorkerSessions } from './worker-home/worker-sessions.ts';
import { InProcessWorkerLink, type WorkerCounts } from './worker-link/in-process-worker-link.ts';

export interface EngineSettings {
  readonly slots: number;
  readonly nodeTtlMs: number;
  readonly workerSilentMs: number;
  readonly lookAheadMs: number;
  readonly lookAheadRowsMax: number;
  readonly retentionMs: number;
  readonly eventRetentionMs: number;
  readonly auditRetentionMs: number;
  readonly logRetentionMs: number;
  /** Larger results are not kept. */
  readonly resultBytesMax: number;
  /** Of the files that one attempt may leave; 0: none are kept. */
  readonly artifactsBytesMax: number;
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
  logRetentionMs: 30 * 24 * 3_600_000,
  resultBytesMax: 64 * 1_024 * 1_024,
  artifactsBytesMax: 100 * 1_024 * 1_024,
  listenersMax: 1_000,
  drainMs: 30_000,
  retriesPerSecond: 1_000,
};

export interface EngineOptions {
  readonly storage: Storage;
  /** By name. */
  readonly handlers: ReadonlyMap<string, Handler | HandlerPlugin | OfferedHandler>;
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
  /** Which roles this process has besides the operations. Left out: all of them. */
  readonly plays?: { readonly scheduler: boolean; readonly dispatcher: boolean };
  /** Reaches every process that shares the storage. Left out: hints stay in this process. */
  readonly signals?: SignalBus;
  /** Between dispatcher and workers. Left out: function calls. */
  readonly link?: InProcessWorkerLink;
  /** Shared by all servers. Left out: this process counts alone. */
  readonly counters?: Counters;
  readonly sessionTimes?: SessionTimes;
  /** The key in the folder of this server; only a digest of it is kept. Left out: it opens no session. */
  readonly adminKey?: string;
  /** Encrypts secrets that are needed in full. Left out: signing keys are stored as they are, and secrets of payloads cannot be set. */
  readonly seal?: SecretSeal;
  /** What runs write. Left out: some of it in memory. Whoever opened it closes it. */
  readonly logs?: LogStore;
  /** The logs in the folders of other servers. Left out: they are not read here. */
  readonly peerLogs?: RunLogsOptions['peer'];
  /** When new jobs that arrived together are written. Left out: after the requests of this turn were read. */
  readonly defer?: (flush: () => void) => void;
}

export interface Engine extends Service {
  readonly operations: Operations;
  /** The streams of workers; undefined where no runs are claimed. */
  readonly workers: WorkerSessions | undefined;
  /** Who owns a key or a session, for the gateway. */
  readonly accounts: Accounts;
  /** Why it cannot run jobs; empty when it can. */
  unready(): Promise<string[]>;
  /** For metrics and tests: what waits and runs in this process, and how many listeners it has. */
  counts(): WorkerCounts & {
    held: number;
    lanes: number;
    running: number;
    unrecorded: number;
    listeners: number;
    eventsBehindMs: number;
  };
}

const CLOCK_SYNC_MS = 5_000;
/** Key files change when servers restart: soon after that nothing is left to do. */
const RESEAL_MS = 600_000;

/** How long the save of a checkpoint is repeated: longer than a database restarts, or a table is locked for. */
const CHECKPOINT_MS_MAX = 600_000;

export function composeEngine(options: EngineOptions): Engine {
  const { storage, nodeId, incarnation, bootId, address, settings, random, log, onReplaced } = options;
  const { plays = { scheduler: true, dispatcher: true }, endedBoots = [] } = options;
  const clock = new StorageClock(options.clock);
  const signals = options.signals ?? new MemorySignalBus({ log });
  const link = options.link ?? new InProcessWorkerLink();
  const ingest = new DirectIngest({
    jobs: storage.jobs,
    clock,
    // Requests that arrive together are parsed one after the other: all of them share the transaction.
    defer: options.defer ?? setImmediate,
  });
  const { members, leases, schedule } = storage;
  const { listenersMax } = settings;
  const events = new EventFeed({ store: storage.events, clock, log, listenersMax });
  signals.on('events-recorded', () => events.nudge());
  const common = { clock, random, log };
  const audit = new AuditLog({ store: storage.audit, clock });
  const accounts = new Accounts({
    ...common,
    audit,
    store: storage.accounts,
    counters: options.counters ?? new MemoryCounters(),
    ...(options.sessionTimes && { sessionTimes: options.sessionTimes }),
    ...(options.adminKey !== undefined && {
      adminKey: { holder: nodeId, digest: adminKeyDigest(options.adminKey) },
    }),
  });
  const offered = [...options.handlers].map(([name, handler]) => offeredAs(name, handler));
  const catalogue = new HandlerCatalogue({ ...common, store: storage.handlers, members: storage.members });
  const ownHandlers = new OwnHandlers({ ...common, catalogue, handlers: offered });
  const ports = { ...common, signals, link, leases, members };
  const identity = { nodeId, incarnation, bootId };

  const keeper = new ShardKeeper({
    ...common,
    ...identity,
    address,
    members,
    signals,
    ttlMs: settings.nodeTtlMs,
    onReplaced,
  });
  const guard = () => keeper.guard();
  const scheduler = new Scheduler({
    ...ports,
    store: schedule,
    guard,
    windowMs: settings.lookAheadMs,
    rowsPerShard: Math.max(1, Math.floor(settings.lookAheadRowsMax / SHARD_COUNT)),
  });
  const reconciler = new Reconciler({ ...ports, store: schedule, scheduler, guard });
  const backlog = new StorageBacklog({ ...common, leases, signals });
  const { seal = new SecretSeal() } = options;
  const secretValues = new SecretValues({ store: storage.secrets, seal, clock });
  const signer = new RequestSigner({
    secrets: new SigningSecrets({ store: storage.signingKeys, seal, clock }),
    clock,
    isRemote: (workerId) => workers?.has(workerId) ?? false,
  });
  // A request is signed with its secrets in it.
  const resolver = inTurn(new PayloadResolver({ values: secretValues, clock }), signer);
  const dispatcher = new Dispatcher({ ...ports, accounts: storage.accounts, backlog, nodeId, resolver });
  const reports = new OutcomeRecorder({ ...ports, retriesPerSecond: settings.retriesPerSecond });
  const { runLogs, runState } = storage;
  const logStore = options.logs ?? new MemoryLogStore();
  const output = new RunOutput({ ...common, store: logStore, records: runLogs, nodeId });
  const results = new StoredResults({ store: logStore, nodeId, bytesMax: settings.resultBytesMax });
  const artifacts = new StoredArtifacts({
    ...{ store: logStore, nodeId, bytesMax: settings.artifactsBytesMax },
    ...{ output: output.output, now: () => clock.now() },
  });
  const channel = new KeptChannel({
    output,
    results,
    artifacts,
    closer: new LogCloser({ ...common, output, leases, runs: storage.runs, records: runLogs, nodeId }),
    progress: new ProgressWriter({ ...common, store: runState, signals }),
    checkpoints: new CheckpointSaver({ ...common, store: runState, patienceMs: CHECKPOINT_MS_MAX }),
  });
  const leaseChecks = new LeaseChecks({ ...ports, silentMs: settings.workerSilentMs });
  const homes = {
    ...ports,
    leaseChecks,
    ...identity,
    reports,
    channel,
    silentMs: settings.workerSilentMs,
  };
  const worker = new WorkerRuntime({
    ...common,
    home: new StorageHome({ ...homes, labels: Object.assign({}, ...offered.map(({ labels }) => labels)) }),
    nextId: workerIds(identity),
    handlers: new Map(offered.map(({ name, run }) => [name, run])),
    slots: settings.slots,
    drainMs: settings.drainMs,
  });
  const workers = plays.dispatcher
    ? new WorkerSessions({
        ...homes,
        describe: (offered, { workerId, namespaces }) =>
          namespaces
            ? catalogue.recordBoundSchemas(offered, { namespaces, worker: { workerId } })
            : catalogue.recordSchemas(
                offered.map((handler) => ({ ...handler, description: undefined, origin: 'worker' })),
                { workerId },
              ),
      })
    : undefined;
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
    logs: { store: logStore, records: runLogs, retentionMs: settings.logRetentionMs },
    counts: storage.stats,
  });
  const counter = new RunCounter({ ...common, store: storage.stats });
  const clockKeeper = new Loop({
    ...common,
    name: 'clock',
    idleMs: CLOCK_SYNC_MS,
    runOnce: async () => {
      await clock.sync(members);
      await checkGeneration(storage, log);
      return undefined;
    },
  });
  const resealing = new Loop({
    ...common,
    name: 'secrets',
    idleMs: RESEAL_MS,
    runOnce: async () => {
      await resealSecrets({ store: storage.secrets, seal, log });
      return undefined;
    },
  });
  keeper.onChange(() => scheduler.wake());
  /** A role starts before those that pass runs to it. */
  const startOrder = [
    ...(plays.scheduler || plays.dispatcher ? [counter, reports, recovery] : []),
    ...(plays.dispatcher ? [ownHandlers, channel, worker, dispatcher] : []),
    ...(plays.scheduler ? [keeper, scheduler, reconciler] : []),
  ];

  return {
    accounts,
    workers,
    operations: createOperations({
      accounts,
      storage,
      handlers: catalogue,
      seal,
      secretValues,
      events,
      logs: new RunLogs({ records: runLogs, store: logStore, nodeId, peer: options.peerLogs }),
      ingest,
      signals,
      clock,
      random,
      counter,
      slices: new TimeSlices({ clock }),
      audit,
    }),
    counts() {
      const { listeners, behindMs: eventsBehindMs } = events.counts();
      const { rowsAhead: held } = scheduler;
      const { size: lanes } = backlog;
      return { held, lanes, ...link.counts(), listeners, eventsBehindMs };
    },
    async unready() {
      const reasons: string[] = [];
      const fault = await databaseFault(members, clock);
      if (fault !== undefined) reasons.push(fault);
      if (plays.dispatcher && link.workers().length === 0) reasons.push('no worker is registered yet');
      // A server without a dispatcher only answers requests: start faults do not concern it.
      if (plays.dispatcher && fault === undefined) reasons.push(...startFaults({ worker, dispatcher }));
      if (plays.scheduler && guard().epochs.size === 0) reasons.push('this node owns no shards yet');
      return reasons;
    },
    /** What needs the storage comes first: a start that failed there may be repeated. */
    async start() {
      await clock.sync(members);
      await checkGeneration(storage, log);
      await housekeeper.start();
      for (const service of [accounts, clockKeeper, resealing, ...startOrder]) await service.start();
    },
    /** In reverse order, so that no run is passed to a role that has stopped. */
    async stop() {
      events.close();
      // Others take over the shards while runs drain here; finishing runs needs no ownership.
      for (const service of [...startOrder.toReversed(), housekeeper, accounts, resealing, clockKeeper])
        await service.stop();
    },
  };
}

/** Hexadecimal digits at the end of a UUID that are random whatever its version. */
const BOOT_CHARACTERS = 8;

/** With the random end of the boot id: two processes share no worker id, whatever else they share (hazard 44). */
export function workerIds({ nodeId, bootId }: { nodeId: NodeId; bootId: BootId }): () => WorkerId {
  let generation = 0;
  return () => {
    generation += 1;
    return `${nodeId}.${bootId.slice(-BOOT_CHARACTERS)}.${generation}` as WorkerId;
  };
}

/** The log of every server records why epochs jumped, and that the last moments before may be lost (hazard 43). */
async function checkGeneration({ generations }: Storage, log: Log): Promise<void> {
  const { generation, isNew } = await generations.look();
  if (!isNew) return;
  log.warn(
    { generation },
    'the database was replaced by one that may have lost its last moments (a failover or a restore); epochs and events go on above all before',
  );
}

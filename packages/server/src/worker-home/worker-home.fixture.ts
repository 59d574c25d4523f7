/**
 * For tests: one home of workers over a storage in memory, and a worker in either shape: in the same process, or at the end of a real
 * HTTP/2 stream. Time is the system's, moved to where the storage's tests begin.
 */
import type { AddressInfo } from 'node:net';
import {
  type BootId,
  type Caller,
  type ClaimedBatch,
  type Job,
  Refusal,
  SERVER,
  type WorkerId,
} from '@carillon/domain';
import { type Clock, silentLog, systemClock, systemRandom } from '@carillon/foundation';
import {
  createWorker,
  type Handler,
  type RunChannel,
  SILENT_CHANNEL,
  type Worker,
  WorkerRuntime,
} from '@carillon/worker';
import fastify from 'fastify';
import { OutcomeRecorder } from '../completion/outcome-recorder.ts';
import { workerIds } from '../compose.ts';
import { createListener } from '../gateway/listener/create-listener.ts';
import { closeConnections } from '../gateway/listener/open-connections.ts';
import { mountRpc } from '../gateway/rpc/mount-rpc.ts';
import { workerMethods } from '../gateway/rpc/worker-methods.ts';
import type { StoredArtifacts } from '../run-results/stored-artifacts.ts';
import type { HomeChannel, StoredResults } from '../run-results/stored-results.ts';
import { MemorySignalBus } from '../signal-bus/memory-signal-bus.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { StorageWorld } from '../storage/conformance/storage-world.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import { breakable } from '../testing/role-stage.fixture.ts';
import { InProcessWorkerLink } from '../worker-link/in-process-worker-link.ts';
import { LeaseChecks } from './lease-checks.ts';
import { StorageHome } from './storage-home.ts';
import { type OfferedParameters, WorkerSessions } from './worker-sessions.ts';

export const KEY = 'correct-horse-battery-staple';
export const SHAPES = ['in process', 'at the end of a stream'] as const;
export type Shape = (typeof SHAPES)[number];

/** Long enough for a busy machine to beat in time. */
export const SILENT_MS = 5_000;

const startedAt = systemClock.monotonic();
const clock: Clock = { ...systemClock, now: () => BASE_MS + Math.round(systemClock.monotonic() - startedAt) };

interface FixtureOptions {
  readonly channel?: Omit<RunChannel, 'results' | 'artifacts'>;
  readonly silentMs?: number;
  readonly results?: StoredResults;
  readonly artifacts?: StoredArtifacts;
}

export class WorkerHomeFixture {
  readonly clock = clock;
  readonly storage = new MemoryStorage({ clock });
  readonly world = new StorageWorld(this.storage);
  readonly members = breakable(this.storage.members);
  readonly leases = breakable(this.storage.leases);
  readonly signals = new MemorySignalBus({ log: silentLog });
  readonly link = new InProcessWorkerLink();
  readonly warnings: string[] = [];
  /** The facts of each of them. */
  readonly warned: object[] = [];
  /** Calls that failed on our side. */
  readonly errors: unknown[] = [];
  /** What is logged in good order, with its facts. */
  readonly told: [facts: object, message: string][] = [];
  readonly common = {
    ...{ clock, random: systemRandom },
    log: {
      ...silentLog,
      info: (facts: object, message: string) => void this.told.push([facts, message]),
      warn: (facts: object, message: string) => {
        this.warnings.push(message);
        this.warned.push(facts);
      },
    },
  };
  readonly reports = new OutcomeRecorder({
    ...{ ...this.common, leases: this.leases.port, signals: this.signals },
    retriesPerSecond: 1_000,
  });
  /** Further keys, and whom they stand for. */
  readonly keys = new Map<string, Caller>();
  /** Whom the key stands for from now on. */
  callerNow: Caller | undefined;
  /** Why a key that was let in is not recognised any more. */
  refusedNow: Error | undefined;
  readonly described: (OfferedParameters & { readonly namespaces?: readonly string[] })[] = [];
  readonly #channel: HomeChannel;
  readonly #silentMs: number;
  #leaseChecks: LeaseChecks | undefined;
  readonly #undo: (() => Promise<unknown>)[] = [];

  constructor({ channel = SILENT_CHANNEL, silentMs = SILENT_MS, results, artifacts }: FixtureOptions = {}) {
    this.#channel = { ...channel, ...(results && { results }), ...(artifacts && { artifacts }) };
    this.#silentMs = silentMs;
  }

  static async open(options: FixtureOptions = {}): Promise<WorkerHomeFixture> {
    const fixture = new WorkerHomeFixture(options);
    await fixture.world.prepare();
    return fixture;
  }

  /** Answers how to stop it. */
  async start(
    shape: Shape,
    handlers: Record<string, Handler>,
    { drainMs = 30_000 } = {},
  ): Promise<() => Promise<void>> {
    if (shape === 'in process') return this.#startHere(handlers, drainMs);
    const { address } = await this.listen();
    return this.startRemote([address], handlers, { drainMs });
  }

  /** A port that workers connect to. */
  async listen({
    caller = SERVER,
    recogniseMs = 30_000,
    streamsMax = 100,
    totalMax = 1_000,
    silentMs = SILENT_MS,
    clock: ownClock = clock,
  } = {}): Promise<{ address: string; sessions: WorkerSessions; close: () => Promise<void> }> {
    const sessions = new WorkerSessions({
      ...this.#homes(),
      ...{ nodeId: this.world.nodeId, recogniseMs, silentMs, clock: ownClock },
      describe: async (offered, { namespaces }) => {
        this.described.push(...offered.map((each) => (namespaces ? { ...each, namespaces } : each)));
      },
    });
    const listener = createListener();
    const app = fastify({ serverFactory: listener.serverFactory });
    closeConnections(app, listener.connections);
    app.addHook('preClose', () => sessions.stop());
    mountRpc(app, {
      methods: workerMethods(sessions, { eachMax: streamsMax, totalMax }),
      bodyLimitBytes: 1_024,
      clock,
      log: { ...silentLog, error: (facts) => void this.errors.push(facts) },
      authenticate: async ({ headers }) => {
        if (this.refusedNow) throw this.refusedNow;
        const other = this.keys.get(headers.authorization?.slice('Bearer '.length) ?? '');
        if (other) return other;
        if (headers.authorization === `Bearer ${KEY}`) return this.callerNow ?? caller;
        throw new Refusal('unauthorized', 'The key is not valid.');
      },
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const close = () => app.close();
    this.#undo.push(close);
    return { address: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, sessions, close };
  }

  async startRemote(
    servers: readonly string[],
    handlers: Record<string, Handler> | ((worker: Worker) => Worker),
    { drainMs = 30_000, key = KEY } = {},
  ): Promise<() => Promise<void>> {
    const worker = createWorker({
      ...{ servers, key, slots: 4, log: silentLog, drainSeconds: drainMs / 1_000, internals: { clock } },
    });
    if (typeof handlers === 'function') handlers(worker);
    else for (const [name, handler] of Object.entries(handlers)) worker.handle(name, handler);
    void worker.run().catch(() => undefined);
    const stop = () => worker.stop();
    this.#undo.push(stop);
    return stop;
  }

  async #startHere(handlers: Record<string, Handler>, drainMs: number): Promise<() => Promise<void>> {
    const identity = { nodeId: this.world.nodeId, incarnation: 1, bootId: newId<BootId>() };
    const worker = new WorkerRuntime({
      ...{ ...this.common, slots: 4, drainMs },
      home: new StorageHome({ ...this.#homes(), ...identity }),
      nextId: workerIds(identity),
      handlers: new Map(Object.entries(handlers)),
    });
    await worker.start();
    let stopped: Promise<void> | undefined;
    const stop = () => {
      stopped ??= worker.stop();
      return stopped;
    };
    this.#undo.push(stop);
    return stop;
  }

  #homes() {
    this.#leaseChecks ??= new LeaseChecks({
      ...{ ...this.common, members: this.members.port, signals: this.signals, silentMs: this.#silentMs },
    });
    return {
      leaseChecks: this.#leaseChecks,
      ...{ ...this.common, members: this.members.port, leases: this.leases.port, reports: this.reports },
      ...{ link: this.link, signals: this.signals, channel: this.#channel, silentMs: this.#silentMs },
    };
  }

  /** The only worker that takes runs. */
  workerId(): WorkerId {
    const [worker, ...others] = this.link.workers();
    if (!worker || others.length > 0 || worker.freeSlots === 0)
      throw new Error('not one worker with free slots');
    return worker.workerId;
  }

  freeSlots(): number[] {
    return this.link.workers().map((worker) => worker.freeSlots);
  }

  async claim(
    handler: string,
    { count = 1, payload = '{}' } = {},
  ): Promise<{ jobs: Job[]; batch: ClaimedBatch }> {
    const workerId = this.workerId();
    const jobs: Job[] = [];
    for (let i = 0; i < count; i += 1)
      jobs.push((await this.world.oneOff({ job: { handler, payload } })).job);
    const runs = (await Promise.all(jobs.map((job) => this.world.pendingRuns(job)))).flat();
    return { jobs, batch: await this.world.claim(runs, { workerId, nowMs: clock.now() }) };
  }

  async hand(
    handler: string,
    options: { count?: number; payload?: string } = {},
  ): Promise<{ jobs: Job[]; batch: ClaimedBatch }> {
    const claimed = await this.claim(handler, options);
    this.link.reserve(claimed.batch.workerId, claimed.batch.runs.length);
    this.link.hand(claimed.batch);
    return claimed;
  }

  async statuses(job: Job): Promise<string[]> {
    return (await this.world.runsOf(job.jobId, clock.now())).map((view) => view.status);
  }

  async close(): Promise<void> {
    this.members.breakage.down = false;
    this.leases.breakage.down = false;
    for (const step of this.#undo.splice(0).reverse()) await step();
  }
}

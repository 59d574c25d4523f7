import type { BootId, ClaimedBatch, Job, RunId } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import { type Handler, WorkerRuntime } from '@carillon/worker';
import { beforeEach, describe, expect, test } from 'vitest';
import { OutcomeRecorder } from '../completion/outcome-recorder.ts';
import { workerIds } from '../compose.ts';
import type { LeaseStore } from '../storage/lease-store.ts';
import type { MemberStore } from '../storage/member-store.ts';
import { type Breakage, breakable, RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { LeaseChecks } from './lease-checks.ts';
import { StorageHome } from './storage-home.ts';

const SILENT_MS = 15_000;
const BEAT_MS = SILENT_MS / 5;
const TRUST_MS = SILENT_MS * 0.8;
const DRAIN_MS = 30_000;

let stage: RoleStage;
let membersBreakage: Breakage;
let leasesBreakage: Breakage;
let worker: WorkerRuntime;
/** What was logged as a warning or for people's information. */
let logged: string[];
/** Runs that were executed by the handler http. */
let executed: number;
/** Signals of handlers that run, and the ways to end them. */
let running: { signal: AbortSignal; end: PromiseWithResolvers<unknown> }[];

const HANDLERS: Record<string, Handler> = {
  http: () => {
    executed += 1;
    return 'done';
  },
  /** Runs until the test ends it, or until it is told to stop. */
  long: ({ signal }) => {
    const end = Promise.withResolvers<unknown>();
    running.push({ signal, end });
    signal.addEventListener('abort', () => end.reject(signal.reason as Error));
    return end.promise;
  },
  /** Runs until the test ends it, whatever it is told. */
  deaf: ({ signal }) => {
    const end = Promise.withResolvers<unknown>();
    running.push({ signal, end });
    return end.promise;
  },
};

beforeEach(async () => {
  stage = await RoleStage.set();
  running = [];
  logged = [];
  executed = 0;
  const members = breakable<MemberStore>(stage.storage.members);
  const leases = breakable<LeaseStore>(stage.storage.leases);
  membersBreakage = members.breakage;
  leasesBreakage = leases.breakage;
  worker = createWorker('00000000-0000-4000-8000-00000000000a', members.port, leases.port);
  await worker.start();
  await turns();
});

const note = (_: object, message: string) => void logged.push(message);
const log: Log = { debug: () => {}, info: note, warn: note, error: note, child: () => log };

function createWorker(bootId: string, members: MemberStore, leases: LeaseStore): WorkerRuntime {
  const identity = { nodeId: stage.world.nodeId, incarnation: 1, bootId: bootId as BootId };
  const reports = new OutcomeRecorder({
    ...{ ...stage.common, leases, signals: stage.signals },
    retriesPerSecond: 1_000,
  });
  const { link, signals } = stage;
  const ports = { ...stage.common, log, members, signals, silentMs: SILENT_MS };
  return new WorkerRuntime({
    ...{ ...stage.common, log },
    home: new StorageHome({ ...ports, ...identity, reports, link, leaseChecks: new LeaseChecks(ports) }),
    nextId: workerIds(identity),
    handlers: new Map(Object.entries(HANDLERS)),
    slots: 4,
    drainMs: DRAIN_MS,
  });
}

/** A run of a job, claimed for the worker and handed to it. */
async function hand(handler: string): Promise<{ job: Job; batch: ClaimedBatch }> {
  const claimed = await claim(handler);
  stage.link.reserve(worker.workerId, 1);
  stage.link.hand(claimed.batch);
  await turns();
  return claimed;
}

async function claim(handler: string): Promise<{ job: Job; batch: ClaimedBatch }> {
  const { job } = await stage.world.oneOff({ job: { handler } });
  const runs = await stage.world.pendingRuns(job);
  const batch = await stage.world.claim(runs, { workerId: worker.workerId, nowMs: stage.clock.now() });
  return { job, batch };
}

const statuses = async (job: Job) =>
  (await stage.world.runsOf(job.jobId, stage.clock.now())).map((view) => view.status);
const freeSlots = () => stage.link.workers().map((view) => view.freeSlots);
const workers = async () => (await stage.storage.members.workers()).map((worker) => worker.workerId);

/** Moves time in beats, as it passes for a living process. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) await stage.advance(Math.min(500, left));
}

describe('a worker', () => {
  test('registers before it is given anything, with its slots and handlers', async () => {
    expect(await workers()).toContain(worker.workerId);
    expect(freeSlots()).toEqual([4]);
    expect(worker.handlers).toEqual(Object.keys(HANDLERS));
  });

  test('hazard 44: shares its id with no other process of the same node and incarnation', () => {
    const { members, leases } = stage.storage;
    const other = createWorker('00000000-0000-4000-8000-00000000000b', members, leases);
    expect(other.workerId).not.toBe(worker.workerId);
    expect(other.workerId.split('.')[0]).toBe(stage.world.nodeId);
  });

  test('runs what it is handed and reports it', async () => {
    const { job } = await hand('http');
    expect(await statuses(job)).toEqual(['SUCCESS']);
    expect(freeSlots()).toEqual([4]);
  });

  test('has a slot less for every run that goes on', async () => {
    await hand('long');
    expect(freeSlots()).toEqual([3]);
    running[0]!.end.resolve('done');
    await turns();
    expect(freeSlots()).toEqual([4]);
  });

  test('keeps its runs for as long as they take, by its heartbeat (hazard 15)', async () => {
    const { job } = await hand('long');
    await pass(SILENT_MS * 3);
    expect(running[0]!.signal.aborted).toBe(false);
    running[0]!.end.resolve('done');
    await turns();
    expect(await statuses(job)).toEqual(['SUCCESS']);
  });

  test('is told within three seconds what to stop, should the signal be lost (hazard 18)', async () => {
    const { job, batch } = await hand('long');
    await stage.storage.jobs.cancelRun(batch.runs[0]!.runId, stage.clock.now());
    await pass(BEAT_MS);
    expect(running[0]!.signal.aborted).toBe(true);
    expect(await statuses(job)).toEqual(['CANCELLED']);
  });

  test('stops at once when the signal arrives, but not by the signal alone: whoever may connect can send one', async () => {
    const { runId } = (await hand('long')).batch.runs[0]!;
    for (const isAsked of [false, true]) {
      if (isAsked) await stage.storage.jobs.cancelRun(runId, stage.clock.now());
      stage.signals.send('cancel-requested', { runIds: ['other' as RunId, runId] });
      await turns();
      expect(running[0]!.signal.aborted).toBe(isAsked);
    }
  });
});

describe('a worker that the storage no longer answers (hazards 14, 33)', () => {
  test('stops its runs by itself before the others would take them', async () => {
    await hand('long');
    membersBreakage.down = true;
    await pass(TRUST_MS - 1_000);
    expect(running[0]!.signal.aborted).toBe(false);
    await pass(1_000);
    expect(running[0]!.signal.aborted).toBe(true);
    expect(stage.clock.monotonic()).toBeLessThan(SILENT_MS);
  });

  test('does so even while its heartbeat hangs without an answer', async () => {
    await hand('long');
    await pass(BEAT_MS - 500);
    stage.storage.members.beatWorker = () => new Promise(() => {});
    await pass(TRUST_MS + 500);
    expect(running[0]!.signal.aborted).toBe(true);
  });

  test('offers no slots, and gives back what reaches it all the same', async () => {
    membersBreakage.down = true;
    await pass(TRUST_MS);
    expect(freeSlots()).toEqual([0]);
    const { job } = await hand('long');
    expect(running).toEqual([]);
    expect(await stage.world.pendingRuns(job)).toMatchObject([{ attempt: 1 }]);
  });

  test('gives its runs back without costing them an attempt, and works again when it is heard (hazard 22)', async () => {
    const { job } = await hand('long');
    membersBreakage.down = true;
    await pass(TRUST_MS);
    expect(await stage.world.pendingRuns(job)).toMatchObject([{ attempt: 1 }]);
    membersBreakage.down = false;
    await pass(BEAT_MS);
    expect(freeSlots()).toEqual([4]);
  });
});

describe('a worker whose look-ups fail or hang while its heartbeat is answered (hazard 29)', () => {
  test.each(['cancelledRuns', 'unreceivedRuns'] as const)(
    'keeps its runs and its slots without %s',
    async (name) => {
      const { members } = stage.storage;
      for (const broken of [
        () => Promise.reject(new Error('timed out')),
        () => new Promise<never>(() => {}),
      ]) {
        members[name] = broken;
        await hand('long');
        await pass(SILENT_MS * 1.5);
      }
      expect(running.map(({ signal }) => signal.aborted)).toEqual([false, false]);
      expect(freeSlots()).toEqual([2]);
    },
  );
});

describe('a worker that was given up for dead (hazard 14)', () => {
  const markDead = () => stage.world.markDead(worker.workerId);

  test('stops what it runs and comes back under a new name', async () => {
    const before = worker.workerId;
    await hand('long');
    await markDead();
    await pass(BEAT_MS);
    expect(running[0]!.signal.aborted).toBe(true);
    expect(worker.workerId).not.toBe(before);
    expect(stage.link.workers().map((worker) => worker.workerId)).toEqual([worker.workerId]);
  });

  test('never offers more slots than it has, though runs of its old name end under the new one', async () => {
    await hand('deaf');
    await markDead();
    await pass(BEAT_MS * 2);
    expect(freeSlots()).toEqual([3]);
    running[0]!.end.resolve('at last');
    await turns();
    expect(freeSlots()).toEqual([4]);
  });
});

describe('a lease that never arrived', () => {
  test('is given back after a while, and costs no attempt', async () => {
    const { job } = await claim('long');
    await pass(BEAT_MS);
    expect(await stage.world.pendingRuns(job)).toEqual([]);
    await pass(SILENT_MS);
    expect(await stage.world.pendingRuns(job)).toMatchObject([{ attempt: 1 }]);
  });

  test('is not run when it arrives after all: it is somebody else’s by then', async () => {
    const { batch } = await claim('long');
    await pass(SILENT_MS + BEAT_MS);
    stage.link.hand(batch);
    await turns();
    expect(running).toEqual([]);
  });
});

describe('a report', () => {
  test('is repeated until the storage takes it (hazard 28)', async () => {
    leasesBreakage.down = true;
    const { job } = await hand('http');
    await pass(2_000);
    expect(await stage.world.living(job.jobId)).toHaveLength(1);
    leasesBreakage.down = false;
    await pass(1_000);
    expect(await statuses(job)).toEqual(['SUCCESS']);
  });

  test('whose answer was lost is repeated, and the run has ended once', async () => {
    leasesBreakage.deaf = true;
    const { job } = await hand('http');
    leasesBreakage.deaf = false;
    await pass(1_000);
    expect(await statuses(job)).toEqual(['SUCCESS']);
  });
});

describe('outcomes that cannot be recorded (hazard 40)', () => {
  const UNRECORDED_MAX = 1_000;
  let release: () => void;
  let changes: number;

  /** Settlements wait until the test lets them go on. */
  beforeEach(() => {
    const gate = Promise.withResolvers<void>();
    release = gate.resolve;
    const settle = stage.storage.leases.settle.bind(stage.storage.leases);
    stage.storage.leases.settle = async (...args) => {
      await gate.promise;
      return settle(...args);
    };
    changes = 0;
    stage.link.onChange(() => {
      changes += 1;
    });
  });

  /** As a dispatcher does that always has work: every free slot is taken, over and over. */
  async function handWhileFree(handler = 'http'): Promise<void> {
    for (;;) {
      const [free] = freeSlots();
      if (!free || executed > 2 * UNRECORDED_MAX) return;
      stage.link.reserve(worker.workerId, free);
      const runs = await Promise.all(
        Array.from({ length: free }, async () => {
          const { job } = await stage.world.oneOff({ job: { handler } });
          return (await stage.world.pendingRuns(job))[0]!;
        }),
      );
      const options = { workerId: worker.workerId, nowMs: stage.clock.now() };
      stage.link.hand(await stage.world.claim(runs, options));
    }
  }

  test('stop executions at a bound, and are told of once', async () => {
    await handWhileFree();
    expect(executed).toBe(UNRECORDED_MAX);
    expect([freeSlots(), worker.unrecordedCount]).toEqual([[0], UNRECORDED_MAX]);
    expect(logged).toEqual(['no more runs are started: too many outcomes wait to be recorded']);
  });

  test('are told of with how long nothing could be recorded, until one is', async () => {
    expect(worker.boundReachedMs).toBeUndefined();
    await handWhileFree();
    await pass(3_000);
    expect(worker.boundReachedMs).toBe(3_000);
    release();
    await turns();
    expect(worker.boundReachedMs).toBeUndefined();
  });

  test('leave no slot for a run that would come past the bound: running and promised ones count too', async () => {
    await hand('long');
    stage.link.reserve(worker.workerId, 1);
    await handWhileFree();
    expect(executed).toBe(UNRECORDED_MAX - 2);
    running[0]!.end.resolve('done');
    await turns();
    expect(freeSlots()).toEqual([0]);
    stage.link.unreserve(worker.workerId, 1);
    expect(freeSlots()).toEqual([1]);
  });

  test('give their slots back when they are recorded after all, which is announced and told of once', async () => {
    await handWhileFree();
    logged = [];
    await turns();
    changes = 0;
    release();
    await turns();
    expect([freeSlots(), worker.unrecordedCount]).toEqual([[4], 0]);
    expect(changes).toBeGreaterThan(0);
    expect(changes).toBeLessThan(20);
    expect(logged).toEqual(['outcomes are recorded again; runs are started again']);
    expect(await stage.storage.leases.leasedBy([worker.workerId])).toEqual([]);
  });

  test('take no slot from others while there are few: more are unrecorded at a time than there are slots', async () => {
    for (let i = 0; i < 40; i += 1) await hand('http');
    expect([freeSlots(), worker.unrecordedCount]).toEqual([[4], 40]);
    expect(logged).toEqual([]);
  });
});

describe('stopping', () => {
  test('takes nothing new, lets runs end, and signs off', async () => {
    const { job } = await hand('long');
    const stopped = worker.stop();
    expect(stage.link.workers()).toEqual([]);
    await pass(1_000);
    running[0]!.end.resolve('done');
    await stopped;
    expect(await statuses(job)).toEqual(['SUCCESS']);
    expect(await workers()).toEqual([stage.world.workerId]);
  });

  test('gives back what does not end in time, and it costs no attempt (hazard 22)', async () => {
    const { job } = await hand('long');
    const stopped = worker.stop();
    await pass(DRAIN_MS + 500);
    await stopped;
    expect(await stage.world.pendingRuns(job)).toMatchObject([{ attempt: 1 }]);
  });

  test('goes on beating while it waits: a run that may end is not taken away', async () => {
    await hand('long');
    void worker.stop();
    await pass(SILENT_MS + BEAT_MS);
    expect(running[0]!.signal.aborted).toBe(false);
  });
});

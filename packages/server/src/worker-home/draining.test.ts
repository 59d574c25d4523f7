/** Draining and deaf handlers: what a worker does when it is asked to take no more runs, and what it tells of itself. */
import type { BootId, Job } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import { type Handler, WorkerRuntime } from '@carillon/worker';
import { beforeEach, describe, expect, test } from 'vitest';
import { OutcomeRecorder } from '../completion/outcome-recorder.ts';
import { workerIds } from '../compose.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { LeaseChecks } from './lease-checks.ts';
import { StorageHome } from './storage-home.ts';

const SILENT_MS = 15_000;
const BEAT_MS = SILENT_MS / 5;
/** How long a handler that was told to stop is waited for. */
const STOP_GRACE_MS = 5_000;

let stage: RoleStage;
let worker: WorkerRuntime;
let logged: string[];
let running: { signal: AbortSignal; end: PromiseWithResolvers<unknown> }[];

const HANDLERS: Record<string, Handler> = {
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
  const note = (_: object, message: string) => void logged.push(message);
  const log: Log = { debug: () => {}, info: note, warn: note, error: note, child: () => log };
  const bootId = '00000000-0000-4000-8000-00000000000a' as BootId;
  const identity = { nodeId: stage.world.nodeId, incarnation: 1, bootId };
  const { link, signals, common, storage } = stage;
  const { members, leases } = storage;
  const reports = new OutcomeRecorder({ ...{ ...common, leases, signals }, retriesPerSecond: 1_000 });
  worker = new WorkerRuntime({
    ...{ ...common, log, handlers: new Map(Object.entries(HANDLERS)), slots: 4, drainMs: 30_000 },
    home: new StorageHome({
      ...{ ...common, ...identity, log, members, reports, link, signals },
      leaseChecks: new LeaseChecks({ ...{ ...common, log, members, signals }, silentMs: SILENT_MS }),
      silentMs: SILENT_MS,
    }),
    nextId: workerIds(identity),
  });
  await worker.start();
  await turns();
});

async function hand(): Promise<Job> {
  const { job } = await stage.world.oneOff({ job: { handler: 'deaf' } });
  const runs = await stage.world.pendingRuns(job);
  const batch = await stage.world.claim(runs, { workerId: worker.workerId, nowMs: stage.clock.now() });
  stage.link.reserve(worker.workerId, 1);
  stage.link.hand(batch);
  await turns();
  return job;
}

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) await stage.advance(Math.min(500, left));
}

const askToDrain = (draining: boolean) => stage.storage.members.drainWorker(worker.workerId, draining);
const freeSlots = () => stage.link.workers().map((view) => view.freeSlots);
const listed = async () =>
  (await stage.storage.members.workers()).find(({ workerId }) => workerId === worker.workerId);
const statuses = async (job: Job) =>
  (await stage.world.runsOf(job.jobId, stage.clock.now())).map((view) => view.status);

describe('a worker that is asked to drain (hazard 22)', () => {
  test('takes no more runs from its next beat on, though the signal was lost, and ends those that it has', async () => {
    const job = await hand();
    await askToDrain(true);
    expect(freeSlots()).toEqual([3]);
    await pass(BEAT_MS);
    expect(freeSlots()).toEqual([0]);
    await pass(SILENT_MS * 2);
    expect(running[0]!.signal.aborted).toBe(false);
    running[0]!.end.resolve('done');
    await turns();
    expect(await statuses(job)).toEqual(['SUCCESS']);
    expect(freeSlots()).toEqual([0]);
    expect(await listed()).toMatchObject({ draining: true, alive: true });
  });

  test('learns it at once from the signal, but not by the signal alone', async () => {
    stage.signals.send('workers-asked', {});
    await turns();
    expect(freeSlots()).toEqual([4]);
    await askToDrain(true);
    stage.signals.send('workers-asked', {});
    await turns();
    expect(freeSlots()).toEqual([0]);
  });

  test('takes runs again when it is undrained', async () => {
    for (const draining of [true, false]) {
      await askToDrain(draining);
      stage.signals.send('workers-asked', {});
      await turns();
    }
    expect(freeSlots()).toEqual([4]);
    expect(logged).toEqual([
      'this worker takes no more runs: it was asked to drain',
      'this worker takes runs again',
    ]);
  });

  test('still drains when it comes back under a new id', async () => {
    await askToDrain(true);
    await pass(BEAT_MS);
    const former = worker.workerId;
    await stage.world.markDead(former);
    await pass(BEAT_MS);
    expect(worker.workerId).not.toBe(former);
    expect(await listed()).toMatchObject({ draining: true, alive: true });
    await pass(BEAT_MS);
    expect(freeSlots()).toEqual([0]);
  });
});

describe('a handler that does not return though it was told to stop', () => {
  test('keeps its slot, is counted where people see it, and is told of once in the log', async () => {
    const job = await hand();
    const [view] = await stage.world.runsOf(job.jobId, stage.clock.now());
    await stage.storage.jobs.cancelRun(view!.runId, stage.clock.now());
    await pass(BEAT_MS + STOP_GRACE_MS + 2 * BEAT_MS);
    expect(await statuses(job)).toEqual(['CANCELLED']);
    expect(freeSlots()).toEqual([3]);
    expect((await listed())?.stuck).toBe(1);
    await pass(SILENT_MS);
    expect(logged.filter((message) => message.includes('have not returned'))).toHaveLength(1);
    running[0]!.end.resolve('late');
    await pass(BEAT_MS);
    expect(freeSlots()).toEqual([4]);
    expect((await listed())?.stuck).toBe(0);
  });
});

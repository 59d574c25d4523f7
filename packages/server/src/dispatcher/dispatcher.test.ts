import type { ClaimedBatch, Job, NodeId, RunId, WorkerId } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../storage/conformance/sample-job.ts';
import { BASE_MS, DAY_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import { ALL_SHARDS, manualRun } from '../storage/conformance/storage-world.ts';
import type { ClaimRequest, LeaseStore } from '../storage/lease-store.ts';
import type { ShardGuard } from '../storage/shard-guard.ts';
import { type Breakage, breakable, RoleStage, turns } from '../testing/role-stage.fixture.ts';
import type { LocalWorker } from '../worker-link/local-workers.ts';
import { Dispatcher } from './dispatcher.ts';

let stage: RoleStage;
let breakage: Breakage;
let dispatcher: Dispatcher;
let guard: ShardGuard;
let handed: ClaimedBatch[];
let cancelled: RunId[];
let worker: LocalWorker & { slots: number };

beforeEach(async () => {
  stage = await RoleStage.set();
  handed = [];
  cancelled = [];
  guard = stage.world.guard;
  const { port, breakage: broken } = breakable<LeaseStore>(stage.storage.leases);
  breakage = broken;
  worker = {
    workerId: stage.world.workerId,
    slots: 10,
    unrecordedLeft: Number.POSITIVE_INFINITY,
    get runningCount() {
      return handed.reduce((sum, batch) => sum + batch.runs.length, 0);
    },
    offers: (handler) => handler === 'http',
    accept: (batch) => handed.push(batch),
    cancel: (runIds) => cancelled.push(...runIds),
  };
  stage.link.attach(worker);
  dispatcher = new Dispatcher({
    ...stage.common,
    leases: port,
    queue: stage.queue,
    link: stage.link,
    signals: stage.signals,
    guard: () => guard,
  });
});

const handedRuns = (): RunId[] => handed.flatMap((batch) => batch.runs.map((run) => run.runId));

/** Brings what waits of the job, as the scheduler does, and lets the dispatcher decide. */
async function bring(...jobs: Job[]): Promise<void> {
  for (const job of jobs) {
    const rows = await stage.world.pendingRuns(job);
    await stage.queue.publish(rows.filter((row) => row.fireAtMs <= stage.clock.now()));
  }
  await decide();
}

async function decide(): Promise<void> {
  await dispatcher.runOnce();
  await turns();
}

/** A job with so many runs waiting that people asked for, oldest first. */
async function withRuns(count: number, over: Partial<Job> = {}): Promise<{ job: Job; runIds: RunId[] }> {
  const { job, runId } = await stage.world.oneOff({ job: over });
  const runIds = [runId];
  for (let i = 1; i < count; i += 1) {
    const run = { ...manualRun(BASE_MS), nominalAtMs: BASE_MS + i };
    await stage.storage.jobs.enqueue(job.jobId, run);
    runIds.push(run.runId);
  }
  return { job, runIds };
}

/** The worker is done with the run, and everybody hears of it unless told otherwise. */
async function finish(runId: RunId, { told = true } = {}): Promise<void> {
  const run = handed.flatMap((batch) => batch.runs).find((entry) => entry.runId === runId)!;
  handed = handed.filter((batch) => batch.runs.every((entry) => entry.runId !== runId));
  await stage.world.settle(run, {}, stage.clock.now());
  if (told) stage.signals.send('runs-released', { runs: [run] });
  stage.link.freed();
  await turns();
}

const statusOf = async (job: Job, runId: RunId) =>
  (await stage.world.runsOf(job.jobId, stage.clock.now())).find((view) => view.runId === runId);

describe('a due run', () => {
  test('is claimed and handed to a worker', async () => {
    const { job, runIds } = await withRuns(1);
    await bring(job);
    expect(handedRuns()).toEqual(runIds);
    expect(await stage.storage.leases.live(ALL_SHARDS)).toMatchObject([
      { runId: runIds[0], workerId: worker.workerId },
    ]);
  });

  test('is handed out once, however often the queue brings it', async () => {
    const { job } = await withRuns(1);
    const rows = await stage.world.pendingRuns(job);
    await stage.queue.publish([...rows, ...rows, ...rows]);
    await decide();
    await stage.queue.publish(rows);
    await decide();
    expect(handedRuns()).toHaveLength(1);
  });

  test('that is gone meanwhile costs nobody a slot', async () => {
    const { job } = await withRuns(1);
    const rows = await stage.world.pendingRuns(job);
    await stage.world.cancelJob(job.jobId);
    await stage.queue.publish(rows);
    await decide();
    expect(handed).toEqual([]);
    expect(stage.link.workers()[0]!.freeSlots).toBe(10);
  });

  test('waits while all slots are taken, and starts with the first that is free', async () => {
    worker.slots = 1;
    const [one, other] = [await withRuns(1), await withRuns(1)];
    await bring(one.job, other.job);
    expect(handedRuns()).toHaveLength(1);
    expect(dispatcher.waiting).toBe(1);
    await finish(handedRuns()[0]!);
    await decide();
    expect(handedRuns()).toHaveLength(1);
    expect(dispatcher.waiting).toBe(0);
  });

  test('is never one more than there are slots', async () => {
    const { job } = await withRuns(50, { maxConcurrency: 100 });
    await bring(job);
    await decide();
    expect(handedRuns()).toHaveLength(10);
  });
});

describe('the limit of a job', () => {
  test('holds, and the oldest that waits comes next (hazard 12)', async () => {
    const { job, runIds } = await withRuns(3, { maxConcurrency: 1 });
    await bring(job);
    expect(handedRuns()).toEqual([runIds[0]]);
    await finish(runIds[0]!);
    await decide();
    expect(handedRuns()).toEqual([runIds[1]]);
  });

  test('counts runs that were handed out before this node took over (hazard 13)', async () => {
    const { job } = await withRuns(2, { maxConcurrency: 1 });
    const [first] = await stage.world.pendingRuns(job);
    await stage.world.claim([first!], { workerId: newId<WorkerId>() });
    await bring(job);
    expect(handed).toEqual([]);
    expect(dispatcher.waiting).toBe(1);
  });

  test('does not stay stuck when nobody tells that a run has ended (hazard 13)', async () => {
    const { job, runIds } = await withRuns(2, { maxConcurrency: 1 });
    await bring(job);
    await finish(runIds[0]!, { told: false });
    await decide();
    await stage.advance(5_000);
    await decide();
    await decide();
    expect(handedRuns()).toEqual([runIds[1]]);
  });

  test('is not loosened by news about an earlier handing-out of the same run (hazard 12)', async () => {
    const { job, runIds } = await withRuns(2, { maxConcurrency: 1 });
    await bring(job);
    const stale = { jobId: job.jobId, runId: runIds[0]!, claimedAtMs: BASE_MS - 1 };
    stage.signals.send('runs-released', { runs: [stale] });
    await decide();
    expect(handedRuns()).toEqual([runIds[0]]);
  });
});

describe('overlap', () => {
  test('is skipped where the job says so, with a verdict on record', async () => {
    const { job, runIds } = await withRuns(2, { maxConcurrency: 1, overlap: 'skip' });
    await bring(job);
    expect(await statusOf(job, runIds[1]!)).toMatchObject({ status: 'SKIPPED', reason: 'overlap' });
    expect(dispatcher.waiting).toBe(0);
  });

  test('replaces: the oldest is asked to stop, and only the newest waits for its place (hazard 18)', async () => {
    const { job, runIds } = await withRuns(1, { maxConcurrency: 1, overlap: 'replace' });
    await bring(job);
    for (const ms of [1, 2]) {
      await stage.advance(1);
      const run = { ...manualRun(stage.clock.now()), nominalAtMs: BASE_MS + ms };
      await stage.storage.jobs.enqueue(job.jobId, run);
      runIds.push(run.runId);
      await bring(job);
    }
    expect(cancelled).toContain(runIds[0]);
    expect(await statusOf(job, runIds[1]!)).toMatchObject({ status: 'SKIPPED', reason: 'replaced' });
    await finish(runIds[0]!);
    await decide();
    expect(handedRuns()).toEqual([runIds[2]]);
  });
});

describe('a handler that no worker offers (hazard 21)', () => {
  test('makes its run wait in the storage, visibly, and nothing spins', async () => {
    const { job, runIds } = await withRuns(1, { handler: 'gpu' });
    await bring(job);
    const [row] = await stage.world.pendingRuns(job);
    expect(row!.fireAtMs).toBeGreaterThanOrEqual(BASE_MS + 2_000);
    expect(await statusOf(job, runIds[0]!)).toMatchObject({ reason: 'no worker offers the handler "gpu"' });
    expect(dispatcher.waiting).toBe(0);
    expect(breakage.calls.resolvePending).toBe(1);
  });

  test('is given up after a day as a dead letter that says why', async () => {
    const { job, runIds } = await withRuns(1, { handler: 'gpu' });
    await dispatcher.runOnce();
    stage.clock.advance(DAY_MS + MINUTE_MS);
    await bring(job);
    expect(await stage.storage.runs.deadLetter(runIds[0]!)).toMatchObject({
      reason: 'never_started',
      error: expect.stringContaining('gave up after 24 hours'),
    });
  });

  test('does not stop the others', async () => {
    const [stuck, fine] = [await withRuns(1, { handler: 'gpu' }), await withRuns(1)];
    await bring(stuck.job, fine.job);
    expect(handedRuns()).toEqual(fine.runIds);
  });
});

test('a run that waited longer for a start than it may is given up unrun (hazard 16)', async () => {
  const { job, runIds } = await withRuns(1, { startTimeoutMs: 1_000 });
  stage.clock.advance(1_001);
  await bring(job);
  expect(handed).toEqual([]);
  expect(await stage.storage.runs.deadLetter(runIds[0]!)).toMatchObject({ reason: 'never_started' });
});

describe('a shard', () => {
  test('of others: its runs are left alone', async () => {
    const { job } = await withRuns(1);
    guard = { nodeId: guard.nodeId, epochs: new Map() };
    await bring(job);
    expect(handed).toEqual([]);
  });

  test('that was lost without noticing: nothing is claimed (hazard 10)', async () => {
    const { job } = await withRuns(1);
    await stage.world.changeHands();
    await bring(job);
    expect(handed).toEqual([]);
    expect(stage.link.workers()[0]!.freeSlots).toBe(10);
  });

  test('that is lost takes what waited with it', async () => {
    worker.slots = 1;
    const { job } = await withRuns(3, { maxConcurrency: 5 });
    await bring(job);
    expect(dispatcher.waiting).toBe(2);
    guard = { nodeId: 'other' as NodeId, epochs: new Map() };
    await decide();
    expect(dispatcher.waiting).toBe(0);
  });
});

describe('a claim that breaks off', () => {
  test('before it happened: the run is handed out with a later try, and no slot is lost (hazard 28)', async () => {
    const { job, runIds } = await withRuns(1);
    await decide();
    const rows = await stage.world.pendingRuns(job);
    breakage.down = true;
    await stage.queue.publish(rows);
    await decide();
    breakage.down = false;
    expect(handed).toEqual([]);
    expect(stage.link.workers()[0]!.freeSlots).toBe(10);
    for (let i = 0; i < 3; i += 1) {
      await stage.advance(2_500);
      await stage.queue.publish(rows);
      await decide();
    }
    expect(handedRuns()).toEqual(runIds);
  });

  test('after it happened: the run is not handed out a second time (hazard 14)', async () => {
    const { job } = await withRuns(1);
    await decide();
    const rows = await stage.world.pendingRuns(job);
    breakage.deaf = true;
    await stage.queue.publish(rows);
    await decide();
    breakage.deaf = false;
    for (let i = 0; i < 3; i += 1) {
      await stage.advance(2_500);
      await stage.queue.publish(rows);
      await decide();
    }
    expect(handed).toEqual([]);
    expect(await stage.storage.leases.live(ALL_SHARDS)).toHaveLength(1);
  });
});

test('after a claim, a few runs wait for as long as it took, and then share the next', async () => {
  const { port } = breakable<LeaseStore>(stage.storage.leases);
  const claim = (request: ClaimRequest) => {
    stage.clock.advance(5);
    return port.claim(request);
  };
  const slowly = new Proxy(port, {
    get: (target, name) => (name === 'claim' ? claim : Reflect.get(target, name)),
  });
  dispatcher = new Dispatcher({
    ...stage.common,
    leases: slowly,
    queue: stage.queue,
    link: stage.link,
    signals: stage.signals,
    guard: () => guard,
  });
  const [first, second, third] = [await withRuns(1), await withRuns(1), await withRuns(1)];
  await bring(first.job);
  expect(handedRuns()).toEqual(first.runIds);
  await bring(second.job);
  await bring(third.job);
  expect(handedRuns()).toEqual(first.runIds);
  expect(await dispatcher.runOnce()).toBe(5);
  stage.clock.advance(5);
  await decide();
  expect(handed.map((batch) => batch.runs.length)).toEqual([1, 2]);
});

test('a backlog with few slots free is claimed by one at a time: what frees up meanwhile shares the next', async () => {
  const claims: PromiseWithResolvers<void>[] = [];
  const { port } = breakable<LeaseStore>(stage.storage.leases);
  const held = new Proxy(port, {
    get: (target, name) => {
      if (name !== 'claim') return Reflect.get(target, name);
      return async (request: ClaimRequest) => {
        const gate = Promise.withResolvers<void>();
        claims.push(gate);
        await gate.promise;
        return port.claim(request);
      };
    },
  });
  dispatcher = new Dispatcher({
    ...stage.common,
    leases: held,
    queue: stage.queue,
    link: stage.link,
    signals: stage.signals,
    guard: () => guard,
  });
  worker.slots = 1;
  for (let i = 0; i < 150; i += 1)
    await stage.queue.publish(await stage.world.pendingRuns((await withRuns(1)).job));
  await decide();
  worker.slots = 4;
  await decide();
  expect(claims).toHaveLength(1);
  claims[0]!.resolve();
  await turns();
  await decide();
  claims[1]!.resolve();
  await turns();
  expect(handed.map((batch) => batch.runs.length)).toEqual([1, 3]);
});

test('stopping completes the claims under way and hands them over', async () => {
  const { job, runIds } = await withRuns(1);
  await stage.queue.publish(await stage.world.pendingRuns(job));
  await dispatcher.runOnce();
  await dispatcher.stop();
  expect(handedRuns()).toEqual(runIds);
});

test('started, it wakes by itself when something comes and when slots are free', async () => {
  worker.slots = 1;
  dispatcher.start();
  await turns();
  const [one, other] = [await withRuns(1), await withRuns(1)];
  await stage.queue.publish([
    ...(await stage.world.pendingRuns(one.job)),
    ...(await stage.world.pendingRuns(other.job)),
  ]);
  await turns();
  expect(handedRuns()).toHaveLength(1);
  await finish(handedRuns()[0]!);
  await turns();
  expect(handedRuns()).toHaveLength(1);
  await dispatcher.stop();
});

import type { Job, NodeId, RunId, WorkerId } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { StorageBacklog } from '../backlog/storage-backlog.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import type { ClaimRequest, LeaseStore } from '../storage/lease-store.ts';
import { type Breakage, breakable, RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { TestWorker } from '../testing/test-worker.fixture.ts';
import { Dispatcher } from './dispatcher.ts';

let stage: RoleStage;
let breakage: Breakage;
let dispatcher: Dispatcher;
let worker: TestWorker;
/** Called before each claim reaches the storage. */
let onClaim: (request: ClaimRequest) => Promise<void> | void;

beforeEach(async () => {
  stage = await RoleStage.set();
  onClaim = () => {};
  const { port, ...broken } = breakable<LeaseStore>(stage.storage.leases);
  ({ breakage } = broken);
  const leases: Pick<LeaseStore, 'claim' | 'lanes'> = {
    lanes: (page) => port.lanes(page),
    claim: async (request) => {
      await onClaim(request);
      return port.claim(request);
    },
  };
  const { signals, common, link, storage, world } = stage;
  const backlog = new StorageBacklog({ ...common, leases, signals });
  const { members } = storage;
  dispatcher = new Dispatcher({ ...common, backlog, leases, link, members, signals, nodeId: world.nodeId });
  worker = new TestWorker({ workerId: world.workerId });
  link.attach(worker);
  await turns();
});

async function attach(over: ConstructorParameters<typeof TestWorker>[0]): Promise<TestWorker> {
  const other = new TestWorker(over);
  await stage.world.register(other.workerId);
  stage.link.attach(other);
  return other;
}

/** Inserts one-offs that are due, and announces them. */
async function bring(count: number, job: Partial<Job> = {}): Promise<RunId[]> {
  const { jobs, runIds } = await stage.oneOffs(count, { job });
  stage.announce(jobs);
  return runIds;
}

/** Passes until there is nothing to do now; answers how long that will be so. */
async function untilIdle(): Promise<number> {
  for (let passes = 0; passes < 500; passes += 1) {
    const { claim: claims } = breakage.calls;
    const waitMs = await dispatcher.runOnce();
    await turns();
    // The end of a claim asks for another pass.
    if (waitMs > 0 && breakage.calls.claim === claims) return waitMs;
  }
  return expect.fail('the dispatcher never becomes idle');
}

/** Claims wait until they are let go, one by one. */
function holdClaims(): PromiseWithResolvers<void>[] {
  const gates: PromiseWithResolvers<void>[] = [];
  onClaim = () => gates[gates.push(Promise.withResolvers<void>()) - 1]!.promise;
  return gates;
}

async function takesMs(ms: number): Promise<void> {
  await turns();
  stage.clock.advance(ms);
}

async function finish(runId: RunId, by = worker): Promise<void> {
  const run = by.handed.flatMap((batch) => batch.runs).find((entry) => entry.runId === runId)!;
  by.handed = by.handed.map((batch) => ({ ...batch, runs: batch.runs.filter((entry) => entry !== run) }));
  await stage.world.settle(run, {}, stage.clock.now());
  stage.link.freed();
  await turns();
}

const freeSlots = () => stage.link.workers().map((view) => view.freeSlots);

describe('a run that may start', () => {
  test('is claimed and handed to a worker', async () => {
    await untilIdle();
    const runIds = await bring(1);
    await untilIdle();
    expect(worker.runs).toEqual(runIds);
    const held = await stage.storage.leases.leasedBy([worker.workerId]);
    expect(held).toMatchObject([{ runId: runIds[0], workerId: worker.workerId }]);
  });

  test('is handed out once, however often it is announced', async () => {
    await untilIdle();
    const { jobs, runIds } = await stage.oneOffs(1);
    for (let i = 0; i < 5; i += 1) {
      stage.announce(jobs);
      await untilIdle();
      await stage.advance(100);
    }
    expect(worker.runs).toEqual(runIds);
  });

  test('that nobody announced is found within a second', async () => {
    await untilIdle();
    const { runIds } = await stage.oneOffs(1);
    await untilIdle();
    expect(worker.runs).toEqual([]);
    await stage.advance(1_000);
    await untilIdle();
    expect(worker.runs).toEqual(runIds);
  });

  test('that is gone meanwhile costs nobody a slot', async () => {
    await untilIdle();
    const { jobs } = await stage.oneOffs(1);
    await stage.world.cancelJob(jobs[0]!.jobId);
    stage.announce(jobs);
    await untilIdle();
    expect(worker.runs).toEqual([]);
    expect(freeSlots()).toEqual([10]);
  });

  test('waits in the storage while all slots are taken, and starts with the first that is free', async () => {
    worker.slots = 1;
    await bring(2);
    expect(await untilIdle()).toBe(1_000);
    const [first] = worker.runs;
    expect(worker.runs).toHaveLength(1);
    await finish(first!);
    await stage.advance(10);
    await untilIdle();
    expect(worker.runs).toHaveLength(1);
    expect(worker.runs).not.toContain(first);
  });

  test('waits for a worker that comes later', async () => {
    stage.link.detach(worker);
    const runIds = await bring(3);
    expect(await untilIdle()).toBe(1_000);
    const later = await attach({});
    await untilIdle();
    expect(later.runs.sort()).toEqual(runIds.sort());
  });
});

describe('workers', () => {
  test('get no more than they have free slots', async () => {
    await bring(50);
    await untilIdle();
    await stage.advance(100);
    await untilIdle();
    expect(worker.runs).toHaveLength(10);
    expect(freeSlots()).toEqual([0]);
  });

  test('with the most free slots come first', async () => {
    const large = await attach({ slots: 30 });
    await untilIdle();
    await bring(1);
    await untilIdle();
    expect([worker.runs.length, large.runs.length]).toEqual([0, 1]);
  });

  test('are filled, all of them, when there is enough', async () => {
    const others = [await attach({ slots: 200 }), await attach({ slots: 3 })];
    await bring(1_000);
    for (let i = 0; i < 20; i += 1) {
      await untilIdle();
      await stage.advance(10);
    }
    expect([worker, ...others].map((one) => one.runs.length)).toEqual([10, 200, 3]);
  });

  test('get only what they offer', async () => {
    const gpu = await attach({ handlers: ['gpu'] });
    const [http, other] = [await bring(3), await bring(2, { handler: 'gpu' })];
    await untilIdle();
    expect(worker.runs.sort()).toEqual(http.sort());
    expect(gpu.runs.sort()).toEqual(other.sort());
  });

  test('with fewer free slots are asked when those with more offer nothing that waits', async () => {
    const gpu = await attach({ handlers: ['gpu'], slots: 1 });
    await untilIdle();
    const runIds = await bring(1, { handler: 'gpu' });
    await untilIdle();
    expect(gpu.runs).toEqual(runIds);
  });

  test('without a free slot do not keep the dispatcher busy for what only they offer', async () => {
    await attach({ handlers: ['gpu'], slots: 0 });
    await bring(5, { handler: 'gpu' });
    expect(await untilIdle()).toBeGreaterThanOrEqual(500);
    await bring(1);
    await untilIdle();
    expect(worker.runs).toHaveLength(1);
  });

  test.each(['left', 'connected again'])(
    'that %s while a claim was under way are not handed it, and no slot stays reserved (LEASE-11)',
    async (how) => {
      const free = how === 'left' ? [] : freeSlots();
      const gates = holdClaims();
      await bring(1);
      await dispatcher.runOnce();
      stage.link.detach(worker);
      if (how !== 'left') stage.link.attach(worker);
      gates[0]!.resolve();
      await turns();
      expect(worker.runs).toEqual([]);
      expect(await stage.storage.leases.leasedBy([worker.workerId])).toHaveLength(1);
      expect(freeSlots()).toEqual(free);
    },
  );
});

describe('a handler that no worker here offers (hazard 21)', () => {
  test('makes its run wait, and nothing spins', async () => {
    await bring(3, { handler: 'gpu' });
    expect(await untilIdle()).toBe(1_000);
    expect(breakage.calls.claim).toBeUndefined();
  });

  test('does not stop the others', async () => {
    await bring(100, { handler: 'gpu' });
    const runIds = await bring(1);
    await untilIdle();
    expect(worker.runs).toEqual(runIds);
  });
});

describe('a claim that breaks off', () => {
  test('before it happened: the run is handed out with a later try, and no slot is lost (hazard 28)', async () => {
    await untilIdle();
    const runIds = await bring(1);
    breakage.down = true;
    await dispatcher.runOnce();
    await turns();
    breakage.down = false;
    expect(worker.runs).toEqual([]);
    expect(freeSlots()).toEqual([10]);
    await stage.advance(await untilIdle());
    await untilIdle();
    expect(worker.runs).toEqual(runIds);
  });

  test('is followed by a pause, so that a dead storage is not asked without end', async () => {
    await untilIdle();
    await bring(1);
    onClaim = () => Promise.reject(new Error('the storage is down'));
    expect(await untilIdle()).toBeGreaterThanOrEqual(100);
  });

  test('after it happened: the run is not handed out a second time (hazard 14)', async () => {
    await untilIdle();
    await bring(1);
    breakage.deaf = true;
    await dispatcher.runOnce();
    await turns();
    breakage.deaf = false;
    for (let i = 0; i < 5; i += 1) {
      await stage.advance(1_000);
      await untilIdle();
    }
    expect(worker.runs).toEqual([]);
    expect(freeSlots()).toEqual([10]);
    expect(await stage.storage.leases.leasedBy([worker.workerId])).toHaveLength(1);
  });
});

describe('claims side by side', () => {
  test('are made while there are many free slots, and never promise one twice', async () => {
    worker.slots = 2_500;
    const gates = holdClaims();
    await bring(5_000);
    await untilIdle();
    expect(gates.length).toBeGreaterThan(1);
    expect(freeSlots()).toEqual([0]);
    for (let i = 0; i < 50; i += 1) {
      for (const gate of gates) gate.resolve();
      await turns();
      await stage.advance(10);
      await untilIdle();
    }
    expect(worker.runs).toHaveLength(2_500);
    expect(new Set(worker.runs).size).toBe(2_500);
  });

  test('are at most four, however many slots are free', async () => {
    worker.slots = 100_000;
    const gates = holdClaims();
    await bring(100);
    await untilIdle();
    expect(gates).toHaveLength(4);
    await stage.advance(1_000);
    await untilIdle();
    expect(gates).toHaveLength(4);
  });

  test('are not made for a few slots: what frees up meanwhile shares the next', async () => {
    worker.slots = 1;
    const gates = holdClaims();
    await bring(150);
    await untilIdle();
    worker.slots = 4;
    await untilIdle();
    expect(gates).toHaveLength(1);
    gates[0]!.resolve();
    await turns();
    await untilIdle();
    gates[1]!.resolve();
    await turns();
    expect(worker.handed.map((batch) => batch.runs.length)).toEqual([1, 3]);
  });

  test('that found less than they may are followed by a cooldown as long as they took, and share the next', async () => {
    onClaim = () => takesMs(5);
    await untilIdle();
    const shard = 7;
    await bring(1, { shard });
    await dispatcher.runOnce();
    await turns();
    await turns();
    expect(worker.handed).toHaveLength(1);
    await bring(1, { shard });
    await bring(1, { shard });
    expect(await dispatcher.runOnce()).toBe(5);
    expect(worker.handed).toHaveLength(1);
    await stage.advance(5);
    await dispatcher.runOnce();
    await turns();
    await turns();
    expect(worker.handed.map((batch) => batch.runs.length)).toEqual([1, 2]);
  });

  test('cool down for a bounded time, however slow the storage is', async () => {
    onClaim = () => takesMs(700);
    await untilIdle();
    await bring(1);
    await dispatcher.runOnce();
    await turns();
    await turns();
    await bring(1);
    expect(await dispatcher.runOnce()).toBeLessThanOrEqual(8);
  });
});

describe('several homes of workers', () => {
  test('look at parts of their own first, and at those of the others a moment later', async () => {
    await stage.world.register(newId<WorkerId>(), { nodeId: newId<NodeId>() });
    await untilIdle();
    const shards = [0, 1, 2, 3, 4, 5, 6, 7];
    const runIds = (await Promise.all(shards.map((shard) => bring(1, { shard })))).flat();
    await untilIdle();
    const own = worker.runs.length;
    expect(own).toBeLessThan(8);
    await stage.advance(15);
    await untilIdle();
    expect(worker.runs.sort()).toEqual(runIds.sort());
  });
});

describe('stopping', () => {
  test('completes the claims under way and hands them over', async () => {
    const gates = holdClaims();
    const runIds = await bring(1);
    await dispatcher.runOnce();
    const stopping = dispatcher.stop();
    await turns();
    gates[0]!.resolve();
    await stopping;
    expect(worker.runs).toEqual(runIds);
  });

  test('begins no other claim', async () => {
    await dispatcher.stop();
    await bring(1);
    await dispatcher.runOnce();
    await turns();
    expect(breakage.calls.claim).toBeUndefined();
  });
});

test('started, it wakes by itself when something comes and when slots are free', async () => {
  worker.slots = 1;
  dispatcher.start();
  await turns();
  await bring(2);
  await turns();
  expect(worker.runs).toHaveLength(1);
  await finish(worker.runs[0]!);
  await stage.advance(8);
  expect(worker.runs).toHaveLength(1);
  await dispatcher.stop();
});

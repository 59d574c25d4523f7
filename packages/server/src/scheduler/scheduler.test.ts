import { DEFAULT_MISFIRE, type Job, type PendingRun, PRIORITIES } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { InProcessRunQueue } from '../run-queue/in-process-run-queue.ts';
import type { RunQueue } from '../run-queue/run-queue.ts';
import { MemorySignalBus } from '../signal-bus/memory-signal-bus.ts';
import { sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS, DAY_MS, HOUR_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import { onceRun } from '../storage/conformance/storage-world.ts';
import type { ScheduleStore } from '../storage/schedule-store.ts';
import type { ShardGuard } from '../storage/shard-guard.ts';
import { type Breakage, breakable, RoleStage } from '../testing/role-stage.fixture.ts';
import { Scheduler } from './scheduler.ts';

let stage: RoleStage;
let store: ScheduleStore;
let breakage: Breakage;
let scheduler: Scheduler;

beforeEach(async () => {
  stage = await RoleStage.set();
  ({ port: store, breakage } = breakable<ScheduleStore>(stage.storage.schedule));
  scheduler = create();
});

function create(
  over: { guard?: ShardGuard; queue?: RunQueue; signals?: MemorySignalBus; rowsMax?: number } = {},
) {
  const { guard = stage.world.guard, ...rest } = over;
  return new Scheduler({
    ...stage.common,
    store,
    queue: stage.queue,
    signals: stage.signals,
    windowMs: 5 * MINUTE_MS,
    rowsMax: 50_000,
    guard: () => guard,
    ...rest,
  });
}

/** Passes until nothing is left to do now; answers how long that will be so. */
async function settle(who = scheduler): Promise<number> {
  for (let passes = 0; passes < 200; passes += 1) {
    const waitMs = await who.runOnce();
    if (waitMs > 0) return waitMs;
  }
  return expect.fail('the scheduler never comes to rest');
}

async function at(ms: number): Promise<PendingRun[]> {
  stage.clock.advance(ms - (stage.clock.now() - BASE_MS));
  await settle();
  return published();
}

const published = () => PRIORITIES.flatMap((priority) => stage.queue.take(priority, 10_000));
const nominalsOf = (runs: readonly PendingRun[]) => runs.map((run) => run.nominalAtMs - BASE_MS);

describe('a one-off', () => {
  test('is passed on at its instant, not before, and once', async () => {
    const { runId } = await stage.world.oneOff({ atMs: BASE_MS + 10_000 });
    expect(await at(0)).toEqual([]);
    expect(await at(9_999)).toEqual([]);
    expect(await at(10_000)).toMatchObject([{ runId }]);
    expect(await at(10_001)).toEqual([]);
  });

  test('is what the scheduler waits for, to the millisecond', async () => {
    await stage.world.oneOff({ atMs: BASE_MS + 300 });
    expect(await settle()).toBe(300);
  });
});

describe('a recurring job', () => {
  test('makes a run at each instant, and moves on', async () => {
    const job = await stage.world.recurring();
    expect(nominalsOf(await at(0))).toEqual([0]);
    await stage.world.claim(await stage.world.pendingRuns(job));
    expect(await at(59_999)).toEqual([]);
    expect(nominalsOf(await at(60_000))).toEqual([60_000]);
    expect(await stage.world.cursor(job)).toMatchObject({ nominalAtMs: BASE_MS + 120_000 });
  });

  test('passes on a run that the storage knows by the same id', async () => {
    const job = await stage.world.recurring();
    const [run] = await at(0);
    expect(await stage.world.pendingRuns(job)).toMatchObject([{ runId: run!.runId, nominalAtMs: BASE_MS }]);
  });

  test('fires once though two schedulers hold its cursor (hazard 9)', async () => {
    const job = await stage.world.recurring({ atMs: BASE_MS + 1_000 });
    const other = create();
    await settle();
    await settle(other);
    stage.clock.advance(1_000);
    await Promise.all([scheduler.runOnce(), other.runOnce()]);
    expect(published()).toHaveLength(1);
    expect(await stage.world.pendingRuns(job)).toHaveLength(1);
  });

  test('fires once though the wall clock is set back over its instant (hazard 7)', async () => {
    await stage.world.recurring();
    expect(await at(0)).toHaveLength(1);
    stage.clock.step(-HOUR_MS);
    await settle();
    expect(published()).toEqual([]);
    stage.clock.step(HOUR_MS);
    await settle();
    expect(published()).toEqual([]);
  });

  test('that was edited fires by its new plan only (hazard 11)', async () => {
    const job = await stage.world.recurring({ atMs: BASE_MS + 10_000 });
    await settle();
    const cursor = { fireAtMs: BASE_MS + 30_000, nominalAtMs: BASE_MS + 30_000 };
    await stage.world.change(
      job.jobId,
      { name: 'new' },
      { kind: 'replan', first: { kind: 'cursor', cursor } },
    );
    expect(await at(10_000)).toEqual([]);
    expect(nominalsOf(await at(30_000))).toEqual([30_000]);
  });
});

describe('after an outage', () => {
  test('a job runs once for what it missed, and the rest is on record as skipped (hazard 8)', async () => {
    const job = await stage.world.recurring();
    expect(nominalsOf(await at(HOUR_MS + 30_000))).toEqual([HOUR_MS]);
    const views = await stage.world.runsOf(job.jobId, stage.clock.now());
    const skipped = views.find((view) => view.status === 'SKIPPED');
    expect(skipped).toMatchObject({ reason: 'misfire', occurrences: 60 });
    expect(await stage.world.cursor(job)).toMatchObject({ nominalAtMs: BASE_MS + HOUR_MS + MINUTE_MS });
  });

  test('a job that wants every occurrence gets them in order, as far back as it allows (hazard 8)', async () => {
    await stage.world.recurring({ job: { misfire: { ...DEFAULT_MISFIRE, kind: 'all' } } });
    const minutes = nominalsOf(await at(5 * MINUTE_MS)).map((ms) => ms / MINUTE_MS);
    expect(minutes).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('what was due meanwhile is passed on, however old', async () => {
    const { runId } = await stage.world.oneOff();
    expect(await at(DAY_MS)).toMatchObject([{ runId }]);
  });
});

describe('a crash', () => {
  test('between firing and passing on loses nothing: the next scheduler finds the run (hazard 9)', async () => {
    await stage.world.recurring();
    const [run] = await at(0);
    const successor = create();
    await settle(successor);
    expect(published()).toMatchObject([{ runId: run!.runId }]);
  });

  test('of the storage before it fired costs a pass and no occurrence (hazard 9)', async () => {
    await stage.world.recurring({ atMs: BASE_MS + 500 });
    await settle();
    stage.clock.advance(500);
    breakage.down = true;
    await expect(scheduler.runOnce()).rejects.toThrow();
    expect(breakage.calls).toMatchObject({ fire: 1 });
    breakage.down = false;
    await scheduler.runOnce();
    expect(published()).toHaveLength(1);
  });

  test('of the answer after it fired doubles nothing, and the run is found (hazard 9)', async () => {
    const job = await stage.world.recurring({ atMs: BASE_MS + 500 });
    await settle();
    stage.clock.advance(500);
    breakage.deaf = true;
    await expect(scheduler.runOnce()).rejects.toThrow();
    breakage.deaf = false;
    await settle();
    stage.clock.advance(1_000);
    await settle();
    const runs = new Set(published().map((run) => run.runId));
    expect(runs.size).toBe(1);
    expect(await stage.world.pendingRuns(job)).toHaveLength(1);
  });
});

describe('ownership', () => {
  test('of nothing means to do nothing', async () => {
    await stage.world.oneOff();
    const idle = create({ guard: { nodeId: stage.world.nodeId, epochs: new Map() } });
    expect(await idle.runOnce()).toBeGreaterThan(0);
    expect(published()).toEqual([]);
    expect(breakage.calls).toEqual({});
  });

  test('that was lost without noticing fires nothing (hazard 10)', async () => {
    const job = await stage.world.recurring({ atMs: BASE_MS + 1_000 });
    await settle();
    await stage.world.changeHands();
    stage.clock.advance(1_000);
    await scheduler.runOnce();
    expect(published()).toEqual([]);
    expect(await stage.world.pendingRuns(job)).toEqual([]);
    expect(await stage.world.cursor(job)).toMatchObject({ nominalAtMs: BASE_MS + 1_000 });
  });
});

describe('hints', () => {
  test('bring a new row at once', async () => {
    await settle();
    const { job, runId } = await stage.world.oneOff();
    const rows = (await stage.world.pending(job)).map(({ row }) => row);
    stage.signals.send('due-added', { shards: [job.shard], rows });
    await scheduler.runOnce();
    expect(published()).toMatchObject([{ runId }]);
  });

  test('that tell only the shard make it be looked at again', async () => {
    await settle();
    const { job, runId } = await stage.world.oneOff();
    stage.signals.send('due-added', { shards: [job.shard], rows: [] });
    await settle();
    expect(published()).toMatchObject([{ runId }]);
  });

  test('that are lost cost a second, not the run', async () => {
    await settle();
    const { runId } = await stage.world.oneOff();
    expect(await at(1_000)).toMatchObject([{ runId }]);
  });

  test('about the shards of others are not for us', async () => {
    const mine = new Map([...stage.world.guard.epochs].filter(([shard]) => shard % 2 === 0));
    scheduler = create({
      guard: { nodeId: stage.world.nodeId, epochs: mine },
      signals: new MemorySignalBus(stage.common),
    });
    await settle();
    for (let i = 0; i < 20; i += 1) await stage.world.oneOff();
    await at(1_000).then((runs) => {
      for (const run of runs) expect(run.shard % 2).toBe(0);
    });
  });
});

describe('a pause', () => {
  test('of one job stops that job and no other (hazard 19)', async () => {
    const paused = await stage.world.recurring();
    const other = await stage.world.recurring();
    await stage.world.pause(paused.jobId);
    expect((await at(0)).map((run) => run.jobId)).toEqual([other.jobId]);
  });

  test('that came after the cursor was read is respected (hazard 19)', async () => {
    const job = await stage.world.recurring({ atMs: BASE_MS + 1_000 });
    await settle();
    await stage.world.pause(job.jobId);
    expect(await at(1_000)).toEqual([]);
  });

  test('ends without a flood: what was missed follows the misfire policy (hazard 19)', async () => {
    const job = await stage.world.recurring();
    await stage.world.pause(job.jobId);
    await at(HOUR_MS);
    expect(published()).toEqual([]);
    await stage.world.resume(job.jobId);
    const rows = (await stage.world.pending(job)).map(({ row }) => row);
    stage.signals.send('due-added', { shards: [job.shard], rows });
    expect(nominalsOf(await at(HOUR_MS + 30_000))).toEqual([HOUR_MS]);
  });
});

describe('a midnight herd (hazard 24)', () => {
  async function herd(count: number, over: Partial<Job> = {}): Promise<void> {
    const jobs = Array.from({ length: count }, () => ({
      job: sampleJob(over),
      first: { kind: 'run' as const, run: onceRun(BASE_MS + 1_000) },
      idempotency: undefined,
    }));
    await stage.storage.jobs.insert(jobs);
  }

  test('is passed on whole, each run once', async () => {
    await herd(3_000);
    await settle();
    const runs = await at(1_000);
    expect(runs).toHaveLength(3_000);
    expect(new Set(runs.map((run) => run.runId)).size).toBe(3_000);
  });

  test('waits for room in the queue instead of piling up', async () => {
    await herd(500);
    const queue = new InProcessRunQueue({ capacity: 100 });
    scheduler = create({ queue });
    await settle();
    stage.clock.advance(1_000);
    const seen = new Set<string>();
    for (let passes = 0; passes < 100 && seen.size < 500; passes += 1) {
      await scheduler.runOnce();
      const runs = queue.take('medium', 1_000);
      expect(runs.length).toBeLessThanOrEqual(100);
      for (const run of runs) seen.add(run.runId);
    }
    expect(seen.size).toBe(500);
  });

  test('of low priority that finds its line full does not hold up a run of high priority', async () => {
    await herd(500, { priority: 'low' });
    const queue = new InProcessRunQueue({ capacity: 100 });
    scheduler = create({ queue });
    await settle();
    const { runId } = await stage.world.oneOff({ atMs: BASE_MS + 1_500, job: { priority: 'high' } });
    stage.clock.advance(1_000);
    await settle();
    stage.clock.advance(1_000);
    await settle();
    expect(queue.room('low')).toBe(0);
    expect(queue.take('high', 10)).toMatchObject([{ runId }]);
  });

  test('larger than memory is read on as soon as there is room, without waiting for the next look', async () => {
    await herd(25_000);
    const queue = new InProcessRunQueue({ capacity: 5_000 });
    scheduler = create({ queue });
    stage.clock.advance(1_000);
    expect(await settle()).toBe(5);
    const seen = new Set<string>();
    // The clock stands still: whatever needs time to pass never happens.
    for (let passes = 0; passes < 200 && seen.size < 25_000; passes += 1) {
      await scheduler.runOnce();
      for (const run of queue.take('medium', 5_000)) seen.add(run.runId);
    }
    expect(seen.size).toBe(25_000);
  });

  test('that fills the memory long before its instant does not keep the loop spinning', async () => {
    await herd(2_000, { shard: 7 });
    scheduler = create({ rowsMax: 500 });
    expect(await settle()).toBeGreaterThanOrEqual(500);
    expect(scheduler.held).toBeLessThan(2_000);
  });
});

test('hazard 3: a schedule that cannot be planned here does not keep the others from firing', async () => {
  const broken = await stage.world.recurring();
  const sound = await stage.world.recurring();
  const unknown = { ...broken.schedule, zone: 'Nowhere/Land' } as typeof broken.schedule;
  const { schedule } = stage.storage;
  const spoiled = new Scheduler({
    ...stage.common,
    ...{ queue: stage.queue, signals: stage.signals, windowMs: 5 * MINUTE_MS, rowsMax: 50_000 },
    guard: () => stage.world.guard,
    store: {
      fire: (fires, options) => schedule.fire(fires, options),
      read: async (lanes, options) =>
        (await schedule.read(lanes, options)).map(({ row, place }) =>
          row.kind === 'cursor' && row.jobId === broken.jobId
            ? { row: { ...row, schedule: unknown as typeof row.schedule }, place }
            : { row, place },
        ),
    },
  });
  await settle(spoiled);
  expect(published().map((run) => run.jobId)).toEqual([sound.jobId]);
});

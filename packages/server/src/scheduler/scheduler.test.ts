import { DEFAULT_MISFIRE, type Job, occurrenceRunId } from '@carillon/domain';
import { silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { MemorySignalBus } from '../signal-bus/memory-signal-bus.ts';
import { EVERY_MINUTE, sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS, DAY_MS, HOUR_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import type { ScheduleStore } from '../storage/schedule-store.ts';
import type { RoleStage } from '../testing/role-stage.fixture.ts';
import { nominalsOf, SchedulerStage } from './scheduler-stage.fixture.ts';

let stage: SchedulerStage;
let role: RoleStage;

beforeEach(async () => {
  stage = await SchedulerStage.set();
  ({ role } = stage);
});

/** Recurring jobs in one insert, all due at the instant. */
async function herd(
  count: number,
  { atMs, job: over = {} }: { atMs: number; job?: Partial<Job> },
): Promise<Job[]> {
  const jobs = Array.from({ length: count }, () => sampleJob({ schedule: EVERY_MINUTE, ...over }));
  const first = { kind: 'cursor' as const, cursor: { fireAtMs: atMs, nominalAtMs: atMs } };
  await role.world.house(sampleJob(over));
  await role.storage.jobs.insert(jobs.map((job) => ({ job, first, idempotency: undefined })));
  return jobs;
}

describe('a recurring job', () => {
  test('fires at its instant, not before, and once', async () => {
    const job = await role.world.recurring({ atMs: BASE_MS + 10_000 });
    expect(await stage.at(0)).toEqual([]);
    expect(await stage.at(9_999)).toEqual([]);
    expect(await stage.at(10_000)).toMatchObject([{ jobId: job.jobId, nominalAtMs: BASE_MS + 10_000 }]);
    expect(await stage.at(10_001)).toEqual([]);
  });

  test('is what the scheduler waits for, to the millisecond', async () => {
    await role.world.recurring({ atMs: BASE_MS + 300 });
    expect(await stage.rest()).toBe(300);
  });

  test('makes a run at each instant, and moves on', async () => {
    const job = await role.world.recurring();
    for (const minute of [0, 1, 2]) {
      const runs = await stage.at(minute * MINUTE_MS);
      expect(nominalsOf(runs)).toEqual([minute * MINUTE_MS]);
      await stage.finish(runs[0]!);
    }
    expect(await role.world.cursor(job)).toMatchObject({ nominalAtMs: BASE_MS + 3 * MINUTE_MS });
  });

  test('tells which lanes have something to claim', async () => {
    const opened = stage.sent('runs-open');
    const job = await role.world.recurring();
    await stage.rest();
    expect(opened).toMatchObject([{ lanes: [{ priority: job.priority, atMs: BASE_MS }] }]);
  });

  test('gives its runs ids that follow from job and instant, the same after a restore', async () => {
    const job = await role.world.recurring();
    const [run] = await stage.at(0);
    expect(run!.runId).toBe(occurrenceRunId(job.jobId, BASE_MS));
    const restored = await SchedulerStage.set();
    await restored.role.world.recurring({ job: { jobId: job.jobId } });
    expect((await restored.at(90_000)).map(({ runId }) => runId)).toEqual([
      occurrenceRunId(job.jobId, BASE_MS + MINUTE_MS),
    ]);
    expect(await restored.runsOf(job.jobId)).toMatchObject([
      expect.anything(),
      { runId: run!.runId, status: 'SKIPPED' },
    ]);
  });

  test('fires once though two schedulers hold its cursor (hazard 9)', async () => {
    const job = await role.world.recurring({ atMs: BASE_MS + 1_000 });
    const other = stage.create();
    await stage.rest();
    await stage.rest(other);
    role.clock.advance(1_000);
    await Promise.all([stage.scheduler.runOnce(), other.runOnce()]);
    expect(await role.world.pendingRuns(job)).toHaveLength(1);
    expect(await stage.take()).toHaveLength(1);
  });

  test('fires once though the wall clock is set back over its instant (hazard 7)', async () => {
    await role.world.recurring();
    expect(await stage.at(0)).toHaveLength(1);
    role.clock.step(-HOUR_MS);
    await stage.rest();
    expect(await stage.take()).toEqual([]);
    role.clock.step(HOUR_MS);
    await stage.rest();
    expect(await stage.take()).toEqual([]);
  });

  test('that was edited fires by its new plan only (hazard 11)', async () => {
    const job = await role.world.recurring({ atMs: BASE_MS + 10_000 });
    await stage.rest();
    const cursor = { fireAtMs: BASE_MS + 30_000, nominalAtMs: BASE_MS + 30_000 };
    await role.world.change(
      job.jobId,
      { name: 'new' },
      { kind: 'replan', first: { kind: 'cursor', cursor } },
    );
    expect(await stage.at(10_000)).toEqual([]);
    expect(nominalsOf(await stage.at(30_000))).toEqual([30_000]);
  });

  test('that was edited without a hint and kept its plan fires on time, once (hazard 11)', async () => {
    const job = await role.world.recurring({ atMs: BASE_MS + 10_000 });
    await stage.rest();
    await role.world.change(job.jobId, { name: 'new' }, { kind: 'keep' });
    for (let ms = 0; ms < 10_000; ms += 1_000) expect(await stage.at(ms)).toEqual([]);
    expect(await stage.at(10_000)).toHaveLength(1);
    expect(await stage.at(11_000)).toEqual([]);
  });

  test('whose schedule has ended is over with its last run', async () => {
    const schedule = { ...EVERY_MINUTE, endMs: BASE_MS + 30_000 };
    const job = await role.world.recurring({ job: { schedule } });
    const [run] = await stage.at(0);
    expect(await role.world.cursor(job)).toBeUndefined();
    await stage.finish(run!);
    expect(await role.world.statusOf(job.jobId)).toBe('COMPLETED');
  });
});

describe('after an outage', () => {
  test('a job runs once for what it missed, and the rest is on record as skipped (hazard 8)', async () => {
    const events = stage.sent('events-recorded');
    const job = await role.world.recurring();
    expect(nominalsOf(await stage.at(HOUR_MS + 30_000))).toEqual([HOUR_MS]);
    const skipped = (await stage.runsOf(job.jobId)).find((view) => view.status === 'SKIPPED');
    expect(skipped).toMatchObject({ reason: 'misfire', occurrences: 60 });
    expect(await role.world.cursor(job)).toMatchObject({ nominalAtMs: BASE_MS + HOUR_MS + MINUTE_MS });
    expect(events).toHaveLength(1);
  });

  test('a job that wants every occurrence gets them, as far back as it allows (hazard 8)', async () => {
    const misfire = { ...DEFAULT_MISFIRE, kind: 'all' as const };
    await role.world.recurring({ job: { misfire, maxConcurrency: 100 } });
    const minutes = nominalsOf(await stage.at(5 * MINUTE_MS)).map((ms) => ms / MINUTE_MS);
    expect(minutes.sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('many that want every occurrence are fired in batches of bounded size, each once', async () => {
    const misfire = { ...DEFAULT_MISFIRE, kind: 'all' as const, maxRuns: 1_000 };
    await herd(10, { atMs: BASE_MS, job: { misfire, maxConcurrency: 1_000 } });
    const runs = await stage.at(500 * MINUTE_MS);
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(10 * 501);
    expect(stage.breakage.calls.fire).toBeGreaterThan(1);
  });

  test('what was due meanwhile fires, however old', async () => {
    const job = await role.world.recurring();
    expect((await stage.at(30 * DAY_MS)).map(({ jobId }) => jobId)).toEqual([job.jobId]);
  });
});

describe('a crash', () => {
  test('of the storage before it fired costs a pass and no occurrence (hazard 9)', async () => {
    await role.world.recurring({ atMs: BASE_MS + 500 });
    await stage.rest();
    role.clock.advance(500);
    stage.breakage.down = true;
    await expect(stage.scheduler.runOnce()).rejects.toThrow();
    expect(stage.breakage.calls).toMatchObject({ fire: 1 });
    stage.breakage.down = false;
    await stage.scheduler.runOnce();
    expect(await stage.take()).toHaveLength(1);
  });

  test('of the answer after it fired doubles nothing, and the next occurrence comes on time (hazard 9)', async () => {
    const job = await role.world.recurring({ atMs: BASE_MS + 500, job: { maxConcurrency: 5 } });
    await stage.rest();
    role.clock.advance(500);
    stage.breakage.deaf = true;
    await expect(stage.scheduler.runOnce()).rejects.toThrow();
    stage.breakage.deaf = false;
    expect(await stage.at(500)).toHaveLength(1);
    expect(await stage.at(MINUTE_MS - 1)).toEqual([]);
    expect(nominalsOf(await stage.at(MINUTE_MS))).toEqual([MINUTE_MS]);
    expect(await role.world.living(job.jobId)).toHaveLength(2);
  });
});

describe('ownership', () => {
  test('of nothing means to do nothing', async () => {
    await role.world.recurring();
    const idle = stage.create({ guard: () => ({ nodeId: role.world.nodeId, epochs: new Map() }) });
    expect(await idle.runOnce()).toBeGreaterThan(0);
    expect(await stage.take()).toEqual([]);
    expect(stage.breakage.calls).toEqual({});
  });

  test('that was lost without noticing fires nothing (hazard 10)', async () => {
    const job = await role.world.recurring({ atMs: BASE_MS + 1_000 });
    await stage.rest();
    const successor = await role.world.changeHands();
    expect(await stage.at(1_000)).toEqual([]);
    expect(await role.world.cursor(job)).toMatchObject({ nominalAtMs: BASE_MS + 1_000 });
    await stage.rest(stage.create({ guard: () => successor }));
    expect(await stage.take()).toHaveLength(1);
  });

  test('of some shards leaves the others alone, also when somebody tells of them', async () => {
    const mine = new Map([...role.world.guard.epochs].filter(([shard]) => shard % 2 === 0));
    const half = stage.create({ guard: () => ({ nodeId: role.world.nodeId, epochs: mine }) });
    await stage.rest(half);
    const jobs = await herd(40, { atMs: BASE_MS });
    role.signals.send('shards-due', { shards: jobs.map(({ shard }) => ({ shard, atMs: BASE_MS })) });
    await stage.rest(half);
    const fired = new Set((await stage.take()).map(({ jobId }) => jobId));
    for (const job of jobs) expect(fired.has(job.jobId)).toBe(job.shard % 2 === 0);
  });
});

describe('hints', () => {
  test('bring a new cursor at once', async () => {
    await stage.rest();
    const { shard } = await role.world.recurring();
    role.signals.send('shards-due', { shards: [{ shard, atMs: BASE_MS }] });
    await stage.rest();
    expect(await stage.take()).toHaveLength(1);
  });

  test('that say nothing more make everything of the last seconds be looked at again', async () => {
    await stage.rest();
    await role.world.recurring();
    role.signals.send('shards-due', { shards: [] });
    await stage.rest();
    expect(await stage.take()).toHaveLength(1);
  });

  test('that are lost cost a second, not the run', async () => {
    await stage.rest();
    await role.world.recurring();
    expect(await stage.at(1_000)).toHaveLength(1);
  });

  test('that are lost with a commit that took long cost a minute', async () => {
    await stage.rest();
    await role.world.recurring({ atMs: BASE_MS - MINUTE_MS });
    await stage.at(59_000);
    expect(await stage.at(60_000)).toHaveLength(1);
  });

  test('are heard no more after it was stopped', async () => {
    await stage.rest();
    await stage.scheduler.stop();
    const job = await role.world.recurring();
    role.signals.send('shards-due', { shards: [{ shard: job.shard, atMs: BASE_MS }] });
    expect(await stage.scheduler.runOnce()).toBeGreaterThan(0);
    expect(await stage.take()).toEqual([]);
  });
});

describe('a pause', () => {
  test('of one job stops that job and no other (hazard 19)', async () => {
    const [paused, other] = [await role.world.recurring(), await role.world.recurring()];
    await role.world.pause(paused.jobId);
    expect((await stage.at(0)).map((run) => run.jobId)).toEqual([other.jobId]);
  });

  test('that came after the cursor was read is respected (hazard 19)', async () => {
    const job = await role.world.recurring({ atMs: BASE_MS + 1_000 });
    await stage.rest();
    await role.world.pause(job.jobId);
    expect(await stage.at(1_000)).toEqual([]);
  });

  test('ends without a flood: what fell into it is on record as skipped (hazard 19)', async () => {
    const job = await role.world.recurring();
    await role.world.pause(job.jobId);
    expect(await stage.at(HOUR_MS + 30_000)).toEqual([]);
    await role.world.change(job.jobId, { status: 'SCHEDULED' }, { kind: 'release' }, role.clock.now());
    role.signals.send('shards-due', { shards: [{ shard: job.shard, atMs: role.clock.now() }] });
    expect(await stage.at(HOUR_MS + 30_000)).toEqual([]);
    expect(await stage.runsOf(job.jobId)).toMatchObject([
      { status: 'SKIPPED', reason: 'paused', occurrences: 61 },
    ]);
    expect(nominalsOf(await stage.at(HOUR_MS + MINUTE_MS))).toEqual([HOUR_MS + MINUTE_MS]);
  });
});

describe('a midnight herd (hazard 24)', () => {
  test('is fired whole at its instant, each job once', async () => {
    await herd(5_000, { atMs: BASE_MS + 1_000 });
    await stage.rest();
    const runs = await stage.at(1_000);
    expect(new Set(runs.map((run) => run.jobId)).size).toBe(5_000);
    expect(runs).toHaveLength(5_000);
  });

  test('larger than memory is read on as soon as there is room, without time passing', async () => {
    stage = await SchedulerStage.set({ rowsPerShard: 20 });
    ({ role } = stage);
    await herd(5_000, { atMs: BASE_MS + 1_000 });
    await stage.rest();
    expect(stage.scheduler.rowsAhead).toBeLessThanOrEqual(64 * 40);
    expect(await stage.at(1_000)).toHaveLength(5_000);
  });

  test('that fills the memory long before its instant does not keep the loop spinning', async () => {
    stage = await SchedulerStage.set({ rowsPerShard: 20 });
    ({ role } = stage);
    await herd(500, { atMs: BASE_MS + MINUTE_MS, job: { shard: 7 } });
    expect(await stage.rest()).toBeGreaterThanOrEqual(500);
    expect(stage.scheduler.rowsAhead).toBeLessThan(500);
  });

  test('of runs that wait to be executed holds up no cursor: it fires in one pass (hazard 38)', async () => {
    await role.oneOffs(100_000, { job: { priority: 'low' } });
    await stage.rest();
    const job = await role.world.recurring({ atMs: BASE_MS + 500, job: { priority: 'high' } });
    role.signals.send('shards-due', { shards: [{ shard: job.shard, atMs: BASE_MS + 500 }] });
    await stage.rest();
    expect(stage.scheduler.rowsAhead).toBe(1);
    role.clock.advance(500);
    await stage.scheduler.runOnce();
    expect(await role.world.pendingRuns(job)).toMatchObject([{ state: 'open' }]);
  });
});

test('hazard 3: a schedule that cannot be planned does not keep the others from firing, and is told', async () => {
  const [broken, sound] = [await role.world.recurring(), await role.world.recurring()];
  const unknown = { ...EVERY_MINUTE, zone: 'Nowhere/Land' };
  const readCursors: ScheduleStore['readCursors'] = async (...args) => {
    const cursors = await stage.store.readCursors(...args);
    return cursors.map((cursor) =>
      cursor.jobId === broken.jobId ? { ...cursor, schedule: unknown } : cursor,
    );
  };
  const store = new Proxy(stage.store, {
    get: (target, name) => (name === 'readCursors' ? readCursors : Reflect.get(target, name)),
  });
  await stage.rest(stage.create({ store, signals: new MemorySignalBus({ log: silentLog }) }));
  expect((await stage.take()).map((run) => run.jobId)).toEqual([sound.jobId]);
  expect(stage.errors).toMatchObject([{ jobId: broken.jobId }]);
});

test('started, it fires by itself, and wakes for a hint', async () => {
  stage.scheduler.start();
  await role.advance(0);
  const job = await role.world.recurring({ atMs: BASE_MS + 40 });
  role.signals.send('shards-due', { shards: [{ shard: job.shard, atMs: BASE_MS + 40 }] });
  await role.advance(0);
  await role.advance(40);
  expect(await stage.take()).toHaveLength(1);
  await stage.scheduler.stop();
});

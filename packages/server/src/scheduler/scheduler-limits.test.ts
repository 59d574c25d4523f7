import type { Job } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import { manualRun, onceRun } from '../storage/conformance/storage-world.ts';
import type { ScheduleStore } from '../storage/schedule-store.ts';
import type { RoleStage } from '../testing/role-stage.fixture.ts';
import { Reconciler } from './reconciler.ts';
import { nominalsOf, SchedulerStage } from './scheduler-stage.fixture.ts';

let stage: SchedulerStage;
let role: RoleStage;

beforeEach(async () => {
  stage = await SchedulerStage.set();
  ({ role } = stage);
});

function reconciler(): Reconciler {
  const { scheduler, store } = stage;
  const { common, signals, world } = role;
  return new Reconciler({ ...common, store, scheduler, signals, guard: () => world.guard });
}

const recurring = (over: Partial<Job> = {}) => role.world.recurring({ job: over });
const again = (atMs: number) => ({ next: { kind: 'again', atMs, attempt: 2, crashes: 0 } }) as const;

describe('an occurrence that overlaps', () => {
  test('waits where the job queues, and starts when the one before it has ended (hazard 12)', async () => {
    await recurring({ overlap: 'queue' });
    const [first] = await stage.at(0);
    expect(await stage.at(MINUTE_MS)).toEqual([]);
    expect(await stage.at(2 * MINUTE_MS)).toEqual([]);
    await stage.finish(first!);
    const second = await stage.at(2 * MINUTE_MS);
    expect(nominalsOf(second)).toEqual([MINUTE_MS]);
    await stage.finish(second[0]!);
    expect(nominalsOf(await stage.at(2 * MINUTE_MS))).toEqual([2 * MINUTE_MS]);
  });

  test('is as many as the job allows at a time, and no more', async () => {
    await recurring({ maxConcurrency: 2 });
    const alive = [...(await stage.at(0)), ...(await stage.at(MINUTE_MS))];
    expect(alive).toHaveLength(2);
    expect(await stage.at(2 * MINUTE_MS)).toEqual([]);
    await stage.finish(alive[1]!);
    expect(await stage.at(2 * MINUTE_MS)).toHaveLength(1);
  });

  test('is skipped where the job says so, with a verdict on record that readers hear of', async () => {
    const job = await recurring({ overlap: 'skip' });
    const [first] = await stage.at(0);
    const events = stage.sent('events-recorded');
    expect(await stage.at(MINUTE_MS)).toEqual([]);
    expect(events).toHaveLength(1);
    expect(await stage.runsOf(job.jobId)).toContainEqual(
      expect.objectContaining({ scheduledAtMs: BASE_MS + MINUTE_MS, status: 'SKIPPED', reason: 'overlap' }),
    );
    await stage.finish(first!);
    expect(nominalsOf(await stage.at(2 * MINUTE_MS))).toEqual([2 * MINUTE_MS]);
  });

  test('replaces: the oldest is asked to stop, and only the newest waits for its slot (hazard 18)', async () => {
    const job = await recurring({ overlap: 'replace' });
    const [first] = await stage.at(0);
    await stage.at(MINUTE_MS);
    expect(stage.stopAsked).toEqual([first!.runId]);
    await stage.at(2 * MINUTE_MS);
    expect(await role.world.pendingRuns(job)).toMatchObject([{ nominalAtMs: BASE_MS + 2 * MINUTE_MS }]);
    expect(await stage.runsOf(job.jobId)).toContainEqual(
      expect.objectContaining({ scheduledAtMs: BASE_MS + MINUTE_MS, status: 'SKIPPED', reason: 'replaced' }),
    );
    await stage.finish(first!, { status: 'CANCELLED' });
    expect(nominalsOf(await stage.at(2 * MINUTE_MS))).toEqual([2 * MINUTE_MS]);
  });

  test('replaces also the one that may start and was not taken yet', async () => {
    const job = await recurring({ overlap: 'replace' });
    await stage.rest();
    role.clock.advance(MINUTE_MS);
    await stage.rest();
    expect(nominalsOf(await stage.take())).toEqual([MINUTE_MS]);
    expect(await stage.runsOf(job.jobId)).toContainEqual(
      expect.objectContaining({ scheduledAtMs: BASE_MS, status: 'SKIPPED', reason: 'replaced' }),
    );
  });
});

describe('run-now', () => {
  test('starts at once when the job has a free slot, announced to those who claim', async () => {
    const job = await role.world.recurring({ atMs: BASE_MS + MINUTE_MS });
    await stage.rest();
    const opened = stage.sent('runs-open');
    const runId = await stage.runNow(job);
    expect((await stage.at(0)).map((run) => run.runId)).toEqual([runId]);
    expect(opened).toHaveLength(1);
  });

  test('waits behind the limit of its job, and starts when a slot is free', async () => {
    const job = await recurring();
    const [first] = await stage.at(0);
    const runId = await stage.runNow(job);
    expect(await stage.at(0)).toEqual([]);
    await stage.finish(first!);
    expect((await stage.at(0)).map((run) => run.runId)).toEqual([runId]);
  });

  test('of a paused job starts', async () => {
    const job = await recurring();
    await role.world.pause(job.jobId);
    const runId = await stage.runNow(job);
    expect((await stage.at(0)).map((run) => run.runId)).toEqual([runId]);
  });

  test('of which nobody told starts within a second', async () => {
    const job = await role.world.recurring({ atMs: BASE_MS + MINUTE_MS });
    await stage.rest();
    await stage.runNow(job, { told: false });
    expect(await stage.at(1_000)).toHaveLength(1);
  });

  test('of a one-off keeps the limit together with its only run', async () => {
    const { job, runId } = await role.world.oneOff();
    const other = await stage.runNow(job);
    const [first] = await stage.at(0);
    expect([runId, other]).toContain(first!.runId);
    expect(await stage.at(0)).toEqual([]);
    await stage.finish(first!);
    const [second] = await stage.at(0);
    expect([first!.runId, second!.runId].sort()).toEqual([runId, other].sort());
  });

  test('of thousands in one shard are all let in, without time passing', async () => {
    stage = await SchedulerStage.set({ rowsPerShard: 700 });
    ({ role } = stage);
    const jobs = Array.from({ length: 3_000 }, () => sampleJob({ shard: 7 }));
    await role.world.house(jobs[0]!);
    await role.storage.jobs.insert(
      jobs.map((job) => ({
        job,
        first: { kind: 'run', run: onceRun(BASE_MS + MINUTE_MS) },
        idempotency: undefined,
      })),
    );
    for (const { jobId } of jobs) await role.storage.jobs.enqueue(jobId, manualRun(BASE_MS - MINUTE_MS));
    await stage.rest();
    expect(await stage.take()).toHaveLength(3_000);
  });
});

describe('a run that is tried again', () => {
  test('asks for a slot at its instant, and not before', async () => {
    await recurring({ maxConcurrency: 5 });
    const [first] = await stage.at(0);
    await stage.finish(first!, { status: 'FAILED', ...again(BASE_MS + 10_000) });
    expect(await stage.at(9_999)).toEqual([]);
    expect(await stage.at(10_000)).toMatchObject([{ runId: first!.runId, attempt: 2, epoch: 2 }]);
  });

  test('gives up its slot while it waits: another run of its job takes it', async () => {
    const job = await recurring();
    const [first] = await stage.at(0);
    await stage.finish(first!, { status: 'FAILED', ...again(BASE_MS + 10_000) });
    const runId = await stage.runNow(job);
    const [manual] = await stage.at(5_000);
    expect(manual!.runId).toBe(runId);
    expect(await stage.at(10_000)).toEqual([]);
    await stage.finish(manual!);
    expect(await stage.at(10_000)).toMatchObject([{ runId: first!.runId, attempt: 2 }]);
  });

  test('is let in though nobody told that it waits', async () => {
    await recurring();
    const [first] = await stage.at(0);
    await stage.finish(first!, { told: false, status: 'FAILED', ...again(BASE_MS + 5_000) });
    await stage.at(4_000);
    expect(await stage.at(5_000)).toMatchObject([{ runId: first!.runId, attempt: 2 }]);
  });
});

describe('a slot that became free', () => {
  test('of which nobody told is found by the reconciler (hazard 13)', async () => {
    await recurring();
    const [first] = await stage.at(0);
    await stage.at(MINUTE_MS);
    // Once more after a moment, in case both happened at the same time.
    await stage.at(MINUTE_MS + 100);
    await stage.finish(first!, { told: false });
    expect(await stage.at(MINUTE_MS + 500)).toEqual([]);
    await reconciler().runOnce();
    expect(nominalsOf(await stage.at(MINUTE_MS + 500))).toEqual([MINUTE_MS]);
  });

  test('in the very moment in which another run was left waiting is found a moment later', async () => {
    const job = await recurring();
    const [first] = await stage.at(0);
    role.clock.advance(MINUTE_MS);
    await stage.rest();
    await stage.finish(first!, { told: false });
    expect(await stage.at(MINUTE_MS)).toEqual([]);
    expect(await stage.rest()).toBeLessThanOrEqual(50);
    expect(await stage.at(MINUTE_MS + 50)).toMatchObject([{ jobId: job.jobId }]);
  });

  test('of a job of another owner is none of its business', async () => {
    const mine = new Map([...role.world.guard.epochs].filter(([shard]) => shard % 2 === 0));
    const half = stage.create({ guard: () => ({ nodeId: role.world.nodeId, epochs: mine }) });
    await stage.rest(half);
    const job = await recurring({ jobId: jobIdIn((shard) => shard % 2 === 1) });
    half.admitSoon([job.jobId]);
    await stage.rest(half);
    expect(stage.breakage.calls.admit).toBeUndefined();
  });

  test('is not lost when the storage fails while it is given', async () => {
    const job = await recurring();
    const [first] = await stage.at(0);
    await stage.at(MINUTE_MS);
    await stage.finish(first!);
    stage.breakage.down = true;
    await expect(stage.scheduler.runOnce()).rejects.toThrow();
    stage.breakage.down = false;
    expect(await stage.at(MINUTE_MS)).toMatchObject([{ jobId: job.jobId }]);
  });
});

function jobIdIn(isWanted: (shard: number) => boolean): Job['jobId'] {
  for (let job = sampleJob(); ; job = sampleJob()) if (isWanted(job.shard)) return job.jobId;
}

test('a job of which nothing can be let in holds up no other, and is asked about again', async () => {
  const [bad, ...others] = await Promise.all(Array.from({ length: 5 }, () => recurring()));
  let isBad = true;
  const store: ScheduleStore = new Proxy(stage.store, {
    get(target, name) {
      const method = Reflect.get(target, name, target) as (...args: unknown[]) => unknown;
      if (name !== 'admit') return method.bind(target);
      return async (...args: Parameters<ScheduleStore['admit']>) => {
        if (isBad && args[0].includes(bad!.jobId)) throw new Error('odd');
        return target.admit(...args);
      };
    },
  });
  const scheduler = stage.create({ store });
  for (const job of [bad!, ...others]) await stage.runNow(job);
  await stage.rest(scheduler);
  expect((await stage.take()).map(({ jobId }) => jobId)).not.toContain(bad!.jobId);
  expect(stage.errors).toHaveLength(1);
  isBad = false;
  role.clock.advance(MINUTE_MS);
  await stage.rest(scheduler);
  expect((await stage.take()).map(({ jobId }) => jobId)).toContain(bad!.jobId);
});

test('more runs than one admission lets in are all let in at once', async () => {
  const job = await recurring({ maxConcurrency: 1_000, overlap: 'queue' });
  const others = await Promise.all(Array.from({ length: 400 }, () => recurring()));
  for (let i = 0; i < 50; i += 1) await stage.runNow(job, { told: false });
  for (const other of others) await stage.runNow(other, { told: false });
  await stage.rest();
  const taken = (await stage.take()).filter(({ jobId }) => jobId === job.jobId);
  // And the occurrence of its schedule.
  expect(taken).toHaveLength(51);
});

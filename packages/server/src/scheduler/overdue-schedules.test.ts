/** Schedules that are long overdue, after an outage: what stands in their way costs them time, and never the schedule itself. */
import type { Job, JobId } from '@carillon/domain';
import { describe, expect, test } from 'vitest';
import { EVERY_MINUTE, sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS, HOUR_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import type { Fire, ScheduleStore } from '../storage/schedule-store.ts';
import { StorageTimeout } from '../storage/storage.ts';
import { SchedulerStage } from './scheduler-stage.fixture.ts';

/** The store, with something that happens before it fires. */
function before(store: ScheduleStore, act: (fires: readonly Fire[]) => unknown): ScheduleStore {
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(target, name, target) as (...args: unknown[]) => unknown;
      if (name !== 'fire') return method.bind(target);
      return async (...args: Parameters<ScheduleStore['fire']>) => {
        await act(args[0]);
        return target.fire(...args);
      };
    },
  });
}

describe.each([30 * MINUTE_MS, 2 * HOUR_MS])('a schedule that is overdue by %d ms', (overdueMs) => {
  const dueMs = BASE_MS - overdueMs;

  /** Lets minutes pass until none of the jobs waits at its overdue instant; answers those that still do. */
  async function unfired(
    stage: SchedulerStage,
    { scheduler, jobs }: { scheduler: SchedulerStage['scheduler']; jobs: readonly Job[] },
  ): Promise<JobId[]> {
    let left: JobId[] = [];
    for (let minutes = 0; minutes < 15; minutes += 1) {
      await stage.rest(scheduler);
      const cursors = await Promise.all(
        jobs.map(async (job) => ({ jobId: job.jobId, cursor: await stage.role.world.cursor(job) })),
      );
      left = cursors.filter(({ cursor }) => cursor?.nominalAtMs === dueMs).map(({ jobId }) => jobId);
      if (left.length === 0) break;
      stage.role.clock.advance(MINUTE_MS);
    }
    return left;
  }

  test('and cannot be fired once is fired later', async () => {
    const stage = await SchedulerStage.set();
    let isBroken = true;
    const store = before(stage.store, () => {
      if (isBroken) throw new Error('odd');
    });
    const scheduler = stage.create({ store });
    const job = await stage.role.world.recurring({ atMs: dueMs });
    await stage.rest(scheduler);
    isBroken = false;
    expect(await unfired(stage, { scheduler, jobs: [job] })).toEqual([]);
    expect(stage.errors).toHaveLength(1);
  });

  test('and takes too long stands alone: the others are fired, and it is tried again', async () => {
    const stage = await SchedulerStage.set();
    // So few that the slow one is found before the scheduler gives up for now, wherever it stands among them.
    const [slow, ...others] = await Promise.all(
      Array.from({ length: 8 }, () => stage.role.world.recurring({ atMs: dueMs })),
    );
    let isSlow = true;
    const store = before(stage.store, (fires) => {
      if (isSlow && fires.some(({ cursor }) => cursor.jobId === slow!.jobId))
        throw new StorageTimeout('slow');
    });
    const scheduler = stage.create({ store });
    await stage.rest(scheduler);
    expect(await unfired(stage, { scheduler, jobs: others })).toEqual([]);
    isSlow = false;
    expect(await unfired(stage, { scheduler, jobs: [slow!] })).toEqual([]);
  });

  test('and whose storage took too long once is fired a second later', async () => {
    const stage = await SchedulerStage.set();
    let isSlow = true;
    const store = before(stage.store, () => {
      if (isSlow) throw new StorageTimeout('slow');
    });
    const scheduler = stage.create({ store });
    const job = await stage.role.world.recurring({ atMs: dueMs });
    await stage.rest(scheduler);
    isSlow = false;
    stage.role.clock.advance(1_000);
    await stage.rest(scheduler);
    expect((await stage.role.world.cursor(job))?.nominalAtMs).toBeGreaterThan(dueMs);
  });

  test('and is edited at that moment, without a hint, is fired by its new version', async () => {
    const stage = await SchedulerStage.set();
    const { world, storage } = stage.role;
    const jobs = Array.from({ length: 1_500 }, () => sampleJob({ schedule: EVERY_MINUTE }));
    await world.house(jobs[0]!);
    const first = { kind: 'cursor' as const, cursor: { fireAtMs: dueMs, nominalAtMs: dueMs } };
    await storage.jobs.insert(jobs.map((job) => ({ job, first, idempotency: undefined })));
    const edited: JobId[] = [];
    const store = before(stage.store, async (fires) => {
      // In two batches, one right after the other.
      if (edited.length === 2) return;
      const { jobId } = fires[0]!.cursor;
      edited.push(jobId);
      await world.change(jobId, { name: 'edited' }, { kind: 'keep' });
    });
    const scheduler = stage.create({ store });
    expect(await unfired(stage, { scheduler, jobs })).toEqual([]);
    expect(edited).toHaveLength(2);
  });

  test('and of which nobody told is found', async () => {
    const stage = await SchedulerStage.set();
    await stage.rest();
    const job = await stage.role.world.recurring({ atMs: dueMs });
    expect(await unfired(stage, { scheduler: stage.scheduler, jobs: [job] })).toEqual([]);
  });
});

/** Firing: a compare-and-set on the cursor, with all that follows from it, exactly once or not at all. */
import type { NodeId, RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import type { Fire, ShardGuard } from '../schedule-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { plainFire, useStorageWorld } from './storage-world.ts';

export function describeScheduleFire(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const range = (count: number, reason: 'misfire' | 'paused' = 'misfire') => ({
    ...{ runId: newId<RunId>(), reason, count, exact: true },
    ...{ fromMs: BASE_MS, toMs: BASE_MS + (count - 1) * MINUTE_MS },
  });

  const fired = async (fires: readonly Fire[], guard: ShardGuard) =>
    (await stage.world.storage.schedule.fire(fires, { guard, nowMs: BASE_MS })).jobIds;

  it('makes the run due at once, with the terms of the job, and moves the cursor', async () => {
    const { world } = stage;
    const job = await world.recurring({
      job: { priority: 'high', handler: 'script', maxConcurrency: 4, overlap: 'skip' },
    });
    const next = { nominalAtMs: BASE_MS + MINUTE_MS, fireAtMs: BASE_MS + MINUTE_MS + 13 };
    const { fired, runIds } = await world.fire(job, { next }, BASE_MS + 250);
    expect(fired).toBe(true);
    expect(await world.cursor(job)).toMatchObject({ ...next, jobVersion: 1 });
    expect(await world.pendingRuns(job)).toEqual([
      {
        ...{ jobId: job.jobId, runId: runIds[0], shard: job.shard, priority: 'high', handler: 'script' },
        ...{ fireAtMs: BASE_MS + 250, nominalAtMs: BASE_MS, trigger: 'schedule', attempt: 1 },
        ...{ expiresAtMs: undefined, state: 'open', held: false },
      },
    ]);
  });

  it('several missed occurrences run in one fire, each with its own nominal instant', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const runs = [0, 1, 2].map((i) => ({ runId: newId<RunId>(), nominalAtMs: BASE_MS + i * MINUTE_MS }));
    await world.fire(job, { runs, next: { nominalAtMs: BASE_MS + HOUR_MS, fireAtMs: BASE_MS + HOUR_MS } });
    const pending = await world.pendingRuns(job);
    expect(pending.map(({ runId, nominalAtMs }) => ({ runId, nominalAtMs }))).toEqual(runs);
    expect((await world.storage.jobs.getForChange(job.jobId))?.lastNominalMs).toBe(BASE_MS + 2 * MINUTE_MS);
  });

  it('a skipped range leaves one verdict that stands for all of it', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const skip = range(40);
    await world.fire(job, { runs: [], skipped: [skip] }, BASE_MS + HOUR_MS);
    const [view, ...others] = await world.runsOf(job.jobId, BASE_MS + HOUR_MS);
    expect(others).toEqual([]);
    expect(view).toMatchObject({
      ...{
        runId: skip.runId,
        status: 'SKIPPED',
        reason: 'misfire',
        occurrences: 40,
        scheduledAtMs: BASE_MS,
      },
      ...{ trigger: 'schedule', createdAtMs: BASE_MS + HOUR_MS },
    });
    expect((await world.storage.jobs.getForChange(job.jobId))?.lastNominalMs).toBe(skip.toMs);
  });

  it('what fell into a pause and what was missed after it leave a verdict each', async () => {
    const { world } = stage;
    const job = await world.recurring();
    await world.fire(job, { runs: [], skipped: [range(3, 'paused'), range(2)] });
    const runs = await world.runsOf(job.jobId);
    expect(runs.map(({ reason, occurrences }) => [reason, occurrences]).toSorted()).toEqual([
      ['misfire', 2],
      ['paused', 3],
    ]);
  });

  it('hazard 9: firing the same cursor again does nothing', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const cursor = (await world.cursor(job))!;
    expect((await world.fire(job, { cursor })).fired).toBe(true);
    expect((await world.fire(job, { cursor, skipped: [range(2)] })).fired).toBe(false);
    expect(await world.pendingRuns(job)).toHaveLength(1);
    expect(await world.runsOf(job.jobId)).toHaveLength(1);
    expect((await world.cursor(job))?.nominalAtMs).toBe(BASE_MS + MINUTE_MS);
  });

  it('hazard 7: a clock that went back cannot fire an occurrence twice', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const cursor = (await world.cursor(job))!;
    await world.fire(job, { cursor }, BASE_MS + HOUR_MS);
    expect((await world.fire(job, { cursor }, BASE_MS)).fired).toBe(false);
    expect(await world.pendingRuns(job)).toHaveLength(1);
  });

  it('hazard 9: of fires that race, exactly one wins', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const cursor = (await world.cursor(job))!;
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.fire(job, { cursor })));
    const winners = answers.filter(({ fired }) => fired);
    expect(winners).toHaveLength(1);
    expect((await world.pendingRuns(job)).map((run) => run.runId)).toEqual(winners[0]!.runIds);
  });

  it('in one batch, those that changed are left out and the others are fired', async () => {
    const { world } = stage;
    const jobs = [await world.recurring(), await world.recurring(), await world.recurring()] as const;
    const fires = [];
    for (const job of jobs) fires.push(plainFire((await world.cursor(job))!));
    await world.fire(jobs[1]);
    expect(await fired(fires, world.guard)).toEqual(new Set([jobs[0].jobId, jobs[2].jobId]));
    for (const job of jobs) expect(await world.pendingRuns(job)).toHaveLength(1);
    expect(await fired([], world.guard)).toEqual(new Set());
  });

  it('hazard 10: an owner whose shard changed hands fires nothing', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const fire = plainFire((await world.cursor(job))!, { skipped: [range(3)] });
    const newOwner = await world.changeHands();
    expect(await fired([fire], world.guard)).toEqual(new Set());
    expect(await world.pendingRuns(job)).toEqual([]);
    expect(await world.runsOf(job.jobId)).toEqual([]);
    expect(await fired([fire], newOwner)).toEqual(new Set([job.jobId]));
  });

  it('hazard 10: an epoch of before, none at all, or that of another node fires nothing', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const fire = plainFire((await world.cursor(job))!);
    const renewed = await world.own(world.nodeId);
    const unowned = { nodeId: world.nodeId, epochs: new Map<number, number>() };
    const stranger = { nodeId: newId<NodeId>(), epochs: renewed.epochs };
    for (const guard of [world.guard, unowned, stranger]) {
      expect(await fired([fire], guard)).toEqual(new Set());
    }
    expect(await fired([fire], renewed)).toEqual(new Set([job.jobId]));
  });

  it('an expired shard that nobody took is still its owner’s', async () => {
    const { world } = stage;
    const job = await world.recurring();
    expect((await world.fire(job, {}, BASE_MS + 30 * HOUR_MS)).fired).toBe(true);
  });

  describe('the end of a schedule', () => {
    it('the last run ends the job, the ones before it do not', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { maxConcurrency: 2 } });
      const runs = [0, 1].map((i) => ({ runId: newId<RunId>(), nominalAtMs: BASE_MS + i * MINUTE_MS }));
      await world.fire(job, { runs, next: undefined });
      expect(await world.cursor(job)).toBeUndefined();
      const batch = await world.claim(await world.pendingRuns(job));
      const claimed = runs.map(({ runId }) => batch.runs.find((run) => run.runId === runId)!);
      await world.settle(claimed[0]!);
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
      await world.settle(claimed[1]!, {
        status: 'FAILED',
        next: { kind: 'dead', reason: 'retries_exhausted' },
      });
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('when all that was left was skipped, the job is COMPLETED at once', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job, { runs: [], skipped: [range(5)], next: undefined });
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
      expect(await world.pending(job)).toEqual([]);
    });
  });
}

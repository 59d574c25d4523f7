/** Firing: a compare-and-set on the cursor, with all that follows from it, exactly once or not at all. */
import type { NodeId, RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { plainFire, useStorageWorld } from './storage-world.ts';

export function describeScheduleFire(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const skipped = (count: number) => ({
    ...{
      runId: newId<RunId>(),
      fromMs: BASE_MS,
      toMs: BASE_MS + (count - 1) * MINUTE_MS,
      count,
      exact: true,
    },
  });

  it('makes the run due at once, with the terms of the job, and moves the cursor', async () => {
    const { world } = stage;
    const job = await world.recurring({
      job: { priority: 'high', handler: 'script', maxConcurrency: 4, overlap: 'skip' },
    });
    const next = { nominalAtMs: BASE_MS + MINUTE_MS, fireAtMs: BASE_MS + MINUTE_MS + 13 };
    const { fired, runIds } = await world.fire(job, { next }, BASE_MS + 250);
    expect(fired).toBe(true);
    expect(await world.cursor(job)).toMatchObject({ ...next, jobVersion: 1 });
    expect(await world.pendingRuns(job)).toMatchObject([
      {
        ...{
          kind: 'run',
          jobId: job.jobId,
          runId: runIds[0],
          shard: job.shard,
          priority: 'high',
          handler: 'script',
        },
        ...{
          fireAtMs: BASE_MS + 250,
          nominalAtMs: BASE_MS,
          trigger: 'schedule',
          attempt: 1,
          maxConcurrency: 4,
        },
        ...{ overlap: 'skip', startTimeoutMs: undefined },
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
    const range = skipped(40);
    await world.fire(job, { runs: [], skipped: range }, BASE_MS + HOUR_MS);
    const [view, ...others] = await world.runsOf(job.jobId, BASE_MS + HOUR_MS);
    expect(others).toEqual([]);
    expect(view).toMatchObject({
      ...{
        runId: range.runId,
        status: 'SKIPPED',
        reason: 'misfire',
        occurrences: 40,
        scheduledAtMs: BASE_MS,
      },
      ...{ trigger: 'schedule', createdAtMs: BASE_MS + HOUR_MS },
    });
    expect((await world.storage.jobs.getForChange(job.jobId))?.lastNominalMs).toBe(range.toMs);
  });

  it('hazard 9: firing the same cursor again does nothing', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const cursor = (await world.cursor(job))!;
    expect((await world.fire(job, { cursor })).fired).toBe(true);
    expect((await world.fire(job, { cursor, skipped: skipped(2) })).fired).toBe(false);
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
    const fired = await world.storage.schedule.fire(fires, { guard: world.guard, nowMs: BASE_MS });
    expect(fired).toEqual(new Set([jobs[0].jobId, jobs[2].jobId]));
    for (const job of jobs) expect(await world.pendingRuns(job)).toHaveLength(1);
    expect(await world.storage.schedule.fire([], { guard: world.guard, nowMs: BASE_MS })).toEqual(new Set());
  });

  it('hazard 10: an owner whose shard changed hands fires nothing', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const fire = plainFire((await world.cursor(job))!, { skipped: skipped(3) });
    const newOwner = await world.changeHands();
    expect(await world.storage.schedule.fire([fire], { guard: world.guard, nowMs: BASE_MS })).toEqual(
      new Set(),
    );
    expect(await world.pendingRuns(job)).toEqual([]);
    expect(await world.runsOf(job.jobId)).toEqual([]);
    expect(await world.storage.schedule.fire([fire], { guard: newOwner, nowMs: BASE_MS })).toEqual(
      new Set([job.jobId]),
    );
  });

  it('hazard 10: an epoch of before, none at all, or that of another node fires nothing', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const fire = plainFire((await world.cursor(job))!);
    const renewed = await world.own(world.nodeId);
    const unowned = { nodeId: world.nodeId, epochs: new Map<number, number>() };
    const stranger = { nodeId: newId<NodeId>(), epochs: renewed.epochs };
    for (const guard of [world.guard, unowned, stranger]) {
      expect(await world.storage.schedule.fire([fire], { guard, nowMs: BASE_MS })).toEqual(new Set());
    }
    expect(await world.storage.schedule.fire([fire], { guard: renewed, nowMs: BASE_MS })).toEqual(
      new Set([job.jobId]),
    );
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
      await world.fire(job, { runs: [], skipped: skipped(5), next: undefined });
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
      expect(await world.pending(job)).toEqual([]);
    });
  });
}

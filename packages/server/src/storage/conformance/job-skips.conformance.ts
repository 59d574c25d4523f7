/** Fires that people have skipped: kept with the job, carried by its cursor, and recorded when they are fired. */
import { planFires, type SkippedFire } from '@carillon/domain';
import { expect, it } from 'vitest';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeJobSkips(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const skip = (minutes: number, by = 'ada "the {first}" \\, of \u00e9'): SkippedFire => ({
    ...{ atMs: BASE_MS + minutes * MINUTE_MS, by, skippedAtMs: BASE_MS - HOUR_MS },
  });

  it('a skip is kept with the job and carried by its cursor, and goes away with an edit', async () => {
    const { world } = stage;
    const { jobs } = world.storage;
    const job = await world.recurring();
    expect((await jobs.get(job.jobId))?.skips).toBeUndefined();
    expect((await world.cursor(job))?.skips).toBeUndefined();
    const skips = [skip(0), skip(3)];
    expect(await world.change(job.jobId, { skips }, { kind: 'keep' })).toBe(true);
    expect((await jobs.get(job.jobId))?.skips).toEqual(skips);
    expect(await world.cursor(job)).toMatchObject({ skips, jobVersion: 2, nominalAtMs: BASE_MS });
    const { fires } = await jobs.upcoming({
      ...{ fromMs: BASE_MS - 1, untilMs: BASE_MS, visible: undefined, limit: 10 },
    });
    expect(fires[0]?.cursor?.skips).toEqual(skips);
    await world.change(job.jobId, { name: 'renamed' }, { kind: 'keep' });
    expect((await world.cursor(job))?.skips).toEqual(skips);
    await world.change(job.jobId, { skips: undefined }, { kind: 'keep' });
    expect((await jobs.get(job.jobId))?.skips).toBeUndefined();
  });

  it('a cursor that was read before the skip cannot fire', async () => {
    const { world } = stage;
    const job = await world.recurring();
    const cursor = (await world.cursor(job))!;
    await world.change(job.jobId, { skips: [skip(0)] }, { kind: 'keep' });
    expect((await world.fire(job, { cursor })).fired).toBe(false);
    expect(await world.pendingRuns(job)).toEqual([]);
  });

  it('a fire that a person skipped is recorded with their name beside what runs, and what is last stays known', async () => {
    const { world } = stage;
    const skips = [skip(1), skip(3, 'bob')];
    const job = await world.recurring();
    await world.change(job.jobId, { skips }, { kind: 'keep' });
    const cursor = (await world.cursor(job))!;
    const plan = planFires({
      ...{ ...cursor, jobId: job.jobId, cursorMs: cursor.nominalAtMs, nowMs: BASE_MS + 3 * MINUTE_MS },
      misfire: { kind: 'all', maxRuns: 10, windowMs: HOUR_MS },
    });
    expect(plan.run).toHaveLength(2);
    await world.fire(job, {
      cursor,
      runs: plan.run.map((nominalAtMs) => ({ runId: newId(), nominalAtMs })),
      skipped: plan.skipped.map((range) => ({ runId: newId(), ...range })),
      next: { nominalAtMs: plan.nextMs!, fireAtMs: plan.nextMs! },
    });
    const skipped = (await world.runsOf(job.jobId)).filter(({ status }) => status === 'SKIPPED');
    expect(skipped.map(({ reason, scheduledAtMs }) => [reason, scheduledAtMs]).toSorted()).toEqual(
      skips.map(({ by, atMs }) => [`skipped by ${by}`, atMs]).toSorted(),
    );
    const found = await world.storage.jobs.getForChange(job.jobId);
    expect(found).toMatchObject({ plannedNominalMs: plan.nextMs, lastNominalMs: BASE_MS + 3 * MINUTE_MS });
  });

  it('the last occurrence may be skipped: the job is completed', async () => {
    const { world } = stage;
    const job = await world.recurring();
    await world.change(job.jobId, { skips: [skip(0)] }, { kind: 'keep' });
    const range = { fromMs: BASE_MS, toMs: BASE_MS, count: 1, exact: true, runId: newId<never>() };
    await world.fire(job, { runs: [], skipped: [{ ...range, reason: 'skipped by ada' }], next: undefined });
    expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
  });
}

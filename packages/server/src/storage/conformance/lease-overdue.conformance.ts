/** Runs that their worker keeps beyond their time limit: judged by the limit at which they were claimed. */
import type { ClaimedRun } from '@carillon/domain';
import { expect, it } from 'vitest';
import { BASE_MS, HOUR_MS, type MakeStorage } from './storage-under-test.ts';
import { manualRun, settlement, useStorageWorld } from './storage-world.ts';

export function describeLeaseOverdue(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  /** One lease over jobs with these time limits. */
  async function lease(timeoutsMs: readonly number[]): Promise<readonly ClaimedRun[]> {
    const { world } = stage;
    const runs = [];
    for (const timeoutMs of timeoutsMs) {
      const { job } = await world.oneOff({ job: { timeoutMs } });
      runs.push(...(await world.pendingRuns(job)));
    }
    return (await world.claim(runs, { nowMs: BASE_MS })).runs;
  }

  const overdue = async (beforeMs: number, limit = 100) =>
    (await stage.world.storage.leases.overdue({ beforeMs, limit })).map(({ runId, timeoutMs }) => ({
      runId,
      timeoutMs,
    }));

  const named = (run: ClaimedRun) => ({ runId: run.runId, timeoutMs: run.timeoutMs });
  const byLimit = (one: { timeoutMs: number }, other: { timeoutMs: number }) =>
    one.timeoutMs - other.timeoutMs;

  it('finds each run of a lease after its own time limit', async () => {
    const runs = (await lease([5_000, 1_000, 3_000])).toSorted(byLimit);
    expect(runs.map(({ timeoutMs }) => timeoutMs)).toEqual([1_000, 3_000, 5_000]);
    expect(await overdue(BASE_MS + 1_000)).toEqual([]);
    expect(await overdue(BASE_MS + 1_001)).toEqual([named(runs[0]!)]);
    expect((await overdue(BASE_MS + 3_001)).toSorted(byLimit)).toEqual(runs.slice(0, 2).map(named));
    expect((await overdue(BASE_MS + 60_000)).toSorted(byLimit)).toEqual(runs.map(named));
    expect(await overdue(BASE_MS + 60_000, 2)).toHaveLength(2);
  });

  it('finds all runs of a lease that have one time limit', async () => {
    const runs = await lease([2_000, 2_000]);
    expect(await overdue(BASE_MS + 2_000)).toEqual([]);
    expect((await overdue(BASE_MS + 2_001)).map(({ runId }) => runId).toSorted()).toEqual(
      runs.map(({ runId }) => runId).toSorted(),
    );
  });

  it('finds nothing that has ended', async () => {
    const [first, second] = await lease([1_000, 2_000]);
    await stage.world.storage.leases.settle([settlement(first!)], BASE_MS);
    expect(await overdue(BASE_MS + 60_000)).toEqual([named(second!)]);
    await stage.world.storage.leases.settle([settlement(second!)], BASE_MS);
    expect(await overdue(BASE_MS + 60_000)).toEqual([]);
  });

  it('judges by the time limit at which a run was claimed, though its job was edited since', async () => {
    const { world } = stage;
    const job = await world.recurring({ job: { timeoutMs: 50_000 }, atMs: BASE_MS + HOUR_MS });
    await world.storage.jobs.enqueue(job.jobId, manualRun());
    const { runs } = await world.claim(await world.pendingRuns(job));
    const isEdited = await world.storage.jobs.apply({
      job: { ...job, timeoutMs: 1_000, version: job.version + 1 },
      expectedVersion: job.version,
      expectedStatus: job.status,
      expectedPlannedNominalMs: BASE_MS + HOUR_MS,
      pending: { kind: 'keep' },
      nowMs: BASE_MS,
    });
    expect(isEdited).toBe(true);
    expect(await overdue(BASE_MS + 40_000)).toEqual([]);
    expect(await overdue(BASE_MS + 50_001)).toEqual(runs.map(named));
  });
}

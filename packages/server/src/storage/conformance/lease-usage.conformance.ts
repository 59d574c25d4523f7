/** What runs took of the machine: kept with the attempt that it is told of, and only by whoever settles it. */
import type { ClaimedRun } from '@carillon/domain';
import { expect, it } from 'vitest';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { type End, manualRun, settlement, useStorageWorld } from './storage-world.ts';

export function describeLeaseUsage(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const again = { kind: 'again', atMs: BASE_MS + MINUTE_MS, attempt: 2, crashes: 0 } as const;
  const failed = { status: 'FAILED', error: 'no', next: again } as const;

  /** One lease over runs of one job. */
  async function lease(count: number): Promise<readonly ClaimedRun[]> {
    const { world } = stage;
    const job = await world.recurring({ job: { maxConcurrency: 100 }, atMs: BASE_MS + HOUR_MS });
    for (let i = 0; i < count; i += 1) await world.storage.jobs.enqueue(job.jobId, manualRun());
    return (await world.claim(await world.pendingRuns(job))).runs;
  }

  const attempts = (run: ClaimedRun) => stage.world.storage.runs.attempts(run.runId, BASE_MS);

  it('keeps what the attempts took of the machine, and nothing of it by a report that is refused', async () => {
    const { world } = stage;
    const runs = await lease(6);
    const usageOf = ({ runId, claimedAtMs }: ClaimedRun, cpuSeconds?: number) => ({
      usage: { runId, claimedAtMs, peakMemoryBytes: 2 ** 40 + runs.length, cpuSeconds },
    });
    const ends: End[] = [
      usageOf(runs[0]!, 1.5),
      { ...failed, ...usageOf(runs[1]!, 0) },
      {},
      { status: 'TIMED_OUT', error: 'late', next: again, ...usageOf(runs[3]!) },
      { result: '1', ...usageOf(runs[4]!, 2) },
      failed,
    ];
    const settlements = runs.map((run, i) => settlement(run, ends[i]!));
    const { verdicts } = await world.storage.leases.settle(settlements, BASE_MS);
    expect(verdicts).toEqual(runs.map(() => 'settled'));
    const known = async () => {
      const views = await Promise.all(runs.map(attempts));
      return views.map((all) => {
        const { peakMemoryBytes, cpuSeconds } = all.find(({ epoch }) => epoch === 1)!;
        return [peakMemoryBytes, cpuSeconds];
      });
    };
    const peak = 2 ** 40 + runs.length;
    const expected = [
      [peak, 1.5],
      [peak, 0],
      [undefined, undefined],
      [peak, undefined],
      [peak, 2],
      [undefined, undefined],
    ];
    expect(await known()).toEqual(expected);

    const late = runs.map((run) => settlement(run, usageOf(run, 99)));
    expect((await world.storage.leases.settle(late, BASE_MS)).verdicts).toEqual(runs.map(() => 'stale'));
    expect(await known()).toEqual(expected);
  });

  it('keeps what a run took of the machine that was shown as running and then cancelled', async () => {
    const { world } = stage;
    const [run] = await lease(1);
    await world.storage.leases.showRunning([{ ...run!, startedAtMs: BASE_MS }], BASE_MS);
    await world.storage.jobs.cancelRun(run!.runId, BASE_MS);
    const { runId, claimedAtMs } = run!;
    expect(await world.settle(run!, { usage: { runId, claimedAtMs, cpuSeconds: 3 } })).toBe('cancelled');
    expect((await attempts(run!))[0]).toMatchObject({ cpuSeconds: 3, peakMemoryBytes: undefined });
  });
}

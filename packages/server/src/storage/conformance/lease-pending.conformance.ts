/** What people are shown of runs that are alive. */
import type { RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeLeasePending(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  describe('what people see of a living run', () => {
    it('is CLAIMED, then RUNNING once shown, then final, in one row throughout', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const run = await world.claimOne(job);
      const statuses = async () =>
        (await world.storage.runs.attempts(runId, BASE_MS)).map((view) => view.status);
      expect(await statuses()).toEqual(['CLAIMED']);
      await world.storage.leases.showRunning([{ ...run, startedAtMs: BASE_MS + 3 }], BASE_MS + 250);
      await world.storage.leases.showRunning([{ ...run, startedAtMs: BASE_MS + 3 }], BASE_MS + 500);
      expect(await world.storage.runs.attempts(runId, BASE_MS)).toMatchObject([
        {
          status: 'RUNNING',
          startedAtMs: BASE_MS + 3,
          createdAtMs: BASE_MS,
          executorId: world.workerId,
          epoch: 1,
        },
      ]);
      expect(await world.runsOf(job.jobId)).toHaveLength(1);
      await world.settle(run, { startedAtMs: BASE_MS + 3, endedAtMs: BASE_MS + 900 }, BASE_MS + 900);
      expect(await world.storage.runs.attempts(runId, BASE_MS)).toMatchObject([
        {
          status: 'SUCCESS',
          startedAtMs: BASE_MS + 3,
          endedAtMs: BASE_MS + 900,
          modifiedAtMs: BASE_MS + 900,
        },
      ]);
    });

    it('hazard 14: being shown late brings nothing back', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const run = await world.claimOne(job);
      await world.storage.leases.showRunning([{ ...run, epoch: 5, startedAtMs: BASE_MS }], BASE_MS);
      expect(await world.storage.runs.attempts(runId, BASE_MS)).toMatchObject([{ status: 'CLAIMED' }]);
      await world.settle(run);
      await world.storage.leases.showRunning([{ ...run, startedAtMs: BASE_MS }], BASE_MS + 1);
      await world.storage.leases.showRunning([], BASE_MS + 1);
      expect(await world.storage.runs.attempts(runId, BASE_MS)).toMatchObject([{ status: 'SUCCESS' }]);
    });

    it('what a refused report said is kept on the attempt it was about', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const lost = await world.claimOne(job);
      const next = { kind: 'again', atMs: BASE_MS, attempt: 1, crashes: 1 } as const;
      await world.settle(lost, { status: 'FAILED', error: 'lost', next });
      const second = await world.claimOne(job, { nowMs: BASE_MS + 1 });
      await world.settle(second);
      const report = '{"kind":"SUCCESS"}';
      await world.storage.leases.recordLate([
        { runId, epoch: 1, claimedAtMs: lost.claimedAtMs, report },
        { runId: newId<RunId>(), epoch: 1, claimedAtMs: BASE_MS, report },
      ]);
      const attempts = await world.storage.runs.attempts(runId, BASE_MS);
      expect(attempts.map((view) => [view.epoch, view.status, view.lateReport])).toEqual([
        [2, 'SUCCESS', undefined],
        [1, 'FAILED', report],
      ]);
    });
  });
}

/** Settling: a run leaves its lease exactly once, its attempt is recorded, and whoever comes second is refused. */
import type { ClaimedRun, LeaseId, WorkerId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { manualRun, settlement, useStorageWorld } from './storage-world.ts';

export function describeLeaseSettle(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const LATER_MS = BASE_MS + MINUTE_MS;
  const again = { kind: 'again', atMs: LATER_MS, attempt: 2, crashes: 0 } as const;
  const failed = { status: 'FAILED', error: 'no', next: again } as const;

  /** One lease over runs of one job. */
  async function lease(count: number): Promise<readonly ClaimedRun[]> {
    const { world } = stage;
    const job = await world.recurring({ job: { maxConcurrency: 100 }, atMs: BASE_MS + HOUR_MS });
    for (let i = 0; i < count; i += 1) await world.storage.jobs.enqueue(job.jobId, manualRun());
    return (await world.claim(await world.pendingRuns(job))).runs;
  }

  const attempts = (run: ClaimedRun) => stage.world.storage.runs.attempts(run.runId, BASE_MS);

  describe('the record', () => {
    it('keeps how the attempt ended', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const run = await world.claimOne(job, { nowMs: BASE_MS + 1 });
      const times = { startedAtMs: BASE_MS + 2, endedAtMs: BASE_MS + SECOND_MS };
      expect(await world.settle(run, { ...times, result: '{"ok":true}' }, BASE_MS + 2_000)).toBe('settled');
      const [view] = await attempts(run);
      expect({ ...view, result: JSON.parse(view!.result!) }).toEqual({
        ...{
          runId,
          jobId: job.jobId,
          status: 'SUCCESS',
          attempt: 1,
          epoch: 1,
          trigger: 'schedule',
          jobVersion: 1,
        },
        ...{ scheduledAtMs: BASE_MS, createdAtMs: BASE_MS + 1, modifiedAtMs: BASE_MS + 2_000, ...times },
        ...{
          executorId: world.workerId,
          error: undefined,
          reason: undefined,
          result: { ok: true },
          logUrl: undefined,
        },
        ...{ occurrences: 1, lateReport: undefined },
      });
    });

    it('errors and results of any characters survive, side by side', async () => {
      const { world } = stage;
      const texts = [
        'NULL',
        '',
        '"quoted"',
        '{a,b}',
        'back\\slash\\\\',
        "it's, you see",
        'two\nlines\ttab',
        'ünïcødé 🔔',
      ];
      const runs = await lease(texts.length);
      const settlements = runs.map((run, i) =>
        settlement(run, { status: 'FAILED', error: texts[i]!, result: JSON.stringify(texts[i]!) }),
      );
      await world.storage.leases.settle(settlements, BASE_MS);
      for (const [i, run] of runs.entries()) {
        const [view] = await attempts(run);
        expect(view?.error).toBe(texts[i]);
        expect(JSON.parse(view!.result!)).toBe(texts[i]);
      }
    });

    it('an attempt that never began has no start', async () => {
      const [run] = await lease(1);
      await stage.world.settle(run!, { ...failed, startedAtMs: undefined });
      const view = (await attempts(run!)).find(({ status }) => status === 'FAILED');
      expect(view).toMatchObject({ endedAtMs: BASE_MS });
      expect(view?.startedAtMs).toBeUndefined();
    });
  });

  describe('the fence', () => {
    it('hazard 14: the second report is stale and changes nothing', async () => {
      const [run] = await lease(1);
      expect(await stage.world.settle(run!)).toBe('settled');
      expect(await stage.world.settle(run!, { status: 'FAILED', error: 'late' })).toBe('stale');
      expect(await stage.world.settle(run!, failed)).toBe('stale');
      expect(await attempts(run!)).toMatchObject([{ status: 'SUCCESS' }]);
    });

    it('hazard 14: another epoch, position or lease is stale', async () => {
      const [run] = await lease(1);
      for (const wrong of [{ epoch: 2 }, { epoch: 0 }, { position: 1 }, { leaseId: newId<LeaseId>() }]) {
        expect(await stage.world.settle({ ...run!, ...wrong })).toBe('stale');
      }
      expect(await stage.world.settle(run!)).toBe('settled');
    });

    it('hazard 14: a zombie cannot finish a run that was given to another', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const zombie = await world.claimOne(job);
      await world.settle(zombie, { ...failed, next: { ...again, atMs: BASE_MS, attempt: 1, crashes: 1 } });
      const other = await world.claimOne(job, { workerId: newId<WorkerId>() });
      expect(other).toMatchObject({ runId: zombie.runId, epoch: 2 });
      expect(await world.settle(zombie)).toBe('stale');
      expect(await world.settle({ ...other, epoch: 1 })).toBe('stale');
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
      expect(await world.settle(other)).toBe('settled');
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('hazard 14: of a report and a recovery that race, exactly one counts', async () => {
      const { world } = stage;
      for (let round = 0; round < 5; round += 1) {
        const [run] = await lease(1);
        const verdicts = await Promise.all([
          world.settle(run!),
          world.settle(run!, failed),
          world.settle(run!),
        ]);
        expect(verdicts.toSorted()).toEqual(['settled', 'stale', 'stale']);
        const ended = (await attempts(run!)).filter((view) => view.status !== 'QUEUED');
        expect(ended).toHaveLength(1);
      }
    });

    it('a report repeated within one call is recorded once', async () => {
      const [run] = await lease(1);
      const twice = [settlement(run!, failed), settlement(run!, failed)];
      const { verdicts } = await stage.world.storage.leases.settle(twice, BASE_MS);
      expect(verdicts).toEqual(['settled', 'stale']);
      expect((await attempts(run!)).map((view) => [view.status, view.epoch])).toEqual([
        ['QUEUED', 2],
        ['FAILED', 1],
      ]);
    });
  });

  describe('batches', () => {
    it('a lease is settled in parts and in any order, and disappears with the last', async () => {
      const { world } = stage;
      const runs = await lease(5);
      const settle = async (positions: readonly number[]) => {
        const settlements = positions.map((position) => settlement(runs[position]!));
        return (await world.storage.leases.settle(settlements, BASE_MS)).verdicts;
      };
      expect(await settle([3])).toEqual(['settled']);
      expect(await settle([4, 0, 3])).toEqual(['settled', 'settled', 'stale']);
      expect(
        (await world.storage.leases.heldBy([world.workerId])).map((held) => held.position).toSorted(),
      ).toEqual([1, 2]);
      expect(await settle([2, 1])).toEqual(['settled', 'settled']);
      const all = { workerId: world.workerId, holding: [], fromMs: 0 };
      expect(await world.storage.members.unreceivedRuns(all)).toEqual([]);
      for (const run of runs) expect(await attempts(run)).toMatchObject([{ status: 'SUCCESS' }]);
    });

    it('one call settles runs of many leases, each with its own end, and answers in order', async () => {
      const { world } = stage;
      const leases = [await lease(1), await lease(4), await lease(2)] as const;
      await world.storage.leases.requestCancel([leases[1][2]!.runId]);
      const { verdicts } = await world.storage.leases.settle(
        [
          settlement(leases[1][3]!, { status: 'TIMED_OUT', error: 'slow', next: again }),
          settlement(leases[0][0]!),
          settlement(leases[2][1]!, { ...failed, next: { kind: 'dead', reason: 'not_retryable' } }),
          settlement({ ...leases[2][0]!, epoch: 9 }),
          settlement(leases[1][2]!),
          settlement(leases[1][0]!, { ...failed, error: 'a' }),
        ],
        BASE_MS,
      );
      expect(verdicts).toEqual(['settled', 'settled', 'settled', 'stale', 'cancelled', 'settled']);
      const statusOf = async (run: ClaimedRun) => (await attempts(run)).map((view) => view.status);
      expect(await statusOf(leases[1][3]!)).toEqual(['QUEUED', 'TIMED_OUT']);
      expect(await statusOf(leases[0][0]!)).toEqual(['SUCCESS']);
      expect(await statusOf(leases[2][1]!)).toEqual(['FAILED']);
      expect(await statusOf(leases[2][0]!)).toEqual(['CLAIMED']);
      expect(await statusOf(leases[1][2]!)).toEqual(['CANCELLED']);
      expect(await statusOf(leases[1][0]!)).toEqual(['QUEUED', 'FAILED']);
      expect(await statusOf(leases[1][1]!)).toEqual(['CLAIMED']);
      expect((await world.storage.leases.settle([], BASE_MS)).verdicts).toEqual([]);
    });

    it('parts of one lease settled at the same time are all recorded', async () => {
      const { world } = stage;
      const runs = await lease(12);
      const verdicts = await Promise.all(runs.map((run) => world.settle(run)));
      expect(new Set(verdicts)).toEqual(new Set(['settled']));
      expect(await world.storage.leases.heldBy([world.workerId])).toEqual([]);
      for (const run of runs) expect(await attempts(run)).toMatchObject([{ status: 'SUCCESS' }]);
    });
  });
}

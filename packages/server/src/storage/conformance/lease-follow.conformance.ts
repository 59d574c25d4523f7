/** What follows an attempt: another try, a dead letter, the end of the job; and how a cancel overrules all of them. */
import type { RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import type { Settlement } from '../lease-store.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { manualRun, useStorageWorld } from './storage-world.ts';

export function describeLeaseFollow(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const LATER_MS = BASE_MS + MINUTE_MS;
  const failed = (again: Partial<Extract<Settlement['next'], { kind: 'again' }>> = {}) =>
    ({
      status: 'FAILED',
      error: 'no',
      next: { kind: 'again', atMs: LATER_MS, attempt: 2, crashes: 0, ...again },
    }) as const;
  const dead = {
    status: 'FAILED',
    error: 'no',
    next: { kind: 'dead', reason: 'retries_exhausted' },
  } as const;

  describe('again', () => {
    it('a retry keeps its occurrence and trigger, and grows in attempt and epoch', async () => {
      const { world } = stage;
      const job = await world.recurring({ atMs: BASE_MS + HOUR_MS });
      const run = { ...manualRun(), nominalAtMs: BASE_MS - 5 };
      await world.storage.jobs.enqueue(job.jobId, run);
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const nowMs = BASE_MS + attempt;
        const claimed = await world.claimOne(job, { nowMs });
        expect(claimed).toMatchObject({
          runId: run.runId,
          attempt,
          epoch: attempt,
          nominalAtMs: BASE_MS - 5,
        });
        await world.settle(claimed, failed({ atMs: nowMs + 1, attempt: attempt + 1 }), nowMs);
        expect(await world.pendingRuns(job)).toMatchObject([
          {
            runId: run.runId,
            trigger: 'manual',
            attempt: attempt + 1,
            fireAtMs: nowMs + 1,
            nominalAtMs: BASE_MS - 5,
          },
        ]);
      }
    });

    it('a retry waits for its instant', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.settle(await world.claimOne(job), failed());
      const runs = await world.pendingRuns(job);
      expect((await world.claim(runs, { nowMs: LATER_MS - 1 })).runs).toEqual([]);
      expect((await world.claim(runs, { nowMs: LATER_MS })).runs).toHaveLength(1);
    });

    it('hazard 22: a run given back keeps its attempt, under a new epoch', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const first = await world.claimOne(job);
      await world.settle(first, failed({ atMs: BASE_MS, attempt: 1 }));
      const second = await world.claimOne(job);
      expect(second).toMatchObject({ attempt: 1, epoch: 2 });
      expect((await world.storage.leases.leased([second]))[0]).toMatchObject({ attempt: 1, crashes: 0 });
    });

    it('hazard 20: crashes are counted apart from attempts and stay with the run', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.settle(await world.claimOne(job), failed({ atMs: BASE_MS, attempt: 1, crashes: 1 }));
      const second = await world.claimOne(job);
      expect((await world.storage.leases.leased([second]))[0]).toMatchObject({ attempt: 1, crashes: 1 });
      await world.settle(second, failed({ atMs: BASE_MS, attempt: 1, crashes: 2 }));
      const third = await world.claimOne(job);
      expect((await world.storage.leases.leasedBy([world.workerId]))[0]).toMatchObject({
        crashes: 2,
        epoch: third.epoch,
      });
    });

    it('a retry goes by the job as it is now', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const alive = await world.claimOne(job);
      const terms = { handler: 'script', priority: 'low' } as const;
      const retry = {
        strategy: 'none',
        maxRetries: 0,
        delayMs: 1,
        delayMsMax: 1,
        jitter: false,
        deadlineMs: undefined,
      } as const;
      await world.change(job.jobId, { ...terms, retry, startTimeoutMs: 5 }, { kind: 'keep' });
      expect((await world.storage.leases.leased([alive]))[0]?.retry).toEqual(retry);
      await world.settle(alive, failed());
      expect(await world.pendingRuns(job)).toMatchObject([{ ...terms, expiresAtMs: LATER_MS + 5 }]);
    });

    it('the job goes on: an attempt that is tried again ends nothing', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.settle(await world.claimOne(job), failed());
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
      await world.settle(await world.claimOne(job, { nowMs: LATER_MS }));
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });
  });

  describe('the end of the job', () => {
    it.each([
      ['SUCCESS', 'COMPLETED'],
      ['FAILED', 'FAILED'],
      ['TIMED_OUT', 'FAILED'],
      ['CANCELLED', 'CANCELLED'],
    ] as const)('a one-off whose run ends as %s becomes %s', async (status, expected) => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.settle(await world.claimOne(job), { status });
      expect(await world.statusOf(job.jobId)).toBe(expected);
    });

    it.each(['SUCCESS', 'FAILED', 'CANCELLED'] as const)(
      'a schedule that has ended is COMPLETED though its last run ends as %s',
      async (status) => {
        const { world } = stage;
        const job = await world.recurring();
        await world.fire(job, { next: undefined });
        await world.settle(await world.claimOne(job), { status });
        expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
      },
    );

    it('a run in the middle of a schedule, or started by hand, ends nothing', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job);
      await world.settle(await world.claimOne(job), dead);
      await world.storage.jobs.enqueue(job.jobId, manualRun());
      await world.settle(await world.claimOne(job));
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
    });

    it('a dead one-off is FAILED', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.settle(await world.claimOne(job), dead);
      expect(await world.statusOf(job.jobId)).toBe('FAILED');
    });
  });

  describe('cancel', () => {
    it.each([
      ['a finish', {}],
      ['a retry', failed()],
      ['a death', dead],
    ] as const)('hazard 18: a cancel beats %s that comes late', async (_, end) => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const alive = await world.claimOne(job);
      await world.storage.jobs.cancelRun(runId, BASE_MS);
      expect(await world.settle(alive, end)).toBe('cancelled');
      expect(await world.storage.runs.attempts(runId, BASE_MS + HOUR_MS)).toMatchObject([
        { status: 'CANCELLED', epoch: 1 },
      ]);
      expect(await world.pending(job)).toEqual([]);
      expect(await world.storage.runs.deadLetter(runId)).toBeUndefined();
      expect(await world.statusOf(job.jobId)).toBe('CANCELLED');
      expect(await world.settle(alive)).toBe('stale');
    });

    it('hazard 18: the last run of a schedule, cancelled, completes the job', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const { runIds } = await world.fire(job, { next: undefined });
      const alive = await world.claimOne(job);
      await world.storage.jobs.cancelRun(runIds[0] as RunId, BASE_MS);
      expect(await world.settle(alive)).toBe('cancelled');
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('hazard 18: of a cancel and a retry that race, no retry survives the cancel', async () => {
      const { world } = stage;
      for (let round = 0; round < 5; round += 1) {
        const { job, runId } = await world.oneOff();
        const alive = await world.claimOne(job);
        const [answer, verdict] = await Promise.all([
          world.storage.jobs.cancelRun(runId, BASE_MS),
          world.settle(alive, failed({ atMs: BASE_MS })),
        ]);
        expect([answer, verdict]).toEqual(answer === 'asked' ? ['asked', 'cancelled'] : ['ended', 'settled']);
        expect(await world.pending(job)).toEqual([]);
        expect((await world.storage.runs.attempts(runId, BASE_MS))[0]?.status).toBe('CANCELLED');
      }
    });
  });
}

/** Verdicts on runs that wait, and what people are shown of those that run. */
import type { RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import type { PendingVerdict } from '../lease-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeLeasePending(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const LATER_MS = BASE_MS + MINUTE_MS;

  const resolve = (verdicts: readonly PendingVerdict[], guard = stage.world.guard) =>
    stage.world.storage.leases.resolvePending(verdicts, { guard, nowMs: BASE_MS });

  /** A fired occurrence of a recurring job, waiting. */
  async function occurrence(last = false) {
    const job = await stage.world.recurring();
    await stage.world.fire(job, last ? { next: undefined } : {});
    const [run] = await stage.world.pendingRuns(job);
    return { job, run: run! };
  }

  async function oneOffRun() {
    const { job } = await stage.world.oneOff();
    const [run] = await stage.world.pendingRuns(job);
    return { job, run: run! };
  }

  describe('verdicts on what waits', () => {
    it('skip: the run ends as SKIPPED with the reason', async () => {
      const { world } = stage;
      const { job, run } = await occurrence();
      expect(await resolve([{ kind: 'skip', run, reason: 'overlap' }])).toEqual(new Set([run.runId]));
      expect(await world.runsOf(job.jobId)).toMatchObject([
        {
          runId: run.runId,
          status: 'SKIPPED',
          reason: 'overlap',
          attempt: 1,
          occurrences: 1,
          scheduledAtMs: BASE_MS,
        },
      ]);
      expect((await world.claim([run])).runs).toEqual([]);
      expect(await world.cursor(job)).toBeDefined();
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
    });

    it('expire: the run is FAILED with the error and becomes a dead letter that never started', async () => {
      const { world } = stage;
      const { job, run } = await occurrence();
      expect(await resolve([{ kind: 'expire', run, error: 'waited "too" long' }])).toEqual(
        new Set([run.runId]),
      );
      expect(await world.runsOf(job.jobId)).toMatchObject([{ status: 'FAILED', error: 'waited "too" long' }]);
      expect(await world.storage.runs.deadLetter(run.runId)).toMatchObject({
        ...{
          runId: run.runId,
          jobId: job.jobId,
          reason: 'never_started',
          error: 'waited "too" long',
          attempts: 0,
        },
      });
      expect(await world.pendingRuns(job)).toEqual([]);
    });

    it('defer: the run waits for the instant, with what it waits for', async () => {
      const { world } = stage;
      const { job, run } = await occurrence();
      const reason = 'no worker offers {"http", \'x\'}';
      expect(await resolve([{ kind: 'defer', run, untilMs: LATER_MS, reason }])).toEqual(
        new Set([run.runId]),
      );
      expect(await world.pendingRuns(job)).toMatchObject([
        { runId: run.runId, fireAtMs: LATER_MS, nominalAtMs: BASE_MS },
      ]);
      expect((await world.claim([run])).runs).toEqual([]);
      expect(await world.runsOf(job.jobId, LATER_MS)).toMatchObject([{ status: 'QUEUED', reason }]);
      const batch = await world.claim([run], { nowMs: LATER_MS });
      expect(batch.runs).toMatchObject([{ runId: run.runId, attempt: 1, epoch: 1 }]);
    });

    it('the end of a schedule: a skipped or expired last run completes the job', async () => {
      const { world } = stage;
      const [skipped, expired] = [await occurrence(true), await occurrence(true)];
      await resolve([
        { kind: 'skip', run: skipped.run, reason: 'overlap' },
        { kind: 'expire', run: expired.run, error: 'late' },
      ]);
      expect(await world.statusOf(skipped.job.jobId)).toBe('COMPLETED');
      expect(await world.statusOf(expired.job.jobId)).toBe('COMPLETED');
    });

    it('a one-off that was skipped or expired is FAILED; one deferred goes on', async () => {
      const { world } = stage;
      const [skipped, expired, deferred] = [await oneOffRun(), await oneOffRun(), await oneOffRun()];
      const resolved = await resolve([
        { kind: 'skip', run: skipped.run, reason: 'queue_full' },
        { kind: 'defer', run: deferred.run, untilMs: LATER_MS, reason: 'limit' },
        { kind: 'expire', run: expired.run, error: 'late' },
      ]);
      expect(resolved.size).toBe(3);
      expect(await world.statusOf(skipped.job.jobId)).toBe('FAILED');
      expect(await world.statusOf(expired.job.jobId)).toBe('FAILED');
      expect(await world.statusOf(deferred.job.jobId)).toBe('SCHEDULED');
    });

    it('a run that was handed out meanwhile is left alone', async () => {
      const { world } = stage;
      const { job, run } = await occurrence();
      const alive = await world.claimOne(job);
      const resolved = await resolve([
        { kind: 'skip', run, reason: 'overlap' },
        { kind: 'expire', run, error: 'late' },
        { kind: 'defer', run, untilMs: LATER_MS, reason: 'limit' },
      ]);
      expect(resolved).toEqual(new Set());
      expect(await world.settle(alive)).toBe('settled');
      expect(await world.storage.runs.deadLetter(run.runId)).toBeUndefined();
      expect(await world.runsOf(job.jobId)).toHaveLength(1);
      expect(await resolve([])).toEqual(new Set());
    });

    it('hazard 10: an owner whose shard changed hands resolves nothing', async () => {
      const { world } = stage;
      const { job, run } = await occurrence();
      const guard = await world.changeHands();
      const verdicts: PendingVerdict[] = [
        { kind: 'skip', run, reason: 'overlap' },
        { kind: 'expire', run, error: 'late' },
        { kind: 'defer', run, untilMs: LATER_MS, reason: 'limit' },
      ];
      for (const verdict of verdicts) expect(await resolve([verdict])).toEqual(new Set());
      expect(await world.runsOf(job.jobId)).toMatchObject([{ status: 'QUEUED' }]);
      expect(await world.pendingRuns(job)).toMatchObject([{ fireAtMs: BASE_MS }]);
      expect(await world.storage.runs.deadLetter(run.runId)).toBeUndefined();
      expect(await resolve([verdicts[0]!], guard)).toEqual(new Set([run.runId]));
    });

    it('hazard 12: of a claim and a skip that race, exactly one takes the run', async () => {
      const { world } = stage;
      for (let round = 0; round < 5; round += 1) {
        const { job, run } = await occurrence();
        const [batch, resolved] = await Promise.all([
          world.claim([run]),
          resolve([{ kind: 'skip', run, reason: 'overlap' }]),
        ]);
        expect(batch.runs.length + resolved.size).toBe(1);
        expect(await world.runsOf(job.jobId)).toHaveLength(1);
      }
    });
  });

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

/** Run-now, removal of a job, and cancelling one run. */
import type { JobId, RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { newId, sampleJob } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage } from './storage-under-test.ts';
import { manualRun, onceRun, useStorageWorld } from './storage-world.ts';

export function describeJobRuns(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const again = { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 } as const;
  const failed = { status: 'FAILED', error: 'no', next: again } as const;

  describe('run now', () => {
    it('adds a run of the job as it is now, beside its plan', async () => {
      const { world } = stage;
      const job = await world.recurring({ atMs: BASE_MS + HOUR_MS });
      const run = manualRun(BASE_MS + 5);
      expect(await world.storage.jobs.enqueue(job.jobId, run)).toBe(true);
      expect(await world.pendingRuns(job)).toMatchObject([
        { runId: run.runId, trigger: 'manual', attempt: 1, fireAtMs: BASE_MS + 5, handler: 'http' },
      ]);
      expect(await world.cursor(job)).toBeDefined();
    });

    it('works on a finished one-off, whose own state stays', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.settle(await world.claimOne(job));
      expect(await world.storage.jobs.enqueue(job.jobId, manualRun())).toBe(true);
      await world.settle(await world.claimOne(job), {
        status: 'FAILED',
        next: { kind: 'dead', reason: 'not_retryable' },
      });
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('is refused for a job that is not there', async () => {
      expect(await stage.world.storage.jobs.enqueue(newId<JobId>(), manualRun())).toBe(false);
    });
  });

  describe('removal', () => {
    it('takes the definition and what is pending; history stays', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job);
      await world.settle(await world.claimOne(job));
      await world.storage.jobs.enqueue(job.jobId, manualRun());
      expect(await world.storage.jobs.remove(job.jobId)).toBe(true);
      expect(await world.storage.jobs.get(job.jobId)).toBeUndefined();
      expect(await world.pending(job)).toEqual([]);
      expect((await world.runsOf(job.jobId)).map((run) => run.status)).toEqual(['SUCCESS']);
      expect(await world.storage.jobs.remove(job.jobId)).toBe(false);
    });

    it('is refused while runs are alive, and changes nothing', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job);
      const alive = await world.claimOne(job);
      expect(await world.storage.jobs.remove(job.jobId)).toBe(false);
      expect(await world.cursor(job)).toBeDefined();
      await world.settle(alive);
      expect(await world.storage.jobs.remove(job.jobId)).toBe(true);
    });

    it('of a removal and a claim that race, exactly one wins', async () => {
      const { world } = stage;
      for (let round = 0; round < 10; round += 1) {
        const { job } = await world.oneOff();
        const waiting = await world.pendingRuns(job);
        const [removed, batch] = await Promise.all([
          world.storage.jobs.remove(job.jobId),
          world.claim(waiting),
        ]);
        expect(removed).toBe(batch.runs.length === 0);
        expect((await world.storage.jobs.get(job.jobId)) === undefined).toBe(removed);
      }
    });

    it('hazard 11: a removed job cannot be fired from memory, nor can its runs be claimed', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job);
      const cursor = (await world.cursor(job))!;
      const runs = await world.pendingRuns(job);
      await world.storage.jobs.remove(job.jobId);
      expect((await world.fire(job, { cursor })).fired).toBe(false);
      expect((await world.claim(runs)).runs).toEqual([]);
      expect(await world.runsOf(job.jobId)).toEqual([]);
    });
  });

  describe('cancelling one run', () => {
    it('ends a queued run, once', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const { runIds } = await world.fire(job);
      const runId = runIds[0] as RunId;
      const runs = await world.pendingRuns(job);
      expect(await world.storage.jobs.cancelRun(runId, BASE_MS + 1)).toBe('ended');
      expect((await world.claim(runs)).runs).toEqual([]);
      expect(await world.storage.runs.attempts(runId, BASE_MS + 1)).toMatchObject([
        { status: 'CANCELLED', attempt: 1 },
      ]);
      expect(await world.storage.jobs.cancelRun(runId, BASE_MS + 2)).toBe('finished');
      expect(await world.cursor(job)).toBeDefined();
    });

    it('a run that ended is finished, though its lease still holds others', async () => {
      const { world } = stage;
      const [first, second] = [await world.oneOff(), await world.oneOff()];
      const waiting = [...(await world.pendingRuns(first.job)), ...(await world.pendingRuns(second.job))];
      const batch = await world.claim(waiting);
      const ended = batch.runs.find((run) => run.runId === first.runId)!;
      expect(await world.settle(ended)).toBe('settled');
      expect(await world.storage.jobs.cancelRun(first.runId, BASE_MS)).toBe('finished');
      expect(await world.storage.jobs.cancelRun(second.runId, BASE_MS)).toBe('asked');
    });

    it('asks a living run, however often, until it ended', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const alive = await world.claimOne(job);
      expect(await world.storage.jobs.cancelRun(runId, BASE_MS)).toBe('asked');
      expect(await world.storage.jobs.cancelRun(runId, BASE_MS)).toBe('asked_before');
      await world.settle(alive);
      expect(await world.storage.jobs.cancelRun(runId, BASE_MS)).toBe('finished');
    });

    it('ends a retry that waits: it is never tried again (hazard 18)', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      await world.settle(await world.claimOne(job), {
        ...failed,
        next: { ...again, atMs: BASE_MS + HOUR_MS },
      });
      expect(await world.storage.jobs.cancelRun(runId, BASE_MS)).toBe('ended');
      expect(await world.pending(job)).toEqual([]);
      const attempts = await world.storage.runs.attempts(runId, BASE_MS);
      expect(attempts.map((run) => [run.status, run.attempt])).toEqual([
        ['CANCELLED', 2],
        ['FAILED', 1],
      ]);
    });

    it('a one-off ends with its run: CANCELLED; a schedule that has ended: COMPLETED', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      await world.storage.jobs.cancelRun(runId, BASE_MS);
      expect(await world.statusOf(job.jobId)).toBe('CANCELLED');
      const recurring = await world.recurring();
      const { runIds } = await world.fire(recurring, { next: undefined });
      await world.storage.jobs.cancelRun(runIds[0]!, BASE_MS);
      expect(await world.statusOf(recurring.jobId)).toBe('COMPLETED');
    });

    it('a finished run keeps its outcome', async () => {
      const { world } = stage;
      const job = sampleJob();
      const run = onceRun(BASE_MS);
      await world.storage.jobs.insert([{ job, first: { kind: 'run', run }, idempotency: undefined }]);
      await world.settle(await world.claimOne(job));
      expect(await world.storage.jobs.cancelRun(run.runId, BASE_MS)).toBe('finished');
      expect(await world.storage.runs.attempts(run.runId, BASE_MS)).toMatchObject([{ status: 'SUCCESS' }]);
    });
  });
}

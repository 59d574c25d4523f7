/** What an edit does to the pending rows of its job: kept under new terms, or planned anew. */
import { describe, expect, it } from 'vitest';
import { EVERY_MINUTE } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage } from './storage-under-test.ts';
import { manualRun, onceRun, useStorageWorld } from './storage-world.ts';

export function describeJobReplan(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const LATER_MS = BASE_MS + HOUR_MS;
  const cursorLater = { kind: 'cursor', cursor: { nominalAtMs: LATER_MS, fireAtMs: LATER_MS } } as const;

  describe('keep', () => {
    it('queued runs take over the new handler, priority and limits', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      await world.storage.jobs.enqueue(job.jobId, manualRun());
      const terms = {
        handler: 'script',
        priority: 'high',
        maxConcurrency: 5,
        overlap: 'skip',
        startTimeoutMs: 77,
      } as const;
      await world.change(job.jobId, terms, { kind: 'keep' });
      const runs = await world.pendingRuns(job);
      expect(runs).toHaveLength(2);
      const { handler, priority } = terms;
      for (const run of runs)
        expect(run).toMatchObject({
          handler,
          priority,
          expiresAtMs: BASE_MS + 77,
          fireAtMs: BASE_MS,
          attempt: 1,
        });
      expect(runs.map((run) => run.runId)).toContain(runId);
      const claimed = await world.claim(runs);
      expect(claimed.runs.map((run) => run.handler)).toEqual(['script', 'script']);
    });

    it('hazard 11: the cursor takes over rule and version, and one read before cannot be fired', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const before = (await world.cursor(job))!;
      const misfire = { kind: 'all', maxRuns: 2, windowMs: 3 } as const;
      const terms = {
        priority: 'low',
        misfire,
        handler: 'script',
        maxConcurrency: 7,
        overlap: 'skip',
      } as const;
      await world.change(job.jobId, terms, { kind: 'keep' });
      expect(await world.cursor(job)).toMatchObject({ misfire, jobVersion: 2, nominalAtMs: BASE_MS });
      expect((await world.fire(job, { cursor: before })).fired).toBe(false);
      expect((await world.fire(job)).fired).toBe(true);
      expect((await world.pendingRuns(job))[0]?.priority).toBe('low');
    });
  });

  describe('replan', () => {
    it('moves the cursor and leaves fired occurrences queued', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const { runIds } = await world.fire(job);
      const schedule = { ...EVERY_MINUTE, expression: '0 * * * *' };
      await world.change(job.jobId, { schedule }, { kind: 'replan', first: cursorLater });
      expect(await world.cursor(job)).toMatchObject({ schedule, nominalAtMs: LATER_MS, jobVersion: 2 });
      expect((await world.pendingRuns(job)).map((run) => run.runId)).toEqual(runIds);
    });

    it('replaces a one-off that has not begun, by another instant or by a recurring rule', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const moved = onceRun(LATER_MS);
      await world.change(job.jobId, {}, { kind: 'replan', first: { kind: 'run', run: moved } });
      expect(await world.pending(job)).toMatchObject([{ fireAtMs: LATER_MS, runId: moved.runId }]);
      await world.change(job.jobId, { schedule: EVERY_MINUTE }, { kind: 'replan', first: cursorLater });
      expect(await world.pending(job)).toEqual([await world.cursor(job)]);
      const again = onceRun(LATER_MS);
      await world.change(
        job.jobId,
        { schedule: { type: 'IMMEDIATE' } },
        { kind: 'replan', first: { kind: 'run', run: again } },
      );
      expect((await world.pendingRuns(job)).map((run) => run.runId)).toEqual([again.runId]);
      expect(await world.pending(job)).toHaveLength(1);
    });

    it('leaves run-now runs and retries alone', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const claimed = await world.claimOne(job);
      await world.settle(claimed, {
        status: 'FAILED',
        next: { kind: 'again', atMs: LATER_MS, attempt: 2, crashes: 0 },
      });
      const manual = manualRun();
      await world.storage.jobs.enqueue(job.jobId, manual);
      await world.change(job.jobId, { schedule: EVERY_MINUTE }, { kind: 'replan', first: undefined });
      const left = (await world.pendingRuns(job)).map((run) => run.runId);
      expect(left.sort()).toEqual([runId, manual.runId].sort());
    });

    it('to nothing leaves nothing pending', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.change(job.jobId, { status: 'COMPLETED' }, { kind: 'replan', first: undefined });
      expect(await world.pending(job)).toEqual([]);
      expect((await world.storage.jobs.getForChange(job.jobId))?.plannedNominalMs).toBeUndefined();
    });

    it('hazard 11: of a new plan and a final failure that race, neither leaves a planned job as failed', async () => {
      const { world } = stage;
      for (let round = 0; round < 10; round += 1) {
        const { job } = await world.oneOff();
        const alive = await world.claimOne(job);
        const dead = { status: 'FAILED', next: { kind: 'dead', reason: 'retries_exhausted' } } as const;
        const [planned] = await Promise.all([
          world.change(
            job.jobId,
            { schedule: EVERY_MINUTE, status: 'SCHEDULED' },
            { kind: 'replan', first: cursorLater },
          ),
          world.settle(alive, dead),
        ]);
        expect(await world.statusOf(job.jobId)).toBe(planned ? 'SCHEDULED' : 'FAILED');
      }
    });

    it('hazard 11: the end of what used to be the last run does not end a job with a new plan', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const alive = await world.claimOne(job);
      await world.change(job.jobId, { schedule: EVERY_MINUTE }, { kind: 'replan', first: cursorLater });
      expect(await world.settle(alive)).toBe('settled');
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');

      const recurring = await world.recurring();
      await world.fire(recurring, { next: undefined });
      await world.change(recurring.jobId, {}, { kind: 'replan', first: cursorLater });
      await world.settle(await world.claimOne(recurring));
      expect(await world.statusOf(recurring.jobId)).toBe('SCHEDULED');
    });
  });
}

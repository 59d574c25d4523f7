/** Pausing a job: what waits is held, what runs goes on, and nothing is lost by resuming. */
import type { RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { manualRun, settlement, useStorageWorld } from './storage-world.ts';

export function describeJobPause(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const again = { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 } as const;
  const failed = { status: 'FAILED', error: 'no', next: again } as const;

  describe('pause and resume', () => {
    it('hazard 19: nothing of a paused job is read, fired, claimed or judged, and other jobs go on', async () => {
      const { world } = stage;
      const { job } = await world.oneOff({ job: { startTimeoutMs: 1 } });
      const recurring = await world.recurring();
      const other = await world.recurring();
      const [run] = await world.pendingRuns(job);
      const cursor = (await world.cursor(recurring))!;
      await world.pause(job.jobId);
      await world.pause(recurring.jobId);

      expect(await world.pending(job)).toEqual([]);
      expect(await world.pending(recurring)).toEqual([]);
      expect((await world.claim([run!])).runs).toEqual([]);
      expect((await world.fire(recurring, { cursor: { ...cursor, jobVersion: 2 } })).fired).toBe(false);
      const options = { guard: world.guard, nowMs: BASE_MS + HOUR_MS, limit: 10 };
      expect(await world.storage.schedule.expire(options)).toEqual([]);
      expect((await world.fire(other)).fired).toBe(true);
    });

    it('hazard 19: resuming makes rows due at their own instants again', async () => {
      const { world } = stage;
      const job = await world.recurring({ atMs: BASE_MS + MINUTE_MS });
      await world.storage.jobs.enqueue(job.jobId, manualRun(BASE_MS + 1));
      const before = (await world.pending(job)).map(({ fireAtMs, nominalAtMs }) => [fireAtMs, nominalAtMs]);
      await world.pause(job.jobId);
      await world.resume(job.jobId);
      const after = (await world.pending(job)).map(({ fireAtMs, nominalAtMs }) => [fireAtMs, nominalAtMs]);
      expect(after).toEqual(before);
      expect((await world.fire(job)).fired).toBe(true);
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
    });

    it('a retry of a paused job waits for the resume', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const alive = await world.claimOne(job);
      await world.pause(job.jobId);
      expect(await world.settle(alive, failed)).toBe('settled');
      expect(await world.pending(job)).toEqual([]);
      await world.resume(job.jobId);
      expect((await world.pendingRuns(job)).map((run) => run.runId)).toEqual([runId]);
    });

    it('a cursor that stood still through a pause tells when it was resumed, until it fires', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const ahead = await world.recurring({ atMs: BASE_MS + HOUR_MS });
      const nowMs = BASE_MS + 10 * MINUTE_MS;
      for (const { jobId } of [job, ahead]) {
        await world.pause(jobId);
        await world.change(jobId, { status: 'SCHEDULED' }, { kind: 'release' }, nowMs);
      }
      expect(await world.cursor(job)).toMatchObject({
        nominalAtMs: BASE_MS,
        fireAtMs: nowMs,
        resumedAtMs: nowMs,
      });
      expect(await world.cursor(ahead)).toMatchObject({
        fireAtMs: BASE_MS + HOUR_MS,
        resumedAtMs: undefined,
      });
      await world.fire(job, {}, nowMs);
      expect((await world.cursor(job))?.resumedAtMs).toBeUndefined();
    });

    it('the retry of a run-now on a paused job runs, as the run-now did', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.pause(job.jobId);
      await world.storage.jobs.enqueue(job.jobId, manualRun());
      await world.settle(await world.claimOne(job), failed);
      expect(await world.claimOne(job)).toMatchObject({ attempt: 2, epoch: 2 });
    });

    it('what a pause holds back gives up its slot, so that a run-now can start', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const { runIds } = await world.fire(job);
      await world.pause(job.jobId);
      const manual = manualRun();
      await world.storage.jobs.enqueue(job.jobId, manual);
      expect((await world.claimOne(job)).runId).toBe(manual.runId);
      await world.resume(job.jobId);
      await world.admit(job);
      expect(await world.pendingRuns(job)).toMatchObject([{ runId: runIds[0], state: 'waiting' }]);
    });

    it('run-now works on a paused job: a person asked for it', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.pause(job.jobId);
      const manual = manualRun();
      expect(await world.storage.jobs.enqueue(job.jobId, manual)).toBe(true);
      expect(await world.settle(await world.claimOne(job))).toBe('settled');
      expect(await world.statusOf(job.jobId)).toBe('PAUSED');
      expect(await world.pending(job)).toEqual([]);
    });

    it('hazard 19: of a pause and a retry that race, none leaves a retry that starts', async () => {
      const { world } = stage;
      for (let round = 0; round < 20; round += 1) {
        const job = await world.recurring();
        await world.fire(job);
        const alive = await world.claimOne(job);
        const [paused, verdict] = await Promise.all([world.pause(job.jobId), world.settle(alive, failed)]);
        expect([paused, verdict]).toEqual([true, 'settled']);
        expect(await world.pending(job)).toEqual([]);
      }
    });

    it('an edited job stays paused: its new plan is held too', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.pause(job.jobId);
      const cursor = { nominalAtMs: BASE_MS + HOUR_MS, fireAtMs: BASE_MS + HOUR_MS };
      await world.change(job.jobId, { name: 'kept' }, { kind: 'keep' });
      expect(await world.pending(job)).toEqual([]);
      await world.change(job.jobId, {}, { kind: 'replan', first: { kind: 'cursor', cursor } });
      expect(await world.pending(job)).toEqual([]);
      await world.resume(job.jobId);
      expect(await world.cursor(job)).toMatchObject(cursor);
    });

    it('a schedule that is over does not end a paused job while runs are held back: they run after the resume, and end it', async () => {
      const { world } = stage;
      for (const together of [false, true]) {
        const job = await world.recurring({ job: { maxConcurrency: 2 } });
        const runs = [BASE_MS, BASE_MS + 1].map((nominalAtMs) => ({ runId: newId<RunId>(), nominalAtMs }));
        await world.fire(job, { runs, next: undefined });
        const alive = (await world.claim(await world.pendingRuns(job))).runs;
        const [first, last] = runs.map(({ runId }) => alive.find((run) => run.runId === runId)!);
        const ends = [settlement(first!, failed), settlement(last!)];
        await world.pause(job.jobId);
        for (const batch of together ? [ends] : ends.map((end) => [end]))
          await world.storage.leases.settle(batch, BASE_MS);
        expect(await world.statusOf(job.jobId)).toBe('PAUSED');
        await world.resume(job.jobId);
        expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
        expect(await world.settle(await world.claimOne(job))).toBe('settled');
        expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
      }
    });

    /** A schedule that is over: its last run is alive, the others wait and are held by a pause. */
    async function heldBack(count: number) {
      const { world } = stage;
      const job = await world.recurring({ job: { maxConcurrency: count + 1 } });
      const runs = Array.from({ length: count + 1 }, (_, i) => ({
        runId: newId<RunId>(),
        nominalAtMs: BASE_MS + i,
      }));
      await world.fire(job, { runs, next: undefined });
      const waiting = await world.pendingRuns(job);
      const last = waiting.filter(({ runId }) => runId === runs[count]!.runId);
      const [alive] = (await world.claim(last)).runs;
      await world.pause(job.jobId);
      return { job, alive: alive!, held: runs.slice(0, count) };
    }

    it('cancelling the last run that is held back ends the job', async () => {
      const { world } = stage;
      const { job, alive, held } = await heldBack(2);
      await world.settle(alive);
      expect(await world.storage.jobs.cancelRun(held[0]!.runId, BASE_MS)).toBe('ended');
      expect(await world.statusOf(job.jobId)).toBe('PAUSED');
      expect(await world.storage.jobs.cancelRun(held[1]!.runId, BASE_MS)).toBe('ended');
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('of several that were held back, the last one ends the job', async () => {
      const { world } = stage;
      const { job, alive, held } = await heldBack(2);
      await world.settle(alive);
      await world.resume(job.jobId);
      for (const [i, { runId }] of held.entries()) {
        const waiting = await world.pendingRuns(job);
        const { runs } = await world.claim(waiting.filter((run) => run.runId === runId));
        await world.settle(runs[0]!);
        expect(await world.statusOf(job.jobId)).toBe(i === 0 ? 'SCHEDULED' : 'COMPLETED');
      }
    });

    it('a run that was alive before the pause ends as usual', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const alive = await world.claimOne(job);
      await world.pause(job.jobId);
      expect(await world.settle(alive)).toBe('settled');
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });
  });

  describe('cancelling a job', () => {
    it('ends what waits: queued runs and retries as CANCELLED, the cursor without a trace', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { maxConcurrency: 9 } });
      const { runIds } = await world.fire(job);
      const first = await world.claimOne(job);
      await world.settle(first, { ...failed, next: { ...again, atMs: BASE_MS + HOUR_MS } });
      const manual = manualRun();
      await world.storage.jobs.enqueue(job.jobId, manual);
      expect(await world.cancelJob(job.jobId)).toBe(true);

      expect(await world.pending(job)).toEqual([]);
      expect(await world.statusOf(job.jobId)).toBe('CANCELLED');
      const runs = await world.runsOf(job.jobId);
      const ended = runs.filter((run) => run.status === 'CANCELLED');
      expect(ended.map((run) => run.runId).sort()).toEqual([runIds[0], manual.runId].sort());
      expect(runs.filter((run) => run.status === 'FAILED')).toHaveLength(1);
      expect(runs).toHaveLength(3);
    });

    it('ends what is held by a pause as well', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      await world.pause(job.jobId);
      await world.cancelJob(job.jobId);
      expect(await world.storage.runs.attempts(runId, BASE_MS)).toMatchObject([{ status: 'CANCELLED' }]);
    });

    it('hazard 18: living runs are asked to stop until they do, and are never tried again', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const alive = await world.claimOne(job);
      await world.cancelJob(job.jobId);
      const wanted = () => world.storage.members.cancelledRuns([alive.leaseId]);
      for (let i = 0; i < 2; i += 1) expect(await wanted()).toEqual([{ leaseId: alive.leaseId, runId }]);
      expect(await world.settle(alive, failed)).toBe('cancelled');
      expect(await wanted()).toEqual([]);
      expect(await world.pending(job)).toEqual([]);
      expect(await world.statusOf(job.jobId)).toBe('CANCELLED');
    });

    it('hazard 18: a finish that comes after the cancel is too late, and the job stays CANCELLED', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const { runIds } = await world.fire(job, { next: undefined });
      const alive = await world.claimOne(job);
      await world.cancelJob(job.jobId);
      expect(await world.settle(alive)).toBe('cancelled');
      expect(await world.storage.runs.attempts(runIds[0]!, BASE_MS)).toMatchObject([{ status: 'CANCELLED' }]);
      expect(await world.statusOf(job.jobId)).toBe('CANCELLED');
    });

    it('takes no more runs', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.cancelJob(job.jobId);
      expect(await world.storage.jobs.enqueue(job.jobId, manualRun())).toBe(false);
      expect(await world.pending(job)).toEqual([]);
    });

    it('hazard 18: of a cancel and a retry or run-now that race, nothing is left to start', async () => {
      const { world } = stage;
      for (let round = 0; round < 20; round += 1) {
        const job = await world.recurring();
        await world.fire(job);
        const alive = await world.claimOne(job);
        await Promise.all([
          world.settle(alive, failed),
          world.cancelJob(job.jobId),
          world.storage.jobs.enqueue(job.jobId, manualRun()),
        ]);
        expect(await world.statusOf(job.jobId)).toBe('CANCELLED');
        expect(await world.pending(job)).toEqual([]);
      }
    });

    it('hazard 18: a cancel and a claim that race leave no run behind that nobody stops', async () => {
      const { world } = stage;
      for (let round = 0; round < 5; round += 1) {
        const job = await world.recurring();
        await world.fire(job);
        const waiting = await world.pendingRuns(job);
        const [, batch] = await Promise.all([world.cancelJob(job.jobId), world.claim(waiting)]);
        if (batch.runs[0]) expect(await world.settle(batch.runs[0], failed)).toBe('cancelled');
        expect(await world.pending(job)).toEqual([]);
        expect((await world.runsOf(job.jobId)).map((run) => run.status)).toEqual(['CANCELLED']);
      }
    });
  });
}

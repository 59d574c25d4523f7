/** What the adapters once disagreed about: found by random calls on both, kept as what every adapter does. */
import type { Job, LeaseId, RunId, WorkerId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { LANE_START, laneOf } from '../lane.ts';
import { EVERY_MINUTE, newId, sampleJob } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { manualRun, onceRun, settlement, useStorageWorld } from './storage-world.ts';

const LATER_MS = BASE_MS + HOUR_MS;
const AGAIN = {
  status: 'FAILED',
  next: { kind: 'again', atMs: LATER_MS, attempt: 2, crashes: 0 },
} as const;
const DEAD = { status: 'FAILED', next: { kind: 'dead', reason: 'retries_exhausted' } } as const;

export function describeAdapterDifferences(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const planned = async (job: Job) => stage.world.storage.jobs.getForChange(job.jobId);
  const toOneOff = (atMs = BASE_MS) =>
    ({ kind: 'replan', first: { kind: 'run', run: onceRun(atMs) } }) as const;
  const toCursor = (atMs = LATER_MS) =>
    ({ kind: 'replan', first: { kind: 'cursor', cursor: { nominalAtMs: atMs, fireAtMs: atMs } } }) as const;

  describe('how a job ends', () => {
    it('the success of a one-off is no change of the job: its version stays', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.settle(await world.claimOne(job), {}, LATER_MS);
      expect(await world.storage.jobs.get(job.jobId)).toMatchObject({
        ...{ status: 'COMPLETED', version: job.version, updatedAtMs: job.updatedAtMs },
      });
    });

    it('a one-off is not over while a run of its former plan is alive', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const former = await world.claimOne(job);
      await world.change(job.jobId, { maxConcurrency: 2 }, toOneOff());
      await world.settle(await world.claimOne(job));
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
      await world.settle(former);
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('hazard 11: a run of the former plan that dies does not fail a job whose new run is alive', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const former = await world.claimOne(job);
      await world.change(job.jobId, { maxConcurrency: 2 }, toOneOff());
      const alive = await world.claimOne(job);
      await world.settle(former, DEAD);
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
      await world.settle(alive);
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('planned to nothing, the run that is left still ends the job', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.settle(await world.claimOne(job), AGAIN);
      await world.change(job.jobId, {}, { kind: 'replan', first: undefined });
      await world.settle(await world.claimOne(job, { nowMs: LATER_MS }), DEAD);
      expect(await world.statusOf(job.jobId)).toBe('FAILED');
    });

    it('a paused job that holds back occurrences is not over when its one-off succeeds: they can be resumed', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { maxConcurrency: 2 } });
      await world.fire(job);
      await world.change(job.jobId, { schedule: { type: 'IMMEDIATE' } }, toOneOff(BASE_MS + 1));
      const runs = await world.pendingRuns(job);
      const once = runs.filter(({ fireAtMs }) => fireAtMs > BASE_MS);
      await world.admit(job, { nowMs: BASE_MS + 1 });
      const [alive] = (await world.claim(once, { nowMs: BASE_MS + 1 })).runs;
      await world.pause(job.jobId);
      await world.settle(alive!);
      expect(await world.statusOf(job.jobId)).toBe('PAUSED');
      expect((await world.storage.jobs.list({ limit: 1 })).jobs[0]?.status).toBe('PAUSED');
      expect(await world.resume(job.jobId)).toBe(true);
      expect(await world.pendingRuns(job)).toHaveLength(1);
    });

    it('of a batch with the last run and a retry that the pause holds back, the retry keeps the job', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { maxConcurrency: 2 } });
      await world.fire(job);
      await world.fire(job, { next: undefined });
      const { runs } = await world.claim(await world.pendingRuns(job));
      const last = runs.find(({ nominalAtMs }) => nominalAtMs > BASE_MS)!;
      const first = runs.find((run) => run !== last)!;
      await world.pause(job.jobId);
      await world.storage.leases.settle([settlement(last), settlement(first, AGAIN)], BASE_MS);
      expect(await world.statusOf(job.jobId)).toBe('PAUSED');
      expect(await world.storage.runs.pending(job.jobId, 10)).toMatchObject([
        { runId: first.runId, held: true },
      ]);
    });

    it('cancelling the last run that is held back ends the job, though a lease still holds runs of others', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { maxConcurrency: 2 } });
      const other = await world.oneOff();
      await world.fire(job);
      await world.fire(job, { next: undefined });
      const [first, last] = await world.pendingRuns(job);
      const { runs } = await world.claim([first!, ...(await world.pendingRuns(other.job))]);
      await world.pause(job.jobId);
      await world.storage.leases.settle(
        runs.filter(({ jobId }) => jobId === job.jobId).map((run) => settlement(run)),
        BASE_MS,
      );
      await world.storage.jobs.cancelRun(last!.runId, BASE_MS);
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('what a cancelled job leaves behind is recorded under its last version', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.cancelJob(job.jobId);
      expect(await world.runsOf(job.jobId)).toMatchObject([{ status: 'CANCELLED', jobVersion: 2 }]);
    });
  });

  describe('the last occurrence that was fired', () => {
    it('is remembered when the schedule has ended', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job, { next: undefined });
      expect(await planned(job)).toMatchObject({ plannedNominalMs: undefined, lastNominalMs: BASE_MS });
    });

    it('is remembered while the job is a one-off, and by the schedule it gets after that', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job);
      await world.change(job.jobId, { schedule: { type: 'IMMEDIATE' } }, toOneOff(LATER_MS));
      expect(await planned(job)).toMatchObject({ plannedNominalMs: LATER_MS, lastNominalMs: BASE_MS });
      await world.change(job.jobId, { schedule: EVERY_MINUTE }, toCursor());
      expect(await planned(job)).toMatchObject({ plannedNominalMs: LATER_MS, lastNominalMs: BASE_MS });
    });
  });

  describe('what a claim tells of its lanes', () => {
    const claim = async (
      lanes: readonly { job: Job; afterMs?: number }[],
      over: { runsMax?: number; nowMs?: number; workerId?: WorkerId } = {},
    ) => {
      const { world } = stage;
      const { runsMax = 10, nowMs = BASE_MS, workerId = world.workerId } = over;
      const { scans } = await world.storage.leases.claim({
        ...{ leaseId: newId<LeaseId>(), workerId, nowMs },
        pick: {
          lanes: lanes.map(({ job, afterMs = 0 }) => ({
            ...{ lane: laneOf(job), after: { ...LANE_START, laneAtMs: afterMs }, runsMax: 10 },
          })),
          runsMax,
        },
      });
      return scans;
    };
    /** A lane with runs that are due at these instants. */
    const laneOfRuns = async (priority: Job['priority'], instants: readonly number[]) => {
      const { world } = stage;
      const first = sampleJob({ priority });
      for (const atMs of instants) {
        const job = { ...sampleJob({ priority }), shard: first.shard };
        const due = { kind: 'run', run: onceRun(atMs) } as const;
        await world.storage.jobs.insert([{ job, first: due, idempotency: undefined }]);
      }
      return first;
    };

    it('a lane that was read to its end tells what comes next, also when the lane after it fills the claim', async () => {
      const ended = await laneOfRuns('high', [BASE_MS, LATER_MS]);
      const full = await laneOfRuns('low', [BASE_MS, BASE_MS]);
      const scans = await claim([{ job: ended }, { job: full }], { runsMax: 2 });
      expect(scans).toMatchObject([
        { found: 1, nextAtMs: LATER_MS },
        { found: 1, nextAtMs: undefined },
      ]);
    });

    it('what comes next is told wherever the mark stands: a clock that went back leaves it ahead', async () => {
      const job = await laneOfRuns('high', [LATER_MS]);
      expect(await claim([{ job, afterMs: LATER_MS + 1 }])).toMatchObject([{ found: 0, nextAtMs: LATER_MS }]);
    });

    it('a dead worker scans at nothing', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const workerId = newId<WorkerId>();
      await world.register(workerId);
      await world.markDead(workerId);
      expect(await claim([{ job }], { workerId })).toEqual([]);
    });
  });

  it('a former owner of its shard asks no run to stop for a newer occurrence', async () => {
    const { world } = stage;
    const job = await world.recurring({ job: { overlap: 'replace' } });
    await world.fire(job);
    const alive = await world.claimOne(job);
    await world.fire(job);
    const former = world.guard;
    await world.changeHands();
    const { leases, schedule } = world.storage;
    expect(await schedule.replace([job.jobId], { guard: former, nowMs: BASE_MS })).toEqual([]);
    expect((await leases.leased([alive]))[0]?.cancelRequested).toBe(false);
  });

  describe('what people see of runs', () => {
    const jobOfThree = async () => {
      const { world } = stage;
      const job = await world.recurring({ atMs: LATER_MS, job: { maxConcurrency: 9 } });
      const next = async (nowMs: number) => {
        await world.storage.jobs.enqueue(job.jobId, manualRun());
        return world.claimOne(job, { nowMs });
      };
      return { job, next };
    };

    it('a run that is shown as RUNNING is alive: it stands before what waits, and before newer ones that ended', async () => {
      const { world } = stage;
      const { job, next } = await jobOfThree();
      const running = await next(BASE_MS);
      const ended = await next(BASE_MS + 1);
      await world.storage.leases.showRunning([{ ...running, startedAtMs: BASE_MS + 2 }], BASE_MS + 3);
      await world.settle(ended);
      const waits = manualRun();
      await world.storage.jobs.enqueue(job.jobId, waits);
      const views = await world.runsOf(job.jobId, BASE_MS + MINUTE_MS);
      expect(views.map(({ runId }) => runId)).toEqual([running.runId, waits.runId, ended.runId]);
      const shown = { status: 'RUNNING', startedAtMs: BASE_MS + 2, modifiedAtMs: BASE_MS + 3 };
      expect(views[0]).toMatchObject(shown);
      const { runs } = world.storage;
      expect(await runs.latestOfJob(job.jobId, BASE_MS + MINUTE_MS)).toMatchObject(shown);
      expect(await runs.onWorker(world.workerId, { limit: 9 }, BASE_MS)).toMatchObject([shown]);
      expect(await runs.attempts(running.runId, BASE_MS)).toMatchObject([shown]);
      const page = { limit: 9, before: { createdAtMs: BASE_MS + 2, runId: newId<RunId>() } };
      expect(await runs.ofJob(job.jobId, page, BASE_MS)).toMatchObject([{ runId: ended.runId }]);
    });

    it('of runs that wait, the one with the latest instant comes first, whatever the hour', async () => {
      const { world } = stage;
      const { job, next } = await jobOfThree();
      const [first, second] = [await next(BASE_MS), await next(BASE_MS)];
      const again = (atMs: number) => ({ ...AGAIN, next: { ...AGAIN.next, atMs } });
      await world.settle(first, again(LATER_MS));
      await world.settle(second, again(LATER_MS - 1));
      const views = await world.runsOf(job.jobId);
      expect(views.slice(0, 2).map(({ runId }) => runId)).toEqual([first.runId, second.runId]);
    });

    it('a late report that says what was recorded, or is about another claim, is no news', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const run = await world.claimOne(job);
      const { claimedAtMs, epoch } = run;
      await world.settle(run);
      await world.storage.leases.recordLate([
        { runId, epoch, claimedAtMs, report: 'SUCCESS' },
        { runId, epoch, claimedAtMs: claimedAtMs + 1, report: 'FAILED' },
      ]);
      expect((await world.storage.runs.attempts(runId, BASE_MS))[0]?.lateReport).toBeUndefined();
    });
  });
}

/** What people see of runs: one row per attempt, its status composed from where the run is. */
import type { Job, JobId, RunId, WorkerId } from '@carillon/domain';
import { expect, it } from 'vitest';
import type { RunView } from '../run-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { manualRun, useStorageWorld } from './storage-world.ts';

const LATER_MS = BASE_MS + MINUTE_MS;
const FAILED_ONCE = {
  status: 'FAILED',
  error: 'no',
  next: { kind: 'again', atMs: BASE_MS + HOUR_MS, attempt: 2, crashes: 0 },
} as const;

export function describeRunViews(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const idsOf = (views: readonly RunView[]) => views.map((view) => view.runId);

  /** Finished runs, a second apart, the newest first. */
  async function history(job: Job, count: number): Promise<RunId[]> {
    const { world } = stage;
    const made: RunId[] = [];
    for (let i = 0; i < count; i += 1) {
      const nowMs = BASE_MS + i * SECOND_MS;
      await world.storage.jobs.enqueue(job.jobId, manualRun());
      const run = await world.claimOne(job, { nowMs });
      await world.settle(run, {}, nowMs);
      made.unshift(run.runId);
    }
    return made;
  }

  it('a planned occurrence is no run yet; at its instant it is QUEUED', async () => {
    const { world } = stage;
    const { job, runId } = await world.oneOff({ atMs: LATER_MS });
    const { runs } = world.storage;
    expect(await world.runsOf(job.jobId, LATER_MS - 1)).toEqual([]);
    expect(await runs.attempts(runId, LATER_MS - 1)).toEqual([]);
    expect(await runs.latestOfJob(job.jobId, LATER_MS - 1)).toBeUndefined();
    const queued = {
      runId,
      jobId: job.jobId,
      status: 'QUEUED',
      attempt: 1,
      epoch: 1,
      scheduledAtMs: LATER_MS,
      trigger: 'schedule',
    };
    expect(await world.runsOf(job.jobId, LATER_MS)).toMatchObject([queued]);
    expect(await runs.attempts(runId, LATER_MS)).toMatchObject([queued]);
    expect(await runs.latestOfJob(job.jobId, LATER_MS)).toMatchObject(queued);
  });

  it('the latest attempt of many runs is read at once, as the attempts of each show it', async () => {
    const { world } = stage;
    const { runs, jobs } = world.storage;
    const planned = await world.oneOff({ atMs: LATER_MS });
    const queued = await world.oneOff();
    const retried = await world.oneOff();
    const claimed = await world.claimOne(retried.job);
    await world.settle(claimed, FAILED_ONCE);
    const failed = await world.oneOff();
    await world.settle(await world.claimOne(failed.job), {
      ...FAILED_ONCE,
      next: { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 },
    });
    await world.settle(await world.claimOne(failed.job), {
      status: 'FAILED',
      error: 'no',
      next: { kind: 'finish' },
    });
    const living = await world.oneOff();
    await world.claimOne(living.job);
    const asked = await world.oneOff();
    await world.claimOne(asked.job);
    await jobs.cancelRun(asked.runId, BASE_MS);
    const gone = await world.oneOff();
    await world.settle(await world.claimOne(gone.job));
    await jobs.remove(gone.job.jobId);
    const recurring = await world.recurring();
    const all = [planned, queued, retried, failed, living, asked, gone].map(({ runId }) => runId);
    const cursor = recurring.jobId as string as RunId;
    const found = await runs.latest([...all, ...all, newId<RunId>(), cursor], BASE_MS);
    const shown = await Promise.all(all.map(async (runId) => (await runs.attempts(runId, BASE_MS))[0]));
    expect(shown.map((view) => view?.status)).toEqual([
      ...[undefined, 'QUEUED', 'QUEUED', 'FAILED', 'CLAIMED', 'CANCELLING', 'SUCCESS'],
    ]);
    expect(found.size).toBe(6);
    for (const [i, runId] of all.entries()) {
      const { jobId, status, epoch, trigger, scheduledAtMs } = shown[i] ?? {};
      const { namespace, userId } = queued.job;
      const job = runId === gone.runId ? undefined : { namespace, userId };
      const expected = shown[i] && { runId, jobId, status, epoch, trigger, scheduledAtMs, job };
      expect(found.get(runId)).toEqual(expected);
    }
    expect(await runs.latest([], BASE_MS)).toEqual(new Map());
  });

  it('whose many jobs are is read at once', async () => {
    const { world } = stage;
    const { jobs } = world.storage;
    const [one, two] = [await world.recurring({ job: { userId: 'ada' } }), (await world.oneOff()).job];
    const found = await jobs.owners([one.jobId, two.jobId, one.jobId, newId<JobId>()]);
    expect([...found.keys()].toSorted()).toEqual([one.jobId, two.jobId].toSorted());
    expect(found.get(one.jobId)).toEqual({ namespace: one.namespace, userId: 'ada' });
    expect(found.get(two.jobId)).toEqual({ namespace: two.namespace, userId: two.userId });
    expect(await jobs.owners([])).toEqual(new Map());
  });

  it('a cursor is never shown as a run', async () => {
    const { world } = stage;
    const job = await world.recurring();
    expect(await world.runsOf(job.jobId, LATER_MS)).toEqual([]);
    expect(await world.storage.runs.attempts(job.jobId as string as RunId, LATER_MS)).toEqual([]);
  });

  it('a retry that waits for its instant is QUEUED, above the attempts before it', async () => {
    const { world } = stage;
    const { job, runId } = await world.oneOff();
    await world.settle(await world.claimOne(job), FAILED_ONCE);
    const shown = (await world.storage.runs.attempts(runId, BASE_MS)).map((view) => [
      view.status,
      view.attempt,
      view.epoch,
    ]);
    expect(shown).toEqual([
      ['QUEUED', 2, 2],
      ['FAILED', 1, 1],
    ]);
    expect((await world.runsOf(job.jobId)).map((view) => view.status)).toEqual(['QUEUED', 'FAILED']);
  });

  it('attempts come latest first, also where a run was given back under the same number', async () => {
    const { world } = stage;
    const { job, runId } = await world.oneOff();
    for (const [attempt, crashes] of [
      [1, 1],
      [2, 1],
      [3, 1],
    ] as const) {
      const next = { kind: 'again', atMs: BASE_MS, attempt, crashes } as const;
      await world.settle(await world.claimOne(job), { status: 'FAILED', error: 'no', next });
    }
    await world.claimOne(job);
    const attempts = await world.storage.runs.attempts(runId, BASE_MS);
    expect(attempts.map((view) => [view.epoch, view.attempt, view.status])).toEqual([
      [4, 3, 'CLAIMED'],
      [3, 2, 'FAILED'],
      [2, 1, 'FAILED'],
      [1, 1, 'FAILED'],
    ]);
    expect(await world.storage.runs.attempts(newId<RunId>(), BASE_MS)).toEqual([]);
  });

  it('alive and waiting runs come before the history, which is newest first', async () => {
    const { world } = stage;
    const job = await world.recurring({ atMs: BASE_MS + HOUR_MS, job: { maxConcurrency: 9 } });
    const ended = await history(job, 3);
    await world.storage.jobs.enqueue(job.jobId, manualRun());
    const alive = await world.claimOne(job);
    const waits = manualRun();
    await world.storage.jobs.enqueue(job.jobId, waits);
    const views = await world.runsOf(job.jobId, BASE_MS + MINUTE_MS);
    expect(new Set(idsOf(views.slice(0, 2)))).toEqual(new Set([alive.runId, waits.runId]));
    expect(idsOf(views.slice(2))).toEqual(ended);
    const paged = await world.storage.runs.ofJob(job.jobId, { limit: 2, offset: 1 }, BASE_MS + MINUTE_MS);
    expect(idsOf(paged)).toEqual(idsOf(views.slice(1, 3)));
  });

  it('the latest run is the living one, else the queued one, else the newest that ended', async () => {
    const { world } = stage;
    const job = await world.recurring({ atMs: BASE_MS + HOUR_MS, job: { maxConcurrency: 9 } });
    const latest = async () => (await world.storage.runs.latestOfJob(job.jobId, LATER_MS))?.runId;
    const ended = await history(job, 2);
    expect(await latest()).toBe(ended[0]);
    const waits = manualRun();
    await world.storage.jobs.enqueue(job.jobId, waits);
    expect(await latest()).toBe(waits.runId);
    const alive = await world.claimOne(job);
    await world.storage.jobs.enqueue(job.jobId, manualRun());
    expect(await latest()).toBe(alive.runId);
    expect(await world.storage.runs.latestOfJob(newId<JobId>(), LATER_MS)).toBeUndefined();
  });

  it('history is read on from a place, without gap or repetition', async () => {
    const { world } = stage;
    const job = await world.recurring({ atMs: BASE_MS + HOUR_MS });
    const ended = await history(job, 5);
    const read: RunView[] = [];
    while (read.length <= ended.length) {
      const last = read.at(-1);
      const page = {
        limit: 2,
        ...(last && { before: { createdAtMs: last.createdAtMs, runId: last.runId } }),
      };
      const views = await world.storage.runs.ofJob(job.jobId, page, LATER_MS);
      if (views.length === 0) break;
      read.push(...views);
    }
    expect(idsOf(read)).toEqual(ended);
  });

  it('a paused job still shows what waits', async () => {
    const { world } = stage;
    const { job } = await world.oneOff();
    await world.pause(job.jobId);
    expect(await world.runsOf(job.jobId)).toMatchObject([{ status: 'QUEUED' }]);
  });

  it('a worker’s runs are those it holds, newest first', async () => {
    const { world } = stage;
    const workerId = newId<WorkerId>();
    const [ended, first, second, other] = [
      await world.oneOff(),
      await world.oneOff(),
      await world.oneOff(),
      await world.oneOff(),
    ];
    await world.settle(await world.claimOne(ended.job, { workerId }));
    await world.claimOne(first.job, { workerId, nowMs: BASE_MS + 1 });
    const shown = await world.claimOne(second.job, { workerId, nowMs: BASE_MS + 2 });
    await world.storage.leases.showRunning([{ ...shown, startedAtMs: BASE_MS + 2 }], BASE_MS + 3);
    await world.claimOne(other.job);
    const onWorker = async (page: { limit: number; offset?: number }) =>
      (await world.storage.runs.onWorker(workerId, page, LATER_MS)).map((view) => [view.runId, view.status]);
    expect(await onWorker({ limit: 10 })).toEqual([
      [second.runId, 'RUNNING'],
      [first.runId, 'CLAIMED'],
    ]);
    expect(await onWorker({ limit: 1, offset: 1 })).toEqual([[first.runId, 'CLAIMED']]);
    expect(await world.storage.runs.onWorker(newId<WorkerId>(), { limit: 1 }, LATER_MS)).toEqual([]);
  });

  it('lists know of each job what its earliest run waits for, and how many wait', async () => {
    const { world } = stage;
    const waits = await world.oneOff({ job: { handler: 'nobody-has-it' } });
    await world.storage.jobs.enqueue(waits.job.jobId, manualRun());
    const later = await world.oneOff({ atMs: BASE_MS + HOUR_MS });
    const jobIds = [waits.job.jobId, later.job.jobId];
    expect([...(await world.storage.runs.waitingOfJobs(jobIds, BASE_MS + 1))]).toEqual([
      [
        waits.job.jobId,
        { waitingRuns: 2, waitsFor: { code: 'no_worker', untilMs: undefined, handler: 'nobody-has-it' } },
      ],
    ]);
    expect((await world.storage.runs.waitingOfJobs([], BASE_MS)).size).toBe(0);
  });
}

/** Lists of jobs by every filter and in both orders, what fires next, and runs that are added at most once. */
import { type Job, type JobId, type RunId, SHOWN_JOB_STATUSES, shownStatus } from '@carillon/domain';
import { expect, it } from 'vitest';
import type { NewRun } from '../due.ts';
import type { JobQuery, UpcomingQuery } from '../job-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { manualRun, settlement, useStorageWorld } from './storage-world.ts';

export function describeJobList(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  const list = async (query: Partial<JobQuery>): Promise<JobId[]> => {
    const { jobs, stoppedAt } = await stage.world.storage.jobs.list({ limit: 50, ...query });
    expect(stoppedAt).toBeUndefined();
    return jobs.map((job) => job.jobId);
  };
  const made = async (job: Partial<Job>) => (await stage.world.oneOff({ job })).job.jobId;

  it('lists newest first, in pages by place or by offset', async () => {
    const { world } = stage;
    const userId = newId<string>();
    const newest: JobId[] = [];
    for (let i = 0; i < 7; i += 1) {
      const { job } = await world.oneOff({ job: { userId, createdAtMs: BASE_MS + i } });
      newest.unshift(job.jobId);
    }
    const idsOf = ({ jobs }: { jobs: readonly Job[] }) => jobs.map((job) => job.jobId);
    const { jobs } = world.storage;
    expect(idsOf(await jobs.list({ userId, limit: 100 }))).toEqual(newest);
    expect(idsOf(await jobs.list({ userId, limit: 3 }))).toEqual(newest.slice(0, 3));
    expect(idsOf(await jobs.list({ userId, limit: 3, afterJobId: newest[2]! }))).toEqual(newest.slice(3, 6));
    expect(idsOf(await jobs.list({ userId, limit: 3, offset: 5 }))).toEqual(newest.slice(5));
    expect(idsOf(await jobs.list({ userId, limit: 3, afterJobId: newest[6]! }))).toEqual([]);
  });

  it('filters by status, schedule type, priority, user and handler, alone and together', async () => {
    const { world } = stage;
    const userId = newId<string>();
    const handler = newId<string>();
    const plain = (await world.oneOff({ job: { userId } })).job;
    const high = (await world.oneOff({ job: { userId, priority: 'high', handler } })).job;
    const cron = await world.recurring({ job: { userId, handler } });
    await world.oneOff({ job: { userId: newId<string>() } });
    await world.pause(cron.jobId);

    const filtered = async (query: object) =>
      (await world.storage.jobs.list({ userId, ...query, limit: 10 })).jobs.map((job) => job.jobId);
    expect(await filtered({})).toEqual([cron.jobId, high.jobId, plain.jobId]);
    expect(await filtered({ status: 'PAUSED' })).toEqual([cron.jobId]);
    expect(await filtered({ status: 'SCHEDULED' })).toEqual([high.jobId, plain.jobId]);
    expect(await filtered({ scheduleTypes: ['IMMEDIATE'] })).toEqual([high.jobId, plain.jobId]);
    expect(await filtered({ scheduleTypes: ['CRON', 'INTERVAL'] })).toEqual([cron.jobId]);
    expect(await filtered({ priority: 'high' })).toEqual([high.jobId]);
    expect(await filtered({ handler })).toEqual([cron.jobId, high.jobId]);
    expect(await filtered({ handler, status: 'SCHEDULED', priority: 'high' })).toEqual([high.jobId]);
    expect(await filtered({ priority: 'low' })).toEqual([]);
  });

  it('a job is shown as running while a run of it lives, unless a person paused or cancelled it', async () => {
    const { world } = stage;
    const { jobs, leases, runs } = world.storage;
    const userId = newId<string>();
    const shownAs = async (jobId: JobId) => {
      const shown = (await jobs.list({ userId, limit: 10 })).shown.get(jobId)!;
      expect(await list({ status: shown })).toContain(jobId);
      expect(await list({ userId, status: shown })).toContain(jobId);
      const sorted = await jobs.listSorted({
        userId,
        status: shown,
        by: 'name',
        descending: false,
        limit: 10,
      });
      expect(sorted).toContainEqual(expect.objectContaining({ shown }));
      for (const other of SHOWN_JOB_STATUSES.filter((status) => status !== shown))
        expect(await list({ userId, status: other })).not.toContain(jobId);
      const { isRunning, isWaiting } = await runs.activityOfJob(jobId, BASE_MS);
      const { status } = (await jobs.get(jobId))!;
      expect(shownStatus(status, { isRunning, isWaiting })).toBe(shown);
      expect(await list({ userId, ownStatus: status })).toContain(jobId);
      return shown;
    };
    const { job } = await world.oneOff({ job: { userId, maxConcurrency: 1 } });
    expect(await shownAs(job.jobId)).toBe('SCHEDULED');
    const first = await world.claimOne(job);
    await jobs.enqueue(job.jobId, manualRun());
    expect(await shownAs(job.jobId)).toBe('RUNNING');
    await world.admit(job);
    expect(await runs.activityOfJob(job.jobId, BASE_MS)).toEqual({
      ...{ isRunning: true, isWaiting: true, waitingRuns: 1, waitsFor: { code: 'at_limit' } },
    });
    await world.settle(first, {
      status: 'FAILED',
      error: 'no',
      next: { kind: 'dead', reason: 'not_retryable' },
    });
    expect(await world.statusOf(job.jobId)).toBe('FAILED');
    expect(await shownAs(job.jobId)).toBe('SCHEDULED');
    const second = await world.claimOne(job);
    expect(await shownAs(job.jobId)).toBe('RUNNING');
    await leases.settle([settlement(second)], BASE_MS);
    expect(await shownAs(job.jobId)).toBe('COMPLETED');

    const recurring = await world.recurring({ job: { userId } });
    await world.fire(recurring);
    const living = await world.claimOne(recurring);
    expect(await shownAs(recurring.jobId)).toBe('RUNNING');
    await world.pause(recurring.jobId);
    expect(await shownAs(recurring.jobId)).toBe('PAUSED');
    await world.cancelJob(recurring.jobId);
    expect(await shownAs(recurring.jobId)).toBe('CANCELLED');
    await world.settle(living);
    expect(await shownAs(recurring.jobId)).toBe('CANCELLED');
  });

  it('the last attempt of each job is read for many jobs at once', async () => {
    const { world } = stage;
    const { runs } = world.storage;
    const never = await world.recurring();
    const ended = (await world.oneOff()).job;
    await world.settle(await world.claimOne(ended), { endedAtMs: BASE_MS + 5 }, BASE_MS + 5);
    const alive = await world.recurring();
    await world.fire(alive);
    await world.settle(await world.claimOne(alive), {}, BASE_MS);
    await world.storage.jobs.enqueue(alive.jobId, manualRun());
    const living = await world.claimOne(alive);
    await world.storage.jobs.enqueue(alive.jobId, manualRun());
    const last = await runs.lastOfJobs([never, ended, alive].map(({ jobId }) => jobId));
    expect([...last.keys()].toSorted()).toEqual([ended.jobId, alive.jobId].toSorted());
    expect(last.get(ended.jobId)).toMatchObject({ status: 'SUCCESS', endedAtMs: BASE_MS + 5 });
    expect(last.get(alive.jobId)).toMatchObject({ status: 'CLAIMED', runId: living.runId });
    expect(await runs.lastOfJobs([])).toEqual(new Map());
  });

  it('every filter finds its jobs, whatever index serves it', async () => {
    const { world } = stage;
    const labels = { team: 'billing', tier: 'gold' };
    const plain = await made({ name: 'Plain one' });
    const labelled = await made({ name: 'Monthly INVOICE', labels, createdAtMs: BASE_MS + HOUR_MS });
    const elsewhere = await made({ namespace: 'team-a', userId: 'ann', labels: { team: 'billing' } });
    const cron = (await world.recurring({ job: { namespace: 'team-b', priority: 'high' } })).jobId;

    expect(await list({})).toEqual([cron, elsewhere, labelled, plain]);
    expect(await list({ order: 'oldest' })).toEqual([plain, labelled, elsewhere, cron]);
    expect(await list({ namespace: 'default' })).toEqual([labelled, plain]);
    expect(await list({ namespace: 'team-a' })).toEqual([elsewhere]);
    expect(await list({ namespace: 'team-a', userId: 'ann' })).toEqual([elsewhere]);
    expect(await list({ namespace: 'team-b', userId: 'ann' })).toEqual([]);
    expect(await list({ labels: { team: 'billing' } })).toEqual([elsewhere, labelled]);
    expect(await list({ labels })).toEqual([labelled]);
    expect(await list({ labels: { team: 'nobody' } })).toEqual([]);
    expect(await list({ labels: { team: 'billing' }, namespace: 'team-a' })).toEqual([elsewhere]);
    expect(await list({ text: 'invoice' })).toEqual([labelled]);
    expect(await list({ text: '%' })).toEqual([]);
    expect(await list({ createdFromMs: BASE_MS + 1 })).toEqual([labelled]);
    expect(await list({ createdToMs: BASE_MS + HOUR_MS, namespace: 'default' })).toEqual([plain]);
    expect(await list({ scheduleTypes: ['CRON', 'INTERVAL'] })).toEqual([cron]);
    expect(await list({ status: 'SCHEDULED', priority: 'high' })).toEqual([cron]);
  });

  it('pages of both orders join without a gap, for every filter', async () => {
    const userId = newId<string>();
    const ids: JobId[] = [];
    for (let i = 0; i < 5; i += 1) {
      ids.push(await made({ userId, namespace: 'paged', labels: { page: 'yes' }, name: `paged ${i}` }));
    }
    const filters: Partial<JobQuery>[] = [
      {},
      { userId },
      { namespace: 'paged' },
      { labels: { page: 'yes' } },
      { status: 'SCHEDULED' },
      { text: 'paged' },
    ];
    for (const filter of filters) {
      for (const order of ['newest', 'oldest'] as const) {
        const read: JobId[] = [];
        for (let pages = 0; pages < 4; pages += 1) {
          const afterJobId = read.at(-1);
          read.push(...(await list({ ...filter, order, limit: 2, ...(afterJobId && { afterJobId }) })));
        }
        expect(read).toEqual(order === 'oldest' ? ids : ids.toReversed());
        expect(await list({ ...filter, order, limit: 2, offset: 4 })).toEqual(read.slice(4));
      }
    }
  });

  it('the status that is listed is the one that is shown, through the whole life of a job', async () => {
    const { world } = stage;
    const everywhere = async (jobId: JobId) => {
      const found = await Promise.all(
        SHOWN_JOB_STATUSES.map(async (status) => (await list({ status })).includes(jobId)),
      );
      return SHOWN_JOB_STATUSES.filter((_, i) => found[i]);
    };
    const { job } = await world.oneOff();
    expect(await everywhere(job.jobId)).toEqual(['SCHEDULED']);
    await world.pause(job.jobId);
    expect(await everywhere(job.jobId)).toEqual(['PAUSED']);
    await world.change(job.jobId, { status: 'SCHEDULED' }, { kind: 'release' });
    const run = await world.claimOne(job);
    expect(await everywhere(job.jobId)).toEqual(['RUNNING']);
    await world.settle(run);
    expect(await everywhere(job.jobId)).toEqual(['COMPLETED']);

    const { job: failing } = await world.oneOff();
    await world.settle(await world.claimOne(failing), {
      status: 'FAILED',
      error: 'no',
      next: { kind: 'dead', reason: 'retries_exhausted' },
    });
    expect(await everywhere(failing.jobId)).toEqual(['FAILED']);
    const cancelled = await world.recurring();
    await world.change(cancelled.jobId, { status: 'CANCELLED' }, { kind: 'drop' });
    expect(await everywhere(cancelled.jobId)).toEqual(['CANCELLED']);
  });

  it('what fires next is read in order, within the window and the places that are seen', async () => {
    const { world } = stage;
    const late = await world.oneOff({
      atMs: BASE_MS + 3 * MINUTE_MS,
      job: { name: 'late', namespace: 'team-a' },
    });
    const cron = await world.recurring({
      atMs: BASE_MS + MINUTE_MS,
      job: { priority: 'high', userId: 'ann' },
    });
    await world.oneOff({ atMs: BASE_MS + HOUR_MS });
    await world.oneOff({ atMs: BASE_MS });
    const held = await world.recurring({ atMs: BASE_MS + SECOND_MS });
    await world.pause(held.jobId);

    const upcoming = async (over: Partial<UpcomingQuery> = {}) => {
      const { fires, partial } = await world.storage.jobs.upcoming({
        fromMs: BASE_MS,
        untilMs: BASE_MS + 5 * MINUTE_MS,
        visible: undefined,
        limit: 10,
        ...over,
      });
      expect(partial).toBe(false);
      return fires;
    };
    expect(await upcoming()).toEqual([
      {
        job: {
          ...{ jobId: cron.jobId, name: cron.name, namespace: 'default', userId: 'ann' },
          ...{ handler: cron.handler, priority: 'high' },
        },
        fireAtMs: BASE_MS + MINUTE_MS,
        cursor: { schedule: cron.schedule, nominalAtMs: BASE_MS + MINUTE_MS },
      },
      {
        job: {
          ...{ jobId: late.job.jobId, name: 'late', namespace: 'team-a', userId: undefined },
          ...{ handler: cron.handler, priority: 'medium' },
        },
        fireAtMs: BASE_MS + 3 * MINUTE_MS,
        cursor: undefined,
      },
    ]);
    const seen = async (over: Partial<UpcomingQuery>) => (await upcoming(over)).map(({ job }) => job.jobId);
    expect(await seen({ limit: 1 })).toEqual([cron.jobId]);
    expect(await seen({ visible: [{ namespace: 'team-a', userId: undefined }] })).toEqual([late.job.jobId]);
    expect(await seen({ visible: [{ namespace: '*', userId: 'ann' }] })).toEqual([cron.jobId]);
    expect(await seen({ visible: [] })).toEqual([]);
  });

  it('a run is added once, however often and however fast it is asked for', async () => {
    const { world } = stage;
    const { jobs } = world.storage;
    const cron = await world.recurring({ atMs: BASE_MS + HOUR_MS });
    const run: NewRun = {
      runId: newId<RunId>(),
      ...{ fireAtMs: BASE_MS, nominalAtMs: BASE_MS, trigger: 'manual', endsJob: false },
    };
    const answers = await Promise.all(Array.from({ length: 5 }, () => jobs.enqueueOnce(cron.jobId, run)));
    expect(answers.toSorted()).toEqual(['added', 'known', 'known', 'known', 'known']);
    const claimed = await world.claim(await world.pendingRuns(cron));
    expect(await jobs.enqueueOnce(cron.jobId, run)).toBe('known');
    await world.settle(claimed.runs[0]!);
    expect(await jobs.enqueueOnce(cron.jobId, run)).toBe('known');
    expect(await jobs.enqueueOnce(newId<JobId>(), { ...run, runId: newId<RunId>() })).toBe('refused');
  });

  it('held runs are counted by worker', async () => {
    const { world } = stage;
    expect(await world.storage.members.leasedRuns()).toEqual(new Map());
    const { job } = await world.oneOff();
    const run = await world.claimOne(job);
    expect(await world.storage.members.leasedRuns()).toEqual(new Map([[world.workerId, 1]]));
    await world.settle(run);
    expect([...(await world.storage.members.leasedRuns()).values()].filter((count) => count > 0)).toEqual([]);
  });
}

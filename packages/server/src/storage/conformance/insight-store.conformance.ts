/** The promises of InsightStore: strips of outcomes, who holds the slots of a job, where a run stands, and what ids and names begin with. */
import type { Job, JobId, RunId } from '@carillon/domain';
import { expect, it } from 'vitest';
import type { FiresAt, FiresQuery } from '../insight-store.ts';
import { EVERY_MINUTE, newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { manualRun, useStorageWorld } from './storage-world.ts';

const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export function describeInsightStore(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const store = () => stage.world.storage.insight;
  const later = { atMs: BASE_MS + HOUR_MS };

  /** A run of the job that ended at this second. */
  async function ended(
    job: Job,
    second: number,
    over: { status?: 'FAILED'; again?: boolean } = {},
  ): Promise<RunId> {
    const { world } = stage;
    const nowMs = BASE_MS + second * SECOND_MS;
    const waiting = await world.pendingRuns(job);
    if (waiting.length === 0) await world.storage.jobs.enqueue(job.jobId, manualRun(nowMs));
    const run = await world.claimOne(job, { nowMs });
    const next = over.again
      ? ({ kind: 'again', atMs: nowMs, attempt: run.attempt + 1, crashes: 0 } as const)
      : ({ kind: 'finish' } as const);
    await world.settle(
      run,
      { status: over.status ?? 'SUCCESS', startedAtMs: nowMs, endedAtMs: nowMs + 250, next },
      nowMs + 250,
    );
    return run.runId;
  }

  it('jobs that fire next at an instant are counted by their rules, in one namespace, without paused ones', async () => {
    const { world } = stage;
    const fires = (over: Partial<FiresQuery> = {}) =>
      store().firesAt({
        ...{ atMs: [later.atMs, BASE_MS], namespace: 'default', visible: undefined, exceptJobId: undefined },
        ...over,
      });
    expect(await fires()).toEqual([]);
    const [one, paused] = [await world.recurring(later), await world.recurring(later)];
    await world.recurring(later);
    await world.recurring({
      ...later,
      job: { userId: 'ann', schedule: { ...EVERY_MINUTE, zone: 'Europe/Paris' } },
    });
    await world.recurring({ ...later, job: { namespace: 'elsewhere' } });
    await world.recurring({ atMs: later.atMs + 1 });
    await world.oneOff(later);
    await world.pause(paused.jobId);
    const counted = (found: readonly FiresAt[]) =>
      found.map(({ atMs, schedule, count }) => [atMs, schedule.zone, count]).toSorted();
    const all = await fires();
    expect(counted(all)).toEqual([
      [later.atMs, 'Europe/Paris', 1],
      [later.atMs, 'UTC', 2],
    ]);
    expect(all.some(({ partial }) => partial)).toBe(false);
    expect(counted(await fires({ exceptJobId: one.jobId }))).toContainEqual([later.atMs, 'UTC', 1]);
    expect(counted(await fires({ namespace: 'elsewhere' }))).toEqual([[later.atMs, 'UTC', 1]]);
    const visible = [{ namespace: 'default', userId: 'ann' }];
    expect(counted(await fires({ visible }))).toEqual([[later.atMs, 'Europe/Paris', 1]]);
    expect(await fires({ atMs: [] })).toEqual([]);
  });

  it('a strip has the newest runs of each job, one entry per run, living ones first', async () => {
    const { world } = stage;
    const [busy, never] = [await world.recurring(later), await world.recurring(later)];
    const first = await ended(busy, 1);
    const retried = await ended(busy, 2, { status: 'FAILED', again: true });
    expect(await ended(busy, 3)).toBe(retried);
    await world.storage.jobs.enqueue(busy.jobId, manualRun());
    const alive = await world.claimOne(busy, { nowMs: BASE_MS + MINUTE_MS });
    const strips = await store().strips({
      ...{ jobIds: [never.jobId, busy.jobId, newId<JobId>()], runs: 10, visible: undefined },
    });
    expect([...strips.keys()].sort()).toEqual([busy.jobId, never.jobId].sort());
    expect(strips.get(never.jobId)).toEqual([]);
    expect(strips.get(busy.jobId)).toEqual([
      {
        ...{ runId: alive.runId, status: 'CLAIMED', attempt: 1, scheduledAtMs: BASE_MS },
        ...{ startedAtMs: undefined, endedAtMs: undefined },
      },
      {
        ...{ runId: retried, status: 'SUCCESS', attempt: 2, scheduledAtMs: BASE_MS + 2 * SECOND_MS },
        ...{ startedAtMs: BASE_MS + 3 * SECOND_MS, endedAtMs: BASE_MS + 3 * SECOND_MS + 250 },
      },
      {
        ...{ runId: first, status: 'SUCCESS', attempt: 1, scheduledAtMs: BASE_MS + SECOND_MS },
        ...{ startedAtMs: BASE_MS + SECOND_MS, endedAtMs: BASE_MS + SECOND_MS + 250 },
      },
    ]);
    const short = await store().strips({ jobIds: [busy.jobId], runs: 2, visible: undefined });
    expect(short.get(busy.jobId)?.map(({ runId }) => runId)).toEqual([alive.runId, retried]);
    expect(await store().strips({ jobIds: [], runs: 2, visible: undefined })).toEqual(new Map());
  });

  it('strips of jobs that are not visible are left out', async () => {
    const { world } = stage;
    const own = await world.recurring({ ...later, job: { namespace: 'team-a', userId: 'ann' } });
    const other = await world.recurring({ ...later, job: { namespace: 'team-a', userId: 'bob' } });
    const jobIds = [own.jobId, other.jobId];
    const seen = async (visible: { namespace: string; userId: string | undefined }[]) => [
      ...(await store().strips({ jobIds, runs: 1, visible })).keys(),
    ];
    expect(await seen([{ namespace: 'team-a', userId: 'ann' }])).toEqual([own.jobId]);
    expect((await seen([{ namespace: 'team-a', userId: undefined }])).sort()).toEqual(jobIds.sort());
    expect(await seen([{ namespace: 'team-b', userId: undefined }])).toEqual([]);
    expect(await seen([])).toEqual([]);
  });

  it('who holds the slots of a job, and how many wait before a run at its limit', async () => {
    const { world } = stage;
    const job = await world.recurring({ ...later, job: { maxConcurrency: 2 } });
    expect(await store().slotHolders(job.jobId, 10)).toEqual([]);
    const runs = [0, 1, 2, 3].map((n) => manualRun(BASE_MS + n));
    for (const run of runs.slice(0, 1)) await world.storage.jobs.enqueue(job.jobId, run);
    const alive = await world.claimOne(job);
    for (const run of runs.slice(1)) await world.storage.jobs.enqueue(job.jobId, run);
    await world.admit(job, { nowMs: BASE_MS + SECOND_MS });
    const [, open, next, last] = runs.map(({ runId }) => runId);
    expect(await store().slotHolders(job.jobId, 10)).toEqual([
      { runId: alive.runId, workerId: world.workerId, claimedAtMs: BASE_MS },
      { runId: open, workerId: undefined, claimedAtMs: undefined },
    ]);
    expect(await store().slotHolders(job.jobId, 1)).toHaveLength(1);
    expect(await store().standing(open!)).toMatchObject({ ahead: 0 });
    expect(await store().standing(next!)).toMatchObject({ ahead: 0, fireAtMs: BASE_MS + 2 });
    expect(await store().standing(last!)).toMatchObject({ ahead: 1, expiresAtMs: undefined });
    expect(await store().standing(alive.runId)).toBeUndefined();
    expect(await store().standing(newId<RunId>())).toBeUndefined();
  });

  it('an open run stands behind those of its owner, handler and priority that may start before it', async () => {
    const { world } = stage;
    const at = (n: number, job: Partial<Job> = {}) => world.oneOff({ atMs: BASE_MS + n, job });
    await at(1);
    await at(2);
    await at(1, { handler: 'other' });
    await at(1, { priority: 'high' });
    await at(1, { userId: 'bob' });
    const { runId, job } = await at(3, { startTimeoutMs: 5_000 });
    await at(4);
    expect(await store().standing(runId)).toEqual({
      ...{ fireAtMs: BASE_MS + 3, expiresAtMs: BASE_MS + 5_003, ahead: 2 },
    });
    const asked = manualRun(BASE_MS + 5);
    await world.storage.jobs.enqueue(job.jobId, asked);
    expect((await store().standing(asked.runId))?.ahead).toBeUndefined();
  });

  it('jobs and runs are found by what their ids begin with, if they are visible', async () => {
    const { world } = stage;
    const { job: once } = await world.oneOff({ job: { namespace: 'team-a', name: 'once', key: 'a-key' } });
    const job = await world.recurring({ ...later, job: { namespace: 'team-b', userId: 'ann' } });
    const done = await ended(job, 1);
    await world.storage.jobs.enqueue(job.jobId, manualRun());
    const alive = await world.claimOne(job);
    const waits = manualRun();
    await world.storage.jobs.enqueue(job.jobId, waits);
    const all = { first: FIRST, last: LAST, visible: undefined, limit: 10 };
    const jobs = await store().jobsByIds(all);
    expect(jobs).toEqual({ found: expect.any(Array), partial: false });
    expect(jobs.found.map(({ jobId }) => jobId)).toEqual([job.jobId, once.jobId]);
    expect(jobs.found[1]).toEqual({
      ...{
        jobId: once.jobId,
        name: 'once',
        namespace: 'team-a',
        userId: undefined,
        handler: 'http',
        key: 'a-key',
      },
    });
    const one = { ...all, first: once.jobId, last: once.jobId };
    expect((await store().jobsByIds(one)).found.map(({ jobId }) => jobId)).toEqual([once.jobId]);
    expect((await store().runsByIds(one)).found).toEqual([
      { runId: once.jobId, jobId: once.jobId, job: { name: 'once', namespace: 'team-a' } },
    ]);
    const runs = [waits.runId, alive.runId, done, once.jobId as string as RunId].sort().reverse();
    expect((await store().runsByIds(all)).found.map(({ runId }) => runId)).toEqual(runs);
    expect((await store().runsByIds({ ...all, limit: 1 })).found).toHaveLength(1);
    for (const visible of [[{ namespace: 'team-b', userId: 'bob' }], []]) {
      expect((await store().jobsByIds({ ...all, visible })).found).toEqual([]);
      expect((await store().runsByIds({ ...all, visible })).found).toEqual([]);
    }
    const own = { ...all, visible: [{ namespace: 'team-b', userId: 'ann' }] };
    expect((await store().jobsByIds(own)).found).toMatchObject([{ jobId: job.jobId }]);
    expect((await store().runsByIds(own)).found).toHaveLength(3);
  });

  it('recurring jobs are found by how their names begin, in any case, within namespaces', async () => {
    const { world } = stage;
    const names = ['Resize images', 'resize', 'report', 'res_ize', 'nightly resize', 'r%'];
    for (const name of names) await world.recurring({ ...later, job: { name, namespace: 'team-a' } });
    await world.recurring({ ...later, job: { name: 'RESIZE elsewhere', namespace: 'team-b' } });
    await world.oneOff({ job: { name: 'resize once', namespace: 'team-a' } });
    const found = async (prefix: string, namespaces?: readonly string[], limit = 10) =>
      (await store().jobsByName({ prefix, namespaces, limit })).map(({ name }) => name);
    expect(await found('resiZE')).toEqual(['resize', 'RESIZE elsewhere', 'Resize images']);
    expect(await found('resize', ['team-a'])).toEqual(['resize', 'Resize images']);
    expect(await found('resize', undefined, 1)).toEqual(['resize']);
    expect(await found('r%')).toEqual(['r%']);
    expect(await found('res_')).toEqual(['res_ize']);
    expect(await found('resize', [])).toEqual([]);
    expect(await found('resize', ['nowhere'])).toEqual([]);
  });
}

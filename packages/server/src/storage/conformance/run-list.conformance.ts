/** Runs across jobs: newest first, narrowed by what people ask for, read on by cursors that new runs do not move. */
import type { Job, RunId, WorkerId } from '@carillon/domain';
import { expect, it } from 'vitest';
import { errorGroupOf, shownFingerprint } from '../error-group.ts';
import type { ListedRun, RunQuery } from '../run-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, DAY_MS, HOUR_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { type End, manualRun, useStorageWorld } from './storage-world.ts';

const FAILED = { status: 'FAILED', error: 'Connection refused', next: { kind: 'finish' } } as const;
const NOW_MS = BASE_MS + HOUR_MS;

export function describeRunList(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  /** A one-off that was handed out at the instant and ended a second later, unless said otherwise. */
  async function ran(
    atMs: number,
    end: End = {},
    {
      endedMs = atMs + SECOND_MS,
      workerId,
      ...job
    }: Partial<Job> & { endedMs?: number; workerId?: WorkerId } = {},
  ): Promise<{ job: Job; runId: RunId }> {
    const { world } = stage;
    const made = await world.oneOff({ job });
    const run = await world.claimOne(made.job, { nowMs: atMs, ...(workerId && { workerId }) });
    await world.settle(run, { startedAtMs: atMs, endedAtMs: endedMs, ...end }, endedMs);
    return made;
  }

  async function claimed(atMs: number, job: Partial<Job> = {}) {
    const made = await stage.world.oneOff({ job });
    return { ...made, run: await stage.world.claimOne(made.job, { nowMs: atMs }) };
  }

  const list = (query: Partial<RunQuery> = {}) =>
    stage.world.storage.runs.list({ limit: 100, nowMs: NOW_MS, ...query });
  const ids = async (query: Partial<RunQuery> = {}) => (await list(query)).runs.map(({ run }) => run.runId);

  /** Page by page, to the end. */
  async function walk(query: Partial<RunQuery>, between: () => Promise<void> = async () => {}) {
    const found: ListedRun[] = [];
    let before: RunQuery['before'];
    for (let pages = 0; pages < 50; pages += 1) {
      const { runs, stoppedAt } = await list({ ...query, before });
      found.push(...runs);
      before = runs.length === (query.limit ?? 100) ? runs.at(-1)?.cursor : stoppedAt;
      if (before === undefined) return found;
      await between();
    }
    throw new Error('the list has no end');
  }

  it('what runs and what ended is listed in the order it was handed out, with the job of each', async () => {
    const first = await ran(
      BASE_MS,
      {},
      { name: 'first', namespace: 'team-a', userId: 'ann', handler: 'mail' },
    );
    const second = await claimed(BASE_MS + SECOND_MS, { name: 'second' });
    const third = await ran(BASE_MS + MINUTE_MS, FAILED, { name: 'third' });
    const { runs, stoppedAt } = await list();
    expect(stoppedAt).toBeUndefined();
    expect(runs.map(({ run, job }) => [run.runId, run.status, job?.name])).toEqual([
      [third.runId, 'FAILED', 'third'],
      [second.runId, 'CLAIMED', 'second'],
      [first.runId, 'SUCCESS', 'first'],
    ]);
    expect(runs[2]!.job).toEqual({ name: 'first', namespace: 'team-a', userId: 'ann', handler: 'mail' });
    expect(runs[0]!.run).toMatchObject({ error: 'Connection refused', jobId: third.job.jobId });
  });

  it('is narrowed by status, job, owner, handler, label, worker and error', async () => {
    const workerId = newId<WorkerId>();
    const failed = await ran(BASE_MS, FAILED, {
      namespace: 'team-a',
      userId: 'ann',
      labels: { team: 'a', env: 'x' },
    });
    const good = await ran(BASE_MS + SECOND_MS, {}, { handler: 'mail', workerId });
    const slow = await ran(BASE_MS + 2 * SECOND_MS, { status: 'TIMED_OUT', error: 'took 100% too long' });
    const alive = await claimed(BASE_MS + 3 * SECOND_MS);
    expect(await ids({ statuses: ['FAILED'] })).toEqual([failed.runId]);
    expect(await ids({ statuses: ['SUCCESS'] })).toEqual([good.runId]);
    expect(await ids({ statuses: ['TIMED_OUT', 'FAILED'] })).toEqual([slow.runId, failed.runId]);
    expect(await ids({ statuses: ['CLAIMED'] })).toEqual([alive.runId]);
    expect(await ids({ statuses: ['RUNNING'] })).toEqual([]);
    expect(await ids({ statuses: [] })).toHaveLength(4);
    expect(await ids({ jobId: failed.job.jobId })).toEqual([failed.runId]);
    expect(await ids({ jobId: failed.job.jobId, statuses: ['SUCCESS'] })).toEqual([]);
    expect(await ids({ namespace: 'team-a' })).toEqual([failed.runId]);
    expect(await ids({ userId: 'ann' })).toEqual([failed.runId]);
    expect(await ids({ handler: 'mail' })).toEqual([good.runId]);
    expect(await ids({ labels: { team: 'a' } })).toEqual([failed.runId]);
    expect(await ids({ labels: { team: 'a', env: 'y' } })).toEqual([]);
    expect(await ids({ workerId })).toEqual([good.runId]);
    expect(await ids({ workerId: alive.run ? stage.world.workerId : '' })).toEqual([
      alive.runId,
      slow.runId,
      failed.runId,
    ]);
    expect(await ids({ error: 'REFUSED' })).toEqual([failed.runId]);
    expect(await ids({ error: '100% too' })).toEqual([slow.runId]);
    expect(await ids({ error: '1_0' })).toEqual([]);
  });

  it('failures that are alike are found by the fingerprint of their group, each attempt of them', async () => {
    const said = (error: string) => ({ ...FAILED, error });
    const first = await ran(BASE_MS, said('the answer was 503'), { handler: 'http' });
    const second = await ran(BASE_MS + 1, said('the answer was 502'), { handler: 'http' });
    await ran(BASE_MS + 2, said('the answer was no JSON'), { handler: 'http' });
    await ran(BASE_MS + 3, said('the answer was 503'), { handler: 'mail' });
    await ran(BASE_MS + 4, {}, { handler: 'http' });
    await claimed(BASE_MS + 5, { handler: 'http' });
    const failureKey = 'a key';
    const { fingerprint } = errorGroupOf('http', 'the answer was 500');
    const { namespace } = first.job;
    const failure = shownFingerprint(failureKey, { namespace, fingerprint });
    expect(await ids({ failure, failureKey })).toEqual([second.runId, first.runId]);
    expect(await ids({ failure, failureKey: 'another key' })).toEqual([]);
    expect((await walk({ failure, failureKey, limit: 1 })).map(({ run }) => run.runId)).toEqual([
      second.runId,
      first.runId,
    ]);
    expect(await ids({ failure, failureKey, jobId: first.job.jobId })).toEqual([first.runId]);
    expect(await ids({ failure: 'another', failureKey })).toEqual([]);
  });

  it('since and until are about when runs were handed out; what failed is also found by when it ended', async () => {
    const overnight = await ran(BASE_MS, FAILED, { endedMs: BASE_MS + 3 * HOUR_MS });
    await ran(BASE_MS, {}, { endedMs: BASE_MS + 3 * HOUR_MS });
    const ago = await ran(BASE_MS, FAILED);
    const later = await ran(BASE_MS + 2 * HOUR_MS, {});
    const alive = await claimed(BASE_MS);
    const sinceMs = BASE_MS + 2 * HOUR_MS;
    const after = { sinceMs, nowMs: BASE_MS + 3 * HOUR_MS };
    expect(new Set(await ids(after))).toEqual(new Set([later.runId, alive.runId, overnight.runId]));
    expect(await ids({ ...after, statuses: ['FAILED'] })).toEqual([overnight.runId]);
    expect(await ids({ ...after, jobId: overnight.job.jobId })).toEqual([overnight.runId]);
    expect(await ids({ ...after, jobId: ago.job.jobId })).toEqual([]);
    expect(await ids({ untilMs: sinceMs, statuses: ['SUCCESS'] })).toHaveLength(1);
    expect(await ids({ untilMs: BASE_MS })).toEqual([]);
    expect(await ids({ untilMs: BASE_MS + 1, statuses: ['CLAIMED'] })).toEqual([alive.runId]);
    const long = await ran(BASE_MS, FAILED, { endedMs: BASE_MS + DAY_MS + HOUR_MS });
    expect(await ids({ sinceMs: BASE_MS + DAY_MS + 1, nowMs: BASE_MS + 2 * DAY_MS })).not.toContain(
      long.runId,
    );
  });

  it('only what the caller may see is listed, runs of deleted jobs only to whoever sees all', async () => {
    const [a, b] = [
      await ran(BASE_MS, FAILED, { namespace: 'team-a', userId: 'ann' }),
      await ran(BASE_MS + SECOND_MS, {}, { namespace: 'team-b' }),
    ];
    const gone = await ran(BASE_MS + 2 * SECOND_MS, FAILED);
    await stage.world.storage.jobs.remove(gone.job.jobId);
    expect(await ids()).toEqual([gone.runId, b.runId, a.runId]);
    expect((await list()).runs[0]!.job).toBeUndefined();
    expect(await ids({ jobId: gone.job.jobId })).toEqual([gone.runId]);
    const everyOwn = [{ namespace: '*', userId: 'ann' }];
    expect(await ids({ visible: everyOwn })).toEqual([a.runId]);
    expect(await ids({ visible: [{ namespace: 'team-b', userId: undefined }] })).toEqual([b.runId]);
    expect(await ids({ visible: [{ namespace: 'team-a', userId: 'bob' }] })).toEqual([]);
    expect(await ids({ visible: [] })).toEqual([]);
    expect(await ids({ visible: [], jobId: a.job.jobId })).toEqual([]);
  });

  it('results are left out unless they are asked for', async () => {
    await ran(BASE_MS, { result: '{"big":true}' });
    await ran(BASE_MS + SECOND_MS, { ...FAILED, result: '{"big":false}' });
    const results = async (query: Partial<RunQuery>) => (await list(query)).runs.map(({ run }) => run.result);
    expect(await results({})).toEqual([undefined, undefined]);
    expect(await results({ results: true })).toEqual(['{"big":false}', '{"big":true}']);
  });

  it('a walk by pages shows every run once, also what ends and what is added meanwhile', async () => {
    const { world } = stage;
    const made = [
      await ran(BASE_MS),
      await ran(BASE_MS, FAILED),
      await ran(BASE_MS),
      await ran(BASE_MS + 1, FAILED),
    ];
    const living = [await claimed(BASE_MS), await claimed(BASE_MS + 2), await claimed(BASE_MS + 3)];
    const expected = [...made, ...living].map(({ runId }) => runId);
    let pages = 0;
    const found = await walk({ limit: 2 }, async () => {
      const ending = living[pages++];
      if (ending) await world.settle(ending.run, FAILED, NOW_MS);
      await ran(NOW_MS + pages);
    });
    expect(found.map(({ run }) => run.runId).toSorted()).toEqual(expected.toSorted());
    expect((await walk({ limit: 1, statuses: ['SUCCESS'] })).length).toBe(2 + pages);
  });

  it('attempts of one run are entries of their own, also where they share their instant', async () => {
    const { world } = stage;
    const { job } = await world.oneOff();
    for (const epoch of [1, 2, 3]) {
      const run = await world.claimOne(job);
      const next = { kind: 'again', atMs: BASE_MS, attempt: 1, crashes: 0 } as const;
      await world.settle(run, epoch === 3 ? FAILED : { ...FAILED, next });
    }
    const found = await walk({ limit: 1 });
    expect(found.map(({ run }) => run.epoch)).toEqual([3, 2, 1]);
  });

  /** Failed so often, and then: waits for the next attempt, is handed out again, or has ended. */
  async function failedOften(times: number, then: 'waits' | 'lives' | 'failed' | 'succeeded') {
    const { world } = stage;
    const made = await world.oneOff();
    for (let attempt = 1; attempt <= times; attempt += 1) {
      const run = await world.claimOne(made.job, { nowMs: BASE_MS + attempt });
      const next = { kind: 'again', atMs: BASE_MS + attempt, attempt: attempt + 1, crashes: 0 } as const;
      const isLast = attempt === times && then === 'failed';
      await world.settle(run, isLast ? FAILED : { ...FAILED, next });
    }
    if (then === 'lives' || then === 'succeeded') {
      const run = await world.claimOne(made.job, { nowMs: BASE_MS + times + 1 });
      if (then === 'succeeded') await world.settle(run, {});
    }
    return made;
  }

  it('each run once, by its last attempt, however its attempts lie on pages', async () => {
    const failed = await failedOften(4, 'failed');
    const waits = await failedOften(3, 'waits');
    const lives = await failedOften(2, 'lives');
    const good = await failedOften(2, 'succeeded');
    const other = await ran(BASE_MS, FAILED);
    const shown = ({ run, triedAgain }: ListedRun) => [run.runId, run.status, run.attempt, triedAgain];
    const expected = [
      [failed.runId, 'FAILED', 4, false],
      [waits.runId, 'FAILED', 3, true],
      [lives.runId, 'CLAIMED', 3, false],
      [good.runId, 'SUCCESS', 3, false],
      [other.runId, 'FAILED', 1, false],
    ];
    for (const limit of [1, 2, 100]) {
      const found = await walk({ limit, lastAttempts: true });
      expect(found.map(shown).toSorted()).toEqual(expected.toSorted());
    }
    expect((await walk({ limit: 1, lastAttempts: true, statuses: ['FAILED'] })).length).toBe(3);
    const attempts = await walk({ limit: 2, statuses: ['FAILED'] });
    expect(attempts).toHaveLength(4 + 3 + 2 + 2 + 1);
    expect(
      attempts
        .filter(({ triedAgain }) => !triedAgain)
        .map(({ run }) => run.runId)
        .toSorted(),
    ).toEqual([failed.runId, other.runId].toSorted());
  });

  it('of one job, a run that waits for its next attempt is listed by that one, unless those that wait are not asked for', async () => {
    const { job } = await failedOften(2, 'waits');
    const query = { jobId: job.jobId, lastAttempts: true };
    const states = async (over: Partial<RunQuery> = {}) =>
      (await walk({ ...query, limit: 1, ...over })).map(({ run, triedAgain }) => [run.status, triedAgain]);
    expect(await states()).toEqual([['QUEUED', false]]);
    expect(await states({ statuses: ['FAILED'] })).toEqual([['FAILED', true]]);
    expect(await states({ error: 'refused' })).toEqual([['FAILED', true]]);
    expect(await states({ lastAttempts: false })).toEqual([
      ['QUEUED', false],
      ['FAILED', true],
      ['FAILED', true],
    ]);
  });

  it('what waits is listed of one job, or by itself; never among the runs of all jobs', async () => {
    const { world } = stage;
    const ended = await ran(BASE_MS);
    await world.storage.jobs.enqueue(ended.job.jobId, manualRun());
    const [older, newer] = [await world.oneOff(), await world.oneOff({ job: { namespace: 'team-a' } })];
    await world.oneOff({ atMs: NOW_MS + 1 });
    expect(await ids()).toEqual([ended.runId]);
    expect((await list({ jobId: ended.job.jobId })).runs.map(({ run }) => run.status).toSorted()).toEqual([
      'QUEUED',
      'SUCCESS',
    ]);
    expect(await ids({ jobId: ended.job.jobId, statuses: ['SUCCESS'] })).toEqual([ended.runId]);
    const waiting = await walk({ statuses: ['QUEUED'], limit: 1 });
    expect(waiting.map(({ run }) => run.jobId)).toEqual(
      [newer, older, ended]
        .map(({ job }) => job.jobId)
        .toSorted()
        .reverse(),
    );
    expect(waiting[0]!.run).toMatchObject({ status: 'QUEUED' });
    expect(await ids({ statuses: ['QUEUED'], namespace: 'team-a' })).toEqual([newer.runId]);
    expect(
      await ids({ statuses: ['QUEUED'], visible: [{ namespace: 'team-a', userId: undefined }] }),
    ).toEqual([newer.runId]);
    expect(await ids({ statuses: ['QUEUED'], error: 'x' })).toEqual([]);
  });
}

import type { JobId } from '@carillon/domain';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { laneOf } from '../../storage/lane.ts';
import { OperationsFixture } from '../operations.fixture.ts';

const MINUTE_MS = 60_000;

let fixture: OperationsFixture;
beforeEach(() => {
  fixture = new OperationsFixture();
});

async function create(input: Parameters<OperationsFixture['operations']['createJob']>[0]): Promise<JobId> {
  return (await fixture.operations.createJob(input)).jobId;
}

describe('an edit of other things than the schedule', () => {
  test('keeps the plan', async () => {
    const jobId = await create({ name: 'job', cronExpression: '0 9 * * *' });
    const [before] = await fixture.pendingOf(jobId);
    const job = await fixture.operations.updateJob(jobId, {
      name: 'renamed',
      priority: 'high',
      handler: 'mail',
    });
    expect(job).toMatchObject({ name: 'renamed', version: 2, status: 'SCHEDULED' });
    const rows = await fixture.pendingOf(jobId);
    expect(rows).toEqual([{ ...before, jobVersion: 2 }]);
  });

  test('takes effect on a run that waits, which is announced in the lane it is in now', async () => {
    const jobId = await create({ name: 'job', scheduleTime: '2030-01-02T00:00:00Z' });
    const [before] = await fixture.pendingOf(jobId);
    const job = await fixture.operations.updateJob(jobId, { priority: 'high', handler: 'mail' });
    expect(await fixture.pendingOf(jobId)).toEqual([{ ...before, priority: 'high', handler: 'mail' }]);
    const heads = await fixture.storage.leases.lanes({ after: undefined, limit: 2 });
    expect(heads).toMatchObject([laneOf(job)]);
    const [hint] = fixture.sentAs('runs-open').at(-1)!.lanes;
    expect(hint).toEqual({ ...laneOf(job), atMs: fixture.clock.now() });
  });

  test('tells the owner of its shard, and those who may start under a new limit', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    const job = await fixture.operations.updateJob(jobId, { maxConcurrency: 2 });
    const due = { shard: job.shard, atMs: fixture.clock.now() };
    expect(fixture.sentAs('shards-due').at(-1)).toEqual({ shards: [due] });
    expect(fixture.sentAs('slots-freed')).toEqual([{ jobIds: [jobId] }]);
  });

  test('that spells the same payload in another order writes nothing', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily', payload: { b: 1, a: { d: [1], c: 'x' } } });
    const same = { a: { c: 'x', d: [1] }, b: 1 };
    expect(await fixture.operations.updateJob(jobId, { payload: same })).toMatchObject({
      version: 1,
      changed: false,
    });
    const other = { ...same, b: 2 };
    expect(await fixture.operations.updateJob(jobId, { payload: other })).toMatchObject({
      version: 2,
      changed: true,
    });
  });

  test('that changes nothing writes nothing', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily', payload: { b: 1, a: 2 } });
    const job = await fixture.operations.updateJob(jobId, {
      name: 'job',
      frequency: 'daily',
      priority: 'medium',
    });
    expect(job.version).toBe(1);
    expect(fixture.sentAs('events-recorded')).toHaveLength(1);
    expect(fixture.sentAs('shards-due')).toHaveLength(1);
  });
});

describe('an edit of the schedule', () => {
  test('replaces the plan with the first occurrence after now', async () => {
    const jobId = await create({ name: 'job', cronExpression: '0 9 * * *' });
    await fixture.operations.updateJob(jobId, { cronExpression: '0 15 * * *' });
    const atMs = Date.UTC(2030, 0, 1, 15);
    const [cursor, ...others] = await fixture.pendingOf(jobId);
    expect(cursor).toMatchObject({ nominalAtMs: atMs, jobVersion: 2 });
    expect(others).toEqual([]);
    expect(fixture.sentAs('shards-due')).toContainEqual({ shards: [{ shard: cursor!.shard, atMs }] });
  });

  test('never goes back to an occurrence that was fired, even when the clock was set back', async () => {
    const jobId = await create({ name: 'job', interval: '1m' });
    fixture.clock.advance(MINUTE_MS);
    expect(await fixture.fireDue()).toEqual([fixture.clock.now()]);
    const lastMs = fixture.clock.now();
    fixture.clock.step(-10 * MINUTE_MS);
    await fixture.operations.updateJob(jobId, { interval: '30s' });
    const cursor = await fixture.cursorOf(jobId);
    expect(cursor?.nominalAtMs).toBe(lastMs + 30_000);
  });

  test('keeps an occurrence that is due and was not fired yet (hazard 11)', async () => {
    const jobId = await create({ name: 'job', cronExpression: '0 13 * * *' });
    fixture.clock.advance(60 * MINUTE_MS + 5);
    await fixture.operations.updateJob(jobId, { cronExpression: '30 13 * * *' });
    expect(await fixture.fireDue()).toEqual([Date.UTC(2030, 0, 1, 13)]);
    const cursor = await fixture.cursorOf(jobId);
    expect(cursor?.nominalAtMs).toBe(Date.UTC(2030, 0, 1, 13, 30));
  });

  test('makes what a scheduler still holds in memory worthless (hazard 11)', async () => {
    const jobId = await create({ name: 'job', cronExpression: '0 13 * * *' });
    const stale = await fixture.cursorOf(jobId);
    await fixture.operations.updateJob(jobId, { cronExpression: '0 18 * * *' });
    fixture.clock.advance(60 * MINUTE_MS);
    expect(await fixture.fire(stale!)).toEqual([]);
    expect(await fixture.fireDue()).toEqual([]);
  });

  test('moves a one-off that has not begun', async () => {
    const jobId = await create({ name: 'job', scheduleTime: '2030-01-02T00:00:00Z' });
    await fixture.operations.updateJob(jobId, { scheduleTime: '2030-01-03T00:00:00Z' });
    expect(await fixture.pendingOf(jobId)).toMatchObject([{ fireAtMs: Date.UTC(2030, 0, 3), attempt: 1 }]);
  });

  test('brings an ended job back, and leaves a paused one paused', async () => {
    const jobId = await create({ name: 'job' });
    await fixture.settle(await fixture.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    expect((await fixture.operations.getJob(jobId)).job.status).toBe('COMPLETED');
    expect((await fixture.operations.updateJob(jobId, { frequency: 'daily' })).status).toBe('SCHEDULED');
    await fixture.operations.pauseJob(jobId);
    expect((await fixture.operations.updateJob(jobId, { frequency: 'weekly' })).status).toBe('PAUSED');
    expect(await fixture.pendingOf(jobId)).toEqual([]);
    await fixture.operations.resumeJob(jobId);
    expect(await fixture.pendingOf(jobId)).toHaveLength(1);
  });

  test('into one that never fires again is refused and changes nothing', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    const edit = fixture.operations.updateJob(jobId, { endAt: '2029-01-01T00:00:00Z' });
    await expect(edit).rejects.toMatchObject({ code: 'schedule_never_fires', field: 'end_at' });
    expect((await fixture.operations.getJob(jobId)).job.version).toBe(1);
  });
});

describe('edits that meet', () => {
  test('are all applied, one after the other', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    const [a, b] = await Promise.all([
      fixture.operations.updateJob(jobId, { priority: 'high' }),
      fixture.operations.updateJob(jobId, { maxRetries: 9 }),
    ]);
    expect([a.version, b.version].sort()).toEqual([2, 3]);
    const { job } = await fixture.operations.getJob(jobId);
    expect(job).toMatchObject({ priority: 'high', retry: { maxRetries: 9 }, version: 3 });
  });

  test('give up with job_changed when the job never stands still', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    let applies = 0;
    fixture.storage.jobs.apply = async () => {
      applies += 1;
      return false;
    };
    await expect(fixture.operations.pauseJob(jobId)).rejects.toMatchObject({ code: 'job_changed' });
    expect(applies).toBe(5);
  });

  test('are refused when the caller names another version', async () => {
    const jobId = await create({ name: 'job' });
    const edit = (ifVersion: number[]) => fixture.operations.updateJob(jobId, { name: 'new' }, { ifVersion });
    await expect(edit([7])).rejects.toMatchObject({ code: 'version_mismatch' });
    expect((await edit([7, 1])).version).toBe(2);
  });

  test('are refused for jobs that are cancelled or not there', async () => {
    const jobId = await create({ name: 'job' });
    await fixture.operations.cancelJob(jobId);
    const refused = { code: 'job_cancelled' };
    await expect(fixture.operations.updateJob(jobId, { frequency: 'daily' })).rejects.toMatchObject(refused);
    const missing = fixture.operations.updateJob('00000000-0000-7000-8000-000000000000' as JobId, {});
    await expect(missing).rejects.toMatchObject({ code: 'job_not_found' });
  });
});

test('whatever edits fall between, every occurrence of the unchanged rule fires exactly once', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 90_000 }) }),
    fc.record({ kind: fc.constant('fire' as const) }),
    fc.record({
      kind: fc.constant('rename' as const),
      to: fc.string({ minLength: 3, unit: fc.constantFrom('a', 'b') }),
    }),
    fc.record({ kind: fc.constant('spread' as const), seconds: fc.integer({ min: 0, max: 50 }) }),
    fc.record({ kind: fc.constant('pause and resume' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const local = new OperationsFixture();
      const startMs = local.clock.now();
      const { jobId } = await local.operations.createJob({
        name: 'job',
        cronExpression: '* * * * *',
        misfire: { policy: 'all', maxRuns: 1_000 },
      });
      const fired: number[] = [];
      for (const taken of steps) {
        if (taken.kind === 'wait') local.clock.advance(taken.ms);
        if (taken.kind === 'fire') fired.push(...(await local.fireDue()));
        if (taken.kind === 'rename') await local.operations.updateJob(jobId, { name: taken.to });
        if (taken.kind === 'spread')
          await local.operations.updateJob(jobId, { spreadSeconds: taken.seconds });
        if (taken.kind === 'pause and resume') {
          await local.operations.pauseJob(jobId);
          await local.operations.resumeJob(jobId);
        }
      }
      local.clock.advance(2 * MINUTE_MS);
      fired.push(...(await local.fireDue()));
      const expected: number[] = [];
      for (let atMs = startMs + MINUTE_MS; atMs <= local.clock.now() - MINUTE_MS; atMs += MINUTE_MS)
        expected.push(atMs);
      expect(fired.slice(0, expected.length)).toEqual(expected);
      expect(new Set(fired).size).toBe(fired.length);
    }),
    { numRuns: 200 },
  );
});

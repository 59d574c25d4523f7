import { type Action, type Caller, type Grant, type JobInput, SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { OperationsFixture } from '../operations.fixture.ts';
import type { ApplyRequest } from './apply-job.ts';

const DAY_MS = 86_400_000;
const REPORT: JobInput = {
  cronExpression: '0 9 * * *',
  timeZone: 'Europe/Paris',
  payload: { b: [1, { c: null }], a: 1 },
  labels: { team: 'billing' },
  retry: { strategy: 'fixed', delaySeconds: 5 },
};

let fixture: OperationsFixture;
beforeEach(() => {
  fixture = new OperationsFixture();
});

const apply = (input: JobInput, over: Partial<ApplyRequest> = {}) =>
  fixture.operations.applyJob({ key: 'report', input, ...over });
/** What a change would leave behind. */
const traces = async () => {
  const { events } = await fixture.operations.readEvents({ filter: {}, after: undefined, limit: 100 });
  return { audit: await fixture.storage.audit.list({ limit: 100 }), events, sent: [...fixture.sent] };
};
const caller = (grant: Partial<Grant>, userId?: string): Caller => ({
  ...SERVER,
  kind: 'key',
  userId,
  grants: [{ namespace: 'default', role: 'editor', ownOnly: false, ...grant }],
});

describe('a definition', () => {
  test('makes the job the first time; the second time nothing changes: no version, no entry, no event', async () => {
    const made = await apply(REPORT);
    expect(made).toMatchObject({ outcome: 'created', before: undefined });
    expect(made.job).toMatchObject({ key: 'report', name: 'report', version: 1, status: 'SCHEDULED' });
    const before = await traces();
    fixture.clock.advance(DAY_MS / 2);
    const again = await apply({
      ...REPORT,
      payload: { a: 1, b: [1, { c: null }] },
    });
    expect(again).toMatchObject({ outcome: 'unchanged', job: { jobId: made.job.jobId, version: 1 } });
    expect(await traces()).toEqual(before);
    expect(await fixture.pending()).toHaveLength(1);
  });

  test('is complete: what is left out returns to its default, but the job stays whose it is', async () => {
    const { job } = await apply({ ...REPORT, name: 'Report', userId: 'ada', priority: 'high' });
    const { outcome, job: replaced } = await apply({ cronExpression: '0 9 * * *' });
    expect(outcome).toBe('updated');
    expect(replaced).toMatchObject({
      ...{ jobId: job.jobId, version: 2, name: 'report', userId: 'ada', priority: 'medium' },
      ...{ labels: {}, payload: '{}', handler: 'default', retry: { strategy: 'exponential' } },
    });
    expect(replaced.schedule).toMatchObject({ zone: 'UTC' });
    const { audit } = await traces();
    expect(audit[0]).toMatchObject({ action: 'jobs.update', subject: { id: job.jobId } });
  });

  test('of an interval means the same at any later time: it is counted from when the job was made', async () => {
    const { job } = await apply({ interval: '45m' });
    fixture.clock.advance(DAY_MS + 7);
    expect((await apply({ interval: '45m' })).outcome).toBe('unchanged');
    await fixture.operations.updateJob(job.jobId, { scheduleTime: '2030-01-01T00:00:00Z' });
    const { job: back, outcome } = await apply({ interval: '45m' });
    expect([outcome, back.schedule]).toEqual(['updated', job.schedule]);
  });

  test('that is not valid is refused, whether the job is there or not', async () => {
    const refused = { code: 'cron_invalid', field: 'cron_expression' };
    await expect(apply({ cronExpression: '61 * * * *' })).rejects.toMatchObject(refused);
    await apply(REPORT);
    await expect(apply({ cronExpression: '61 * * * *' })).rejects.toMatchObject(refused);
    await expect(apply(REPORT, { namespace: 'nowhere' })).rejects.toMatchObject({
      code: 'namespace_not_found',
    });
  });

  test('in a dry run tells what would be, and changes nothing', async () => {
    expect(await apply(REPORT, { dryRun: true })).toMatchObject({ outcome: 'created' });
    expect(await traces()).toEqual({ audit: [], events: [], sent: [] });
    const { job } = await apply(REPORT);
    const before = await traces();
    const planned = await apply({ ...REPORT, priority: 'high' }, { dryRun: true });
    expect(planned).toMatchObject({
      outcome: 'updated',
      before: { priority: 'medium' },
      job: { priority: 'high' },
    });
    expect(await traces()).toEqual(before);
    expect((await fixture.operations.getJob(job.jobId)).job.version).toBe(1);
  });
});

describe('a job that does not run by its schedule now', () => {
  test('stays paused', async () => {
    const { job } = await apply(REPORT);
    await fixture.operations.pauseJob(job.jobId);
    expect((await apply(REPORT)).outcome).toBe('unchanged');
    const { job: changed } = await apply({ ...REPORT, cronExpression: '0 10 * * *' });
    expect(changed.status).toBe('PAUSED');
    expect(await fixture.pending()).toEqual([]);
  });

  test('comes back when it was cancelled, with a plan', async () => {
    const { job } = await apply(REPORT);
    await fixture.operations.cancelJob(job.jobId);
    expect(await fixture.pending()).toEqual([]);
    const { outcome, job: back } = await apply(REPORT);
    expect([outcome, back.status, back.jobId]).toEqual(['updated', 'SCHEDULED', job.jobId]);
    expect(await fixture.pendingOf(job.jobId)).toHaveLength(1);
    expect((await apply(REPORT)).outcome).toBe('unchanged');
  });

  test('does not run again when it has ended, unless its schedule is another', async () => {
    const { job } = await apply({ payload: { n: 1 } });
    await fixture.settle(await fixture.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    expect((await apply({ payload: { n: 1 } })).outcome).toBe('unchanged');
    const { outcome, job: edited } = await apply({ payload: { n: 2 } });
    expect([outcome, edited.status]).toEqual(['updated', 'COMPLETED']);
    expect(await fixture.pendingOf(job.jobId)).toEqual([]);
    expect((await apply({ scheduleTime: '2030-06-01T00:00:00Z' })).job.status).toBe('SCHEDULED');
    expect(await fixture.pendingOf(job.jobId)).toHaveLength(1);
  });

  test('is made anew when it was removed', async () => {
    const { job } = await apply(REPORT);
    await fixture.operations.deleteJob(job.jobId);
    const { outcome, job: next } = await apply(REPORT);
    expect(outcome).toBe('created');
    expect(next.jobId).not.toBe(job.jobId);
  });
});

test('many at the same moment make one job', async () => {
  const applied = await Promise.all(Array.from({ length: 8 }, () => apply(REPORT)));
  expect(new Set(applied.map(({ job }) => job.jobId)).size).toBe(1);
  expect(applied.filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
  expect(applied.filter(({ outcome }) => outcome === 'unchanged')).toHaveLength(7);
});

describe('permissions', () => {
  test('a new job asks for jobs.create, one that is there for jobs.update', async () => {
    const { everyones } = fixture;
    const withScope = (action: Action): Caller => ({
      ...caller({ role: 'admin' }),
      scopes: new Set<Action>([action, 'jobs.read']),
    });
    const [creator, updater] = [withScope('jobs.create'), withScope('jobs.update')];
    const forbidden = { code: 'forbidden' };
    await expect(everyones.applyJob(updater, { key: 'report', input: REPORT })).rejects.toMatchObject(
      forbidden,
    );
    expect(await everyones.applyJob(creator, { key: 'report', input: REPORT })).toMatchObject({
      outcome: 'created',
    });
    await expect(everyones.applyJob(creator, { key: 'report', input: REPORT })).rejects.toMatchObject(
      forbidden,
    );
    expect(await everyones.applyJob(updater, { key: 'report', input: REPORT })).toMatchObject({
      outcome: 'unchanged',
    });
  });

  test('a key of a job that the caller may not see tells nothing of it', async () => {
    const { everyones } = fixture;
    const { job } = await apply({ ...REPORT, userId: 'ada' });
    const bob = caller({ ownOnly: true }, 'bob');
    const outsider = caller({ namespace: 'elsewhere' });
    await expect(everyones.getJobByKey(bob, { key: 'report' })).rejects.toMatchObject({
      code: 'job_not_found',
    });
    for (const attempt of [
      everyones.applyJob(bob, { key: 'report', input: REPORT }),
      everyones.createJob(bob, { ...REPORT, key: 'report' }),
    ]) {
      const refusal = await attempt.catch((error: unknown) => error as Error);
      expect(refusal).toMatchObject({ code: 'job_key_taken' });
      expect((refusal as Error).message).not.toContain(job.jobId);
    }
    const request = { namespace: 'default', input: REPORT };
    await expect(everyones.applyJob(outsider, { key: 'report', ...request })).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(everyones.applyJob(outsider, { key: 'free', ...request })).rejects.toMatchObject({
      code: 'forbidden',
    });
  });
});

describe('a key that is taken', () => {
  test('refuses a new job, and tells whoever may see it which job has it', async () => {
    const { job } = await apply(REPORT);
    await expect(fixture.operations.createJob({ name: 'other', key: 'report' })).rejects.toMatchObject({
      code: 'job_key_taken',
      field: 'key',
      message: expect.stringContaining(job.jobId),
    });
    const [plain, clash] = await fixture.operations.createJobs([{ name: 'a' }, { name: 'b', key: 'report' }]);
    expect(plain).toMatchObject({ created: true });
    expect(clash).toMatchObject({ code: 'job_key_taken' });
    const atomic = fixture.operations.createJobs([{ name: 'a' }, { key: 'report' }], { atomic: true });
    await expect(atomic).rejects.toMatchObject({ code: 'batch_refused' });
  });

  test('refuses a change, and a job may take a key that is free', async () => {
    const { job } = await apply(REPORT);
    const { jobId } = await fixture.operations.createJob({ name: 'by hand', frequency: 'daily' });
    await expect(fixture.operations.updateJob(jobId, { key: 'report' })).rejects.toMatchObject({
      code: 'job_key_taken',
      message: expect.stringContaining(job.jobId),
    });
    await fixture.operations.updateJob(jobId, { key: 'adopted' });
    expect((await fixture.operations.getJobByKey({ key: 'adopted' })).job.jobId).toBe(jobId);
  });

  test.each(['', 'a b', '.hidden', 'a/b', 'x'.repeat(201), 'ä'])('%j is no key', async (key) => {
    await expect(fixture.operations.createJob({ name: 'a', key })).rejects.toMatchObject({ field: 'key' });
  });
});

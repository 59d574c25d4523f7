import type { JobId } from '@carillon/domain';
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

describe('pause and resume', () => {
  test('nothing pending starts in between, and both can be repeated', async () => {
    const jobId = await create({ name: 'job', interval: '1m' });
    expect((await fixture.operations.pauseJob(jobId)).status).toBe('PAUSED');
    expect((await fixture.operations.pauseJob(jobId)).version).toBe(2);
    fixture.clock.advance(MINUTE_MS);
    expect(await fixture.pending()).toEqual([]);
    expect((await fixture.operations.resumeJob(jobId)).status).toBe('SCHEDULED');
    expect((await fixture.operations.resumeJob(jobId)).version).toBe(3);
    expect(await fixture.pendingOf(jobId)).toHaveLength(1);
  });

  test('a resumed job does not flood: its misfire policy judges what it missed (hazard 19)', async () => {
    const jobId = await create({ name: 'job', interval: '1m' });
    await fixture.operations.pauseJob(jobId);
    fixture.clock.advance(600 * MINUTE_MS);
    await fixture.operations.resumeJob(jobId);
    const fired = await fixture.fireDue();
    expect(fired.length).toBeLessThanOrEqual(2);
    const runs = await fixture.operations.listRuns(jobId, { limit: 10 });
    const skipped = runs.find((run) => run.status === 'SKIPPED');
    expect(skipped?.occurrences).toBe(600 - fired.length);
  });

  test('a job of every two seconds runs once after a minute’s pause, and the rest is on record (hazard 19)', async () => {
    const jobId = await create({ name: 'job', interval: '2s' });
    await fixture.operations.pauseJob(jobId);
    fixture.clock.advance(MINUTE_MS);
    await fixture.operations.resumeJob(jobId);
    expect(await fixture.fireDue()).toHaveLength(1);
    const runs = await fixture.operations.listRuns(jobId, { limit: 10 });
    expect(runs.find((run) => run.status === 'SKIPPED')?.occurrences).toBe(29);
  });

  test('pausing one job leaves the others alone (hazard 19)', async () => {
    const paused = await create({ name: 'paused', interval: '1m', userId: 'u1' });
    const other = await create({ name: 'other', interval: '1m', userId: 'u1' });
    await fixture.operations.pauseJob(paused);
    fixture.clock.advance(MINUTE_MS);
    await fixture.fireDue();
    expect((await fixture.claimDue()).runs.map((run) => run.jobId)).toEqual([other]);
  });

  test('a resume tells the owner of the shard, and whoever claims from the lane of the job', async () => {
    const jobId = await create({ name: 'job', interval: '1m' });
    await fixture.operations.pauseJob(jobId);
    fixture.sent.length = 0;
    const job = await fixture.operations.resumeJob(jobId);
    const atMs = fixture.clock.now();
    expect(fixture.sentAs('shards-due')).toEqual([{ shards: [{ shard: job.shard, atMs }] }]);
    expect(fixture.sentAs('runs-open')).toEqual([{ lanes: [{ ...laneOf(job), atMs }] }]);
    expect(fixture.sentAs('slots-freed')).toEqual([{ jobIds: [jobId] }]);
  });

  test('an ended job can be neither paused nor resumed', async () => {
    const jobId = await create({ name: 'job' });
    await fixture.settle(await fixture.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    const refused = { code: 'job_already_finished' };
    await expect(fixture.operations.pauseJob(jobId)).rejects.toMatchObject(refused);
    await expect(fixture.operations.resumeJob(jobId)).rejects.toMatchObject(refused);
  });
});

describe('cancel', () => {
  test('ends what waits, asks what runs to stop, and can be repeated (hazard 18)', async () => {
    const jobId = await create({ name: 'job', interval: '1m' });
    const { runId } = await fixture.operations.runJobNow(jobId);
    const batch = await fixture.claimDue();
    expect((await fixture.operations.cancelJob(jobId)).status).toBe('CANCELLED');
    expect(await fixture.pendingOf(jobId)).toEqual([]);
    expect(fixture.sent.at(-1)).toEqual({ name: 'cancel-requested', signal: { runIds: [runId] } });
    const { version } = await fixture.operations.cancelJob(jobId);
    expect(version).toBe(2);

    const again = { kind: 'again', atMs: fixture.clock.now(), attempt: 2, crashes: 0 } as const;
    expect(await fixture.settle(batch, { status: 'FAILED', next: again })).toBe('cancelled');
    expect(await fixture.pendingOf(jobId)).toEqual([]);
  });

  test('beats a finish that is reported after it (hazard 18)', async () => {
    const jobId = await create({ name: 'job' });
    const batch = await fixture.claimDue();
    await fixture.operations.cancelJob(jobId);
    expect(await fixture.settle(batch, { status: 'SUCCESS', next: { kind: 'finish' } })).toBe('cancelled');
    const status = await fixture.operations.getJobStatus(jobId);
    expect(status).toMatchObject({ status: 'CANCELLED', latestRun: { status: 'CANCELLED' } });
  });

  test.each([
    ['COMPLETED', { status: 'SUCCESS', next: { kind: 'finish' } }],
    ['FAILED', { status: 'FAILED', next: { kind: 'dead', reason: 'not_retryable' } }],
  ] as const)('leaves a job alone that is over (%s), and says so', async (status, end) => {
    const jobId = await create({ name: 'job' });
    await fixture.settle(await fixture.claimDue(), end);
    const { job } = await fixture.operations.getJob(jobId);
    const refused = { code: 'job_already_finished', message: `The job ${jobId} has ended (${status}).` };
    await expect(fixture.operations.cancelJob(jobId)).rejects.toMatchObject(refused);
    const of = { jobIds: [jobId] };
    expect(await fixture.operations.bulkJobs({ action: 'cancel', of, dryRun: false })).toMatchObject({
      ...{ matched: 1, changed: 0, unchanged: 0, refused: 1 },
      results: [{ jobId, outcome: 'refused', error: refused }],
    });
    expect((await fixture.operations.getJob(jobId)).job).toEqual(job);

    await fixture.operations.runJobNow(jobId);
    expect(await fixture.operations.cancelJob(jobId)).toMatchObject({ status: 'CANCELLED', changed: true });
    expect(await fixture.pendingOf(jobId)).toEqual([]);
  });

  test('a cancelled job stays cancelled', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    await fixture.operations.cancelJob(jobId);
    const refused = { code: 'job_cancelled' };
    await expect(fixture.operations.resumeJob(jobId)).rejects.toMatchObject(refused);
    await expect(fixture.operations.pauseJob(jobId)).rejects.toMatchObject(refused);
    await expect(fixture.operations.runJobNow(jobId)).rejects.toMatchObject(refused);
  });
});

describe('many at once', () => {
  test('say of each job what became of it, in the order asked', async () => {
    const [running, paused, over] = [
      await create({ name: 'a', interval: '1m' }),
      await create({ name: 'b', interval: '1m' }),
      await create({ name: 'c' }),
    ];
    await fixture.settle(await fixture.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    await fixture.operations.runJobNow(running);
    await fixture.claimDue();
    await fixture.operations.pauseJob(paused);
    const unknown = '00000000-0000-7000-8000-000000000000' as JobId;
    const of = { jobIds: [running, paused, over, unknown, running] };
    const tried = await fixture.operations.bulkJobs({ action: 'pause', of, dryRun: true });
    expect(tried).toMatchObject({ matched: 3, changed: 0, unchanged: 0, refused: 1 });
    expect(tried.results).toMatchObject([{ jobId: unknown, error: { code: 'job_not_found' } }]);
    const report = await fixture.operations.bulkJobs({ action: 'pause', of, dryRun: false });
    expect(report).toMatchObject({ matched: 3, changed: 1, unchanged: 1, refused: 2, next: undefined });
    expect(report.results).toMatchObject([
      { jobId: running, outcome: 'changed' },
      { jobId: paused, outcome: 'unchanged' },
      { jobId: over, outcome: 'refused', error: { code: 'job_already_finished' } },
      { jobId: unknown, outcome: 'refused', error: { code: 'job_not_found' } },
    ]);
  });

  test('a filter without a status means what can be changed, running or not', async () => {
    const jobId = await create({ name: 'a', interval: '1m' });
    await fixture.operations.runJobNow(jobId);
    await fixture.claimDue();
    expect(await fixture.operations.getJob(jobId)).toMatchObject({ status: 'RUNNING' });
    const of = { selection: { text: 'a' } };
    expect(await fixture.operations.bulkJobs({ action: 'pause', of, dryRun: false })).toMatchObject({
      ...{ changed: 1, results: [{ jobId, outcome: 'changed' }] },
    });
  });
});

describe('delete', () => {
  test('removes the job and keeps its history', async () => {
    const jobId = await create({ name: 'job' });
    await fixture.settle(await fixture.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    await fixture.operations.deleteJob(jobId);
    await expect(fixture.operations.getJob(jobId)).rejects.toMatchObject({ code: 'job_not_found' });
    expect(await fixture.operations.listRuns(jobId, { limit: 10 })).toHaveLength(1);
    await expect(fixture.operations.deleteJob(jobId)).rejects.toMatchObject({ code: 'job_not_found' });
  });

  test('waits for living runs: they are asked to stop, and the job stays until they have', async () => {
    const jobId = await create({ name: 'job' });
    const batch = await fixture.claimDue();
    const refused = { code: 'job_still_running' };
    await expect(fixture.operations.deleteJob(jobId)).rejects.toMatchObject(refused);
    await fixture.settle(batch, { status: 'CANCELLED', next: { kind: 'finish' } });
    await fixture.operations.deleteJob(jobId);
  });
});

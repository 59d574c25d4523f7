import type { JobId, RunId } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { laneOf } from '../storage/lane.ts';
import { OperationsFixture } from './operations.fixture.ts';

const MINUTE_MS = 60_000;
const NOBODY = '00000000-0000-7000-8000-000000000000';

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
    expect(status).toMatchObject({ state: 'cancelled', latestRun: { status: 'CANCELLED' } });
  });

  test('a cancelled job stays cancelled', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    await fixture.operations.cancelJob(jobId);
    const refused = { code: 'job_cancelled' };
    await expect(fixture.operations.resumeJob(jobId)).rejects.toMatchObject(refused);
    await expect(fixture.operations.pauseJob(jobId)).rejects.toMatchObject(refused);
    await expect(fixture.operations.runJobNow(jobId)).rejects.toMatchObject(refused);
  });

  test('of one waiting run leaves the job alone; of one that ended is refused', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    const { runId } = await fixture.operations.runJobNow(jobId);
    expect(await fixture.operations.cancelRun(runId)).toBe('ended');
    expect(fixture.sent.at(-1)).toEqual({ name: 'slots-freed', signal: { jobIds: [jobId] } });
    const refused = { code: 'run_already_finished' };
    await expect(fixture.operations.cancelRun(runId)).rejects.toMatchObject(refused);
    expect((await fixture.operations.getJob(jobId)).job.status).toBe('SCHEDULED');
    const unknown = fixture.operations.cancelRun(NOBODY as RunId);
    await expect(unknown).rejects.toMatchObject({ code: 'run_not_found' });
  });

  test('of one living run sends the signal', async () => {
    await create({ name: 'job' });
    const { runs } = await fixture.claimDue();
    const { runId } = runs[0]!;
    expect(await fixture.operations.cancelRun(runId)).toBe('asked');
    expect(fixture.sent.at(-1)).toEqual({ name: 'cancel-requested', signal: { runIds: [runId] } });
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

describe('run now', () => {
  test('adds a run and leaves the plan as it is', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    const plan = await fixture.pendingOf(jobId);
    const { runId } = await fixture.operations.runJobNow(jobId);
    const rows = await fixture.pendingOf(jobId);
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(expect.arrayContaining(plan));
    const [row] = await fixture.pendingRuns();
    const atMs = fixture.clock.now();
    expect(row).toMatchObject({ runId, trigger: 'manual', fireAtMs: atMs, state: 'planned' });
    expect(fixture.sentAs('shards-due').at(-1)).toEqual({ shards: [{ shard: row!.shard, atMs }] });
  });

  test('works on a paused job, which stays paused', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    await fixture.operations.pauseJob(jobId);
    const { runId } = await fixture.operations.runJobNow(jobId);
    expect((await fixture.claimDue()).runs.map((run) => run.runId)).toEqual([runId]);
    expect((await fixture.operations.getJob(jobId)).job.status).toBe('PAUSED');
  });

  test('works on a job that has ended, which stays ended', async () => {
    const jobId = await create({ name: 'job' });
    const finish = { status: 'SUCCESS', next: { kind: 'finish' } } as const;
    await fixture.settle(await fixture.claimDue(), finish);
    await fixture.operations.runJobNow(jobId);
    const batch = await fixture.claimDue();
    expect(await fixture.operations.getJobStatus(jobId)).toMatchObject({ state: 'running' });
    await fixture.settle(batch, finish);
    expect(await fixture.operations.getJobStatus(jobId)).toMatchObject({ state: 'completed' });
  });
});

describe('dead letters', () => {
  async function letter(): Promise<{ jobId: JobId; runId: RunId }> {
    const jobId = await create({ name: 'job' });
    const batch = await fixture.claimDue();
    const next = { kind: 'dead', reason: 'retries_exhausted' } as const;
    await fixture.settle(batch, { status: 'FAILED', error: 'boom', next });
    return { jobId, runId: batch.runs[0]!.runId };
  }

  test('are listed, and sent round once however often it is asked', async () => {
    const { jobId, runId } = await letter();
    fixture.sent.length = 0;
    expect((await fixture.operations.listDeadLetters({ limit: 10, jobId })).letters).toMatchObject([
      { runId, jobName: 'job', reason: 'retries_exhausted', error: 'boom' },
    ]);
    const first = await fixture.operations.redriveDeadLetter(runId);
    expect(first).toMatchObject({ jobId, redrivenFrom: runId });
    expect(await fixture.operations.redriveDeadLetter(runId)).toEqual(first);
    const pending = await fixture.pendingOf(jobId);
    expect(pending).toMatchObject([{ runId: first.runId, trigger: 'redrive' }]);
    const due = { shard: pending[0]!.shard, atMs: fixture.clock.now() };
    expect(fixture.sentAs('shards-due')).toEqual([{ shards: [due] }]);
  });

  test('of a cancelled job, or that are not there, are refused', async () => {
    const { jobId, runId } = await letter();
    await fixture.operations.cancelJob(jobId);
    await expect(fixture.operations.redriveDeadLetter(runId)).rejects.toMatchObject({
      code: 'job_cancelled',
    });
    const unknown = fixture.operations.redriveDeadLetter(NOBODY as RunId);
    await expect(unknown).rejects.toMatchObject({ code: 'dead_letter_not_found' });
  });
});

describe('lists', () => {
  test('jobs are filtered, newest first, also over several types', async () => {
    const once = await create({ name: 'once', userId: 'u1' });
    const cron = await create({ name: 'cron', cronExpression: '0 9 * * *' });
    const rhythm = await create({ name: 'rhythm', interval: '1m', priority: 'high' });
    const ids = async (query: object) => {
      const found = await fixture.operations.listJobs({ limit: 10, ...query });
      return found.jobs.map(({ job }) => job.jobId);
    };
    expect(await ids({})).toEqual([rhythm, cron, once]);
    expect(await ids({ scheduleTypes: ['CRON', 'INTERVAL'] })).toEqual([rhythm, cron]);
    expect(await ids({ scheduleTypes: ['CRON', 'INTERVAL'], offset: 1 })).toEqual([cron]);
    expect(await ids({ scheduleTypes: ['INTERVAL'] })).toEqual([rhythm]);
    expect(await ids({ userId: 'u1' })).toEqual([once]);
    expect(await ids({ priority: 'high', statuses: ['SCHEDULED'] })).toEqual([rhythm]);
    expect(await ids({ afterJobId: rhythm, limit: 1 })).toEqual([cron]);
    const deep = ids({ scheduleTypes: ['CRON', 'INTERVAL'], offset: 20_000 });
    await expect(deep).rejects.toMatchObject({ code: 'field_invalid', field: 'page' });
  });

  test('a worker shows what it runs', async () => {
    const jobId = await create({ name: 'job' });
    await fixture.claimDue();
    expect(await fixture.operations.listWorkerRuns('worker-1', { limit: 10 })).toMatchObject([{ jobId }]);
    expect(await fixture.operations.listWorkerRuns('worker-2', { limit: 10 })).toEqual([]);
  });

  test('a run shows its attempts, latest first', async () => {
    const jobId = await create({ name: 'job' });
    const batch = await fixture.claimDue();
    const again = { kind: 'again', atMs: fixture.clock.now(), attempt: 2, crashes: 0 } as const;
    await fixture.settle(batch, { status: 'FAILED', error: 'boom', next: again });
    const { runId } = batch.runs[0]!;
    const { latest, attempts } = await fixture.operations.getRun(runId);
    expect(latest).toMatchObject({ jobId, status: 'QUEUED', attempt: 2 });
    expect(attempts.map(({ attempt }) => attempt)).toEqual([2, 1]);
  });
});

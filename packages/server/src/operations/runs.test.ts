import type { JobId, RunId } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { OperationsFixture } from './operations.fixture.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';

let fixture: OperationsFixture;
beforeEach(() => {
  fixture = new OperationsFixture();
});

async function create(input: Parameters<OperationsFixture['operations']['createJob']>[0]): Promise<JobId> {
  return (await fixture.operations.createJob(input)).jobId;
}

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
    expect(await fixture.operations.getJobStatus(jobId)).toMatchObject({ status: 'RUNNING' });
    await fixture.settle(batch, finish);
    expect(await fixture.operations.getJobStatus(jobId)).toMatchObject({ status: 'COMPLETED' });
  });
});

describe('cancel', () => {
  test('of one waiting run leaves the job alone; of one that ended is refused', async () => {
    const jobId = await create({ name: 'job', frequency: 'daily' });
    const { runId } = await fixture.operations.runJobNow(jobId);
    expect(await fixture.operations.cancelRun(runId)).toMatchObject({
      ...{ outcome: 'cancelled', changed: true, run: { runId, status: 'CANCELLED' } },
    });
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
    expect(await fixture.operations.cancelRun(runId)).toMatchObject({ outcome: 'cancelling', changed: true });
    expect(fixture.sent.at(-1)).toEqual({ name: 'cancel-requested', signal: { runIds: [runId] } });
  });
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

test('a worker shows what it runs', async () => {
  const jobId = await create({ name: 'job' });
  await fixture.claimDue();
  expect(await fixture.operations.listWorkerRuns('worker-1', { limit: 10 })).toMatchObject([{ jobId }]);
  expect(await fixture.operations.listWorkerRuns('worker-2', { limit: 10 })).toEqual([]);
});

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

describe('dead letters', () => {
  async function letter(): Promise<{ jobId: JobId; runId: RunId }> {
    const jobId = await create({ name: 'job' });
    const batch = await fixture.claimDue();
    const next = { kind: 'dead', reason: 'retries_exhausted' } as const;
    await fixture.settle(batch, { status: 'FAILED', error: 'boom', next });
    return { jobId, runId: batch.runs[0]!.runId };
  }

  test('are listed, and redriven once however often that is requested', async () => {
    const { jobId, runId } = await letter();
    fixture.sent.length = 0;
    expect((await fixture.operations.listDeadLetters({ limit: 10, jobId })).letters).toMatchObject([
      { runId, jobName: 'job', reason: 'retries_exhausted', error: 'boom' },
    ]);
    const first = await fixture.operations.redriveDeadLetter(runId);
    expect(first).toMatchObject({ jobId, redrivenFrom: runId });
    expect(await fixture.operations.redriveDeadLetter(runId)).toEqual({ ...first, added: false });
    const pending = await fixture.pendingOf(jobId);
    expect(pending).toMatchObject([{ runId: first.runId, trigger: 'redrive' }]);
    const due = { shard: pending[0]!.shard, atMs: fixture.clock.now() };
    expect(fixture.sentAs('shards-due')).toEqual([{ shards: [due] }]);
  });

  test('of a cancelled job, or that are not there, are refused', async () => {
    const { jobId, runId } = await letter();
    await fixture.operations.runJobNow(jobId);
    await fixture.operations.cancelJob(jobId);
    await expect(fixture.operations.redriveDeadLetter(runId)).rejects.toMatchObject({
      code: 'job_cancelled',
    });
    const unknown = fixture.operations.redriveDeadLetter(NOBODY as RunId);
    await expect(unknown).rejects.toMatchObject({ code: 'dead_letter_not_found' });
  });
});

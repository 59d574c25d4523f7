import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RpcFixture, refusalOf } from './rpc.fixture.ts';

let gateway: RpcFixture;
beforeEach(async () => {
  gateway = await RpcFixture.start();
});
afterEach(() => gateway.stop());

const NOBODY = '00000000-0000-7000-8000-000000000000';
const DAILY = { codeLocation: 'report', schedule: { frequency: 'daily' } };

describe('runs', () => {
  test('the history of a job is read page by page, also while runs wait', async () => {
    const jobs = gateway.jobs();
    const { jobId } = await jobs.submitJob(DAILY);
    const runIds: string[] = [];
    for (let i = 0; i < 5; i += 1) runIds.push((await jobs.runJobNow({ jobId })).runId);
    expect(await jobs.cancelRun({ runId: runIds[0]! })).toMatchObject({
      ...{ jobId, outcome: 'cancelled', status: 'cancelled', changed: true },
      run: { runId: runIds[0], status: 'CANCELLED' },
    });
    await jobs.cancelRun({ runId: runIds[1]! });
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = await jobs.getExecHistory({ jobId, pageSize: 2, pageToken });
      seen.push(...page.runs.map((run) => run.runId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    for (const runId of runIds) expect(seen).toContain(runId);
    const again = await jobs.rerunRun({ runId: runIds[0]!, idempotencyKey: 'again' });
    expect(again.jobId).toBe(jobId);
    expect(await jobs.rerunRun({ runId: runIds[0]!, idempotencyKey: 'again' })).toEqual({
      ...again,
      added: false,
    });
    const listed = await jobs.listRuns({ of: { case: 'jobId', value: jobId } });
    expect(listed.runs.map((run) => run.runId)).toContain(again.runId);
  });

  test('a dead letter is listed and sent round again', async () => {
    const jobs = gateway.jobs();
    const { jobId } = await jobs.submitJob({ codeLocation: 'report' });
    const batch = await gateway.claimDue();
    await gateway.settle(batch, {
      status: 'FAILED',
      next: { kind: 'dead', reason: 'retries_exhausted' },
      error: 'boom',
    });
    const { deadLetters } = await jobs.listDeadLetters({});
    expect(deadLetters).toMatchObject([{ jobId, errorMessage: 'boom', attempts: 1 }]);
    const redriven = await jobs.redriveDeadLetter({ runId: deadLetters[0]!.runId });
    const redrivenFrom = deadLetters[0]!.runId;
    expect(redriven).toMatchObject({ jobId, redrivenFrom });
    const many = await jobs.redriveDeadLetters({ runIds: [redrivenFrom, NOBODY] });
    expect(many).toMatchObject({
      ...{ matched: 1, redriven: 0, unchanged: 1, refused: 1, runIds: [redrivenFrom, NOBODY] },
      results: [
        { runId: redrivenFrom, outcome: 'unchanged', jobId, newRunId: redriven.runId },
        { runId: NOBODY, outcome: 'refused', error: { code: 'dead_letter_not_found' } },
      ],
    });
    const { workers } = await jobs.listWorkers({});
    expect(workers).toMatchObject([{ workerId: 'worker-1', slots: 1, alive: true }]);
    expect(await jobs.getWorker({ workerId: 'worker-1' })).toEqual(
      expect.objectContaining({ worker: workers[0] }),
    );
    expect(await refusalOf(jobs.getWorker({ workerId: 'nobody' }))).toMatchObject({
      status: Code.NotFound,
      detail: { code: 'worker_not_found' },
    });
  });

  test('dead letters are found by filter, read one by one and sent round together', async () => {
    const jobs = gateway.jobs();
    const { jobId } = await jobs.submitJob({ codeLocation: 'report', userId: 'ada' });
    const batch = await gateway.claimDue();
    await gateway.settle(batch, { status: 'FAILED', next: { kind: 'dead', reason: 'retries_exhausted' } });
    const { runId } = batch.runs[0]!;
    const now = timestampFromMs(gateway.clock.now());
    const found = async (filter: Parameters<typeof jobs.listDeadLetters>[0]) =>
      (await jobs.listDeadLetters(filter)).deadLetters.length;
    expect(await found({ reason: 'retries_exhausted', handler: 'report', diedAfter: now })).toBe(1);
    expect(await found({ userId: 'bob' })).toBe(0);
    expect(await found({ diedBefore: now })).toBe(0);
    expect(await found({ redriven: true })).toBe(0);
    expect((await jobs.getDeadLetter({ runId })).deadLetter).toMatchObject({ runId, jobId });
    expect(await refusalOf(jobs.listDeadLetters({ reason: 'boredom' }))).toMatchObject({
      detail: { code: 'field_invalid', field: 'reason' },
    });
    // Everything is meant only where it is said.
    expect(await refusalOf(jobs.redriveDeadLetters({}))).toMatchObject({
      detail: { code: 'field_missing', field: 'filter' },
    });
    const filter = { userId: 'ada' };
    expect(await jobs.redriveDeadLetters({ filter, dryRun: true })).toMatchObject({
      matched: 1,
      redriven: 0,
      runIds: [runId],
      nextPageToken: '',
    });
    expect(await jobs.redriveDeadLetters({ filter })).toMatchObject({ matched: 1, redriven: 1, refused: 0 });
    expect(await found({ redriven: true })).toBe(1);
  });

  test('the story of a job and of a run is told in lines', async () => {
    const jobs = gateway.jobs();
    const { jobId } = await jobs.submitJob({ codeLocation: 'report' });
    const batch = await gateway.claimDue();
    await gateway.settle(batch, { status: 'FAILED', next: { kind: 'finish' }, error: 'boom' });
    const { runId } = batch.runs[0]!;
    const ofJob = await jobs.getJobLogs({ jobId });
    expect(ofJob.lines.at(-1)).toMatchObject({ message: 'error: boom', runId, attemptNumber: 1 });
    expect(await jobs.getRunLogs({ runId })).toMatchObject({ jobId, runId, lines: ofJob.lines });
    expect(await refusalOf(jobs.getJobLogs({ jobId, limit: 1_001 }))).toMatchObject({
      detail: { code: 'field_invalid', field: 'limit' },
    });
  });

  test('what happened is read page by page', async () => {
    const jobs = gateway.jobs();
    const labels = { team: 'a:b' };
    const { jobId } = await jobs.submitJob({ ...DAILY, labels });
    await jobs.submitJob(DAILY);
    await jobs.pauseJob({ jobId });
    const first = await jobs.listEvents({ labels, limit: 1 });
    expect(first.events).toMatchObject([{ type: 'io.carillon.job.created', data: { job_id: jobId } }]);
    const rest = await jobs.listEvents({ labels, afterId: first.nextAfterId });
    expect(rest.events).toMatchObject([{ type: 'io.carillon.job.paused' }]);
    expect((await jobs.listEvents({ labels, afterId: rest.nextAfterId })).events).toEqual([]);
    expect(await refusalOf(jobs.listEvents({ limit: -1 }))).toMatchObject({ detail: { field: 'limit' } });
    // As every other list.
    const page = await jobs.listEvents({ labels, pageSize: 1 });
    expect(page.events).toEqual(first.events);
    const next = await jobs.listEvents({ labels, pageToken: page.nextPageToken });
    expect([next.events, next.nextPageToken]).toEqual([rest.events, rest.nextAfterId]);
    for (const [request, field] of [
      [{ pageSize: -1 }, 'page_size'],
      [{ pageToken: 'x' }, 'page_token'],
      [{ limit: 1, pageSize: 1 }, 'page_size'],
      [{ afterId: first.nextAfterId, pageToken: first.nextAfterId }, 'page_token'],
    ] as const) {
      expect(await refusalOf(jobs.listEvents(request))).toMatchObject({ detail: { field } });
    }
  });
});

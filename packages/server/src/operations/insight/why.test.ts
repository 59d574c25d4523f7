import type { BootId, Caller, JobId, NodeId, RunId, WorkerId } from '@carillon/domain';
import { SERVER } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { OperationsFixture } from '../operations.fixture.ts';
import { operationsAs } from '../operations.ts';

const NOBODY = '00000000-0000-7000-8000-000000000000';

let fixture: OperationsFixture;
beforeEach(() => {
  fixture = new OperationsFixture();
});

const create = async (input: Parameters<OperationsFixture['operations']['createJob']>[0]): Promise<JobId> =>
  (await fixture.operations.createJob(input)).jobId;

/** A worker that offers these handlers. */
async function offer(
  handlers: readonly string[],
  over: { slots?: number; workerId?: string; namespaces?: string[] } = {},
) {
  const { slots = 1, workerId = 'worker-1', namespaces } = over;
  await fixture.storage.members.registerWorker(
    {
      ...{ workerId: workerId as WorkerId, slots, handlers, namespaces, session: 0, incarnation: 1 },
      nodeId: '00000000-0000-7000-8000-00000000000a' as NodeId,
      bootId: '00000000-0000-7000-8000-00000000000b' as BootId,
    },
    fixture.clock.now(),
  );
}

const viewer: Caller = {
  ...{ ...SERVER, kind: 'key', id: 'key', name: 'viewer' },
  grants: [{ namespace: 'default', role: 'viewer', ownOnly: false }],
};

describe('why a run waits', () => {
  test('nobody offers its handler: named, with what to start', async () => {
    const jobId = await create({ name: 'job', handler: 'resize' });
    const why = await fixture.operations.whyRun(jobId as string as RunId);
    expect(why).toMatchObject({
      state: 'waiting',
      reasons: [{ code: 'no_worker', text: 'No worker offers the handler `resize`.' }],
    });
    expect(why.reasons[0]!.fix).toContain("worker.handle('resize'");
    const call = await create({ name: 'call', payload: { url: 'http://example.org' } });
    const { reasons } = await fixture.operations.whyRun(call as string as RunId);
    expect(reasons[0]!.fix).toBe('Start a worker that does: carillon worker --handlers http');
    expect(await fixture.operations.whyJob(jobId)).toEqual(why);
  });

  test('only workers of other namespaces offer its handler: nobody does, and their slots do not count', async () => {
    const jobId = await create({ name: 'job', handler: 'resize' });
    const runId = jobId as string as RunId;
    await offer(['resize'], { namespaces: ['beta'] });
    expect((await fixture.operations.whyRun(runId)).reasons).toMatchObject([{ code: 'no_worker' }]);
    expect((await fixture.operations.readStatsNow({})).unofferedHandlers).toEqual(['resize']);
    await offer(['resize'], { workerId: 'worker-2', namespaces: ['default'] });
    await fixture.storage.members.drainWorker('worker-2' as WorkerId, true);
    expect((await fixture.operations.whyRun(runId)).reasons).toMatchObject([{ code: 'workers_draining' }]);
  });

  test('the servers were started without scripts: said so, with how to switch them on', async () => {
    const jobId = await create({
      ...{ name: 'tidy', handler: 'script', payload: { interpreter: 'bash', script: 'true' } },
    });
    const runId = jobId as string as RunId;
    const without = await fixture.operations.whyRun(runId);
    expect(without.reasons).toMatchObject([{ code: 'no_worker' }]);
    await offer(['http']);
    const { reasons } = await fixture.operations.whyRun(runId);
    expect(reasons).toMatchObject([
      {
        code: 'scripts_off',
        text: 'No worker offers the handler `script`: the server was started without scripts.',
        fix: expect.stringContaining('--script-enabled (docs/scripts.md)'),
      },
    ]);
  });

  test('its job is at its limit: limit and holder are named, with position and a guess of its start', async () => {
    await offer(['resize']);
    const jobId = await create({ name: 'job', handler: 'resize', frequency: 'daily', maxConcurrency: 1 });
    await fixture.operations.runJobNow(jobId);
    const done = await fixture.claimDue();
    fixture.clock.advance(4_000);
    const [run] = done.runs;
    await fixture.storage.leases.settle(
      [
        {
          ...{ leaseId: run!.leaseId, position: run!.position, leaseSize: undefined, epoch: run!.epoch },
          ...{ status: 'SUCCESS', error: undefined, result: undefined, next: { kind: 'finish' } },
          ...{ startedAtMs: fixture.clock.now() - 4_000, endedAtMs: fixture.clock.now() },
        },
      ],
      fixture.clock.now(),
    );
    await fixture.operations.runJobNow(jobId);
    const held = (await fixture.claimDue()).runs[0]!;
    await offer(['resize']);
    const first = await fixture.operations.runJobNow(jobId);
    fixture.clock.advance(1);
    const second = await fixture.operations.runJobNow(jobId);
    await fixture.claimDue();
    await offer(['resize']);
    const why = await fixture.operations.whyRun(second.runId);
    expect(why).toMatchObject({
      ...{ state: 'waiting', position: 2, estimatedStartMs: fixture.clock.now() + 8_000 },
      reasons: [{ code: 'at_limit', heldBy: [{ runId: held.runId, jobId, workerId: 'worker-1' }] }],
    });
    const [reason] = why.reasons;
    expect(reason!.text).toBe(
      `The job may have 1 run at a time (max_concurrency), and has that many, such as ${held.runId} on the worker worker-1. 1 run of it waits before this one.`,
    );
    expect(reason!.fix).toContain(`carillon jobs update ${jobId} --concurrency 2`);
    expect((await fixture.operations.whyRun(first.runId)).position).toBe(1);
    // The job runs: that is said first.
    expect(await fixture.operations.whyJob(jobId)).toMatchObject({
      ...{ state: 'running', reasons: [{ code: 'running', heldBy: [{ runId: held.runId }] }] },
    });
  });

  test('all slots are in use, and those who may not look at workers are told no numbers', async () => {
    await create({ name: 'busy', handler: 'resize' });
    await fixture.claimDue();
    await offer(['resize']);
    const jobId = await create({ name: 'job', handler: 'resize' });
    const runId = jobId as string as RunId;
    const why = await fixture.operations.whyRun(runId);
    expect(why).toMatchObject({ state: 'waiting', position: 1, reasons: [{ code: 'slots_busy' }] });
    expect(why.reasons[0]!.text).toBe(
      'The one slot of the 1 worker that offers the handler `resize` is in use.',
    );
    const told = await operationsAs(viewer, fixture.everyones).whyRun(runId);
    expect(told.reasons[0]!.text).toBe('Every worker that offers the handler `resize` is busy.');
  });

  test('its workers drain; then it is about to start; behind another it waits for its turn', async () => {
    await offer(['resize'], { slots: 5 });
    const first = (await create({ name: 'first', handler: 'resize' })) as string as RunId;
    fixture.clock.advance(1);
    const second = (await create({ name: 'second', handler: 'resize' })) as string as RunId;
    await fixture.operations.drainWorker('worker-1');
    const drained = await fixture.operations.whyRun(first);
    expect(drained.reasons).toMatchObject([{ code: 'workers_draining' }]);
    expect(drained.reasons[0]!.fix).toContain('carillon workers undrain worker-1');
    await fixture.operations.undrainWorker('worker-1');
    expect((await fixture.operations.whyRun(first)).reasons).toMatchObject([{ code: 'starting' }]);
    expect(await fixture.operations.whyRun(second)).toMatchObject({
      ...{ position: 2, reasons: [{ code: 'behind_others' }] },
    });
  });

  test('it is tried again later, with what went wrong before; viewers are not told what errors quote', async () => {
    const jobId = await create({ name: 'job', handler: 'resize', maxRetries: 3 });
    const atMs = fixture.clock.now() + 60_000;
    const again = { kind: 'again', atMs, attempt: 2, crashes: 0 } as const;
    await fixture.settle(await fixture.claimDue(), {
      status: 'FAILED',
      error: 'token abc is bad',
      next: again,
    });
    const runId = jobId as string as RunId;
    expect(await fixture.operations.whyRun(runId)).toMatchObject({
      ...{ state: 'waiting', estimatedStartMs: atMs },
      reasons: [
        {
          ...{ code: 'retry_wait', untilMs: atMs },
          text: `Attempt 1 of 4 did not succeed: token abc is bad. The next attempt starts at ${new Date(atMs).toISOString()}.`,
        },
      ],
    });
    const told = JSON.stringify(await operationsAs(viewer, fixture.everyones).whyRun(runId));
    expect(told).toContain('retry_wait');
    expect(told).not.toContain('abc');
  });

  test('it is given up if it does not start in time', async () => {
    const jobId = await create({ name: 'job', handler: 'resize', startTimeoutSeconds: 60 });
    const { reasons } = await fixture.operations.whyRun(jobId as string as RunId);
    expect(reasons.map(({ code }) => code)).toEqual(['no_worker', 'start_timeout']);
    expect(reasons[1]!.untilMs).toBe(fixture.clock.now() + 60_000);
  });
});

describe('how a run ended', () => {
  const ends = async (end: Parameters<OperationsFixture['settle']>[1]) => {
    const jobId = await create({ name: 'job', handler: 'resize' });
    await fixture.settle(await fixture.claimDue(), end);
    return {
      jobId,
      runId: jobId as string as RunId,
      why: await fixture.operations.whyRun(jobId as string as RunId),
    };
  };

  test('given up: the error, its dead letter and how to send it round again', async () => {
    const next = { kind: 'dead', reason: 'retries_exhausted' } as const;
    const { jobId, runId, why } = await ends({ status: 'FAILED', error: 'boom\nat line 3', next });
    expect(why.state).toBe('failed');
    expect(why.reasons).toMatchObject([
      { code: 'failed', text: 'Attempt 1 failed: boom.' },
      { code: 'dead_letter', fix: `Mend the cause, then send it round again: carillon dlq redrive ${runId}` },
    ]);
    expect(why.reasons[1]!.text).toContain('all its attempts have failed');
    expect(await fixture.operations.whyJob(jobId)).toEqual(why);
    const { runId: newRunId } = await fixture.operations.redriveDeadLetter(runId);
    expect((await fixture.operations.whyRun(runId)).reasons[1]!.text).toContain(newRunId);
  });

  test('succeeded, running, cancelled', async () => {
    const { jobId, why } = await ends({ status: 'SUCCESS', next: { kind: 'finish' } });
    expect(why).toMatchObject({
      state: 'succeeded',
      reasons: [{ code: 'succeeded', text: 'It succeeded in 0 s.' }],
    });
    expect(await fixture.operations.whyJob(jobId)).toMatchObject({ state: 'succeeded' });
    const { runId } = await fixture.operations.runJobNow(jobId);
    await fixture.operations.cancelRun(runId);
    expect(await fixture.operations.whyRun(runId)).toMatchObject({
      ...{ state: 'cancelled', reasons: [{ fix: `Run it again: carillon runs rerun ${runId}` }] },
    });
    const { runId: alive } = await fixture.operations.runJobNow(jobId);
    await fixture.claimDue();
    expect(await fixture.operations.whyRun(alive)).toMatchObject({
      ...{ state: 'running', reasons: [{ code: 'running', heldBy: [{ workerId: 'worker-1' }] }] },
    });
    await fixture.operations.cancelRun(alive);
    expect((await fixture.operations.whyRun(alive)).reasons).toMatchObject([{ code: 'cancelling' }]);
  });
});

test('of a worker that is silent for some seconds, how long is told', async () => {
  const jobId = await create({ name: 'job', handler: 'resize', maxConcurrency: 1 });
  await offer(['resize']);
  await fixture.claimDue();
  const told = async () => [
    (await fixture.operations.whyRun(jobId as string as RunId)).reasons[0]!.text,
    (await fixture.operations.whyJob(jobId)).reasons[0]!.text,
  ];
  fixture.clock.advance(4_000);
  for (const text of await told()) expect(text).toMatch(/^It is running on the worker worker-1 since /);
  fixture.clock.advance(6_000);
  const silent = 'It is running on the worker worker-1 (last heard of 10 s ago) since ';
  for (const text of await told()) expect(text).toContain(silent);
  await fixture.storage.members.beatWorker('worker-1' as WorkerId, fixture.clock.now());
  for (const text of await told()) expect(text).not.toContain('last heard');
});

describe('why a job does not run', () => {
  test('not due, paused since somebody paused it, cancelled', async () => {
    const jobId = await create({ name: 'job', cronExpression: '0 9 * * *' });
    const nextMs = Date.UTC(2030, 0, 2, 9);
    expect(await fixture.operations.whyJob(jobId)).toEqual({
      ...{ state: 'scheduled', position: undefined, estimatedStartMs: nextMs },
      reasons: [
        {
          ...{ code: 'not_due', text: 'It is not due yet: it starts at 2030-01-02T09:00:00.000Z.' },
          ...{ sinceMs: undefined, untilMs: nextMs, heldBy: [], fix: undefined },
        },
      ],
    });
    await fixture.operations.pauseJob(jobId);
    const pausedMs = fixture.clock.now();
    fixture.clock.advance(5_000);
    await fixture.operations.updateJob(jobId, { name: 'renamed' });
    expect(await fixture.operations.whyJob(jobId)).toMatchObject({
      state: 'paused',
      reasons: [{ code: 'paused', sinceMs: pausedMs, fix: `Resume it: carillon jobs resume ${jobId}` }],
    });
    await fixture.operations.cancelJob(jobId);
    expect(await fixture.operations.whyJob(jobId)).toMatchObject({ state: 'cancelled' });
  });

  test('it is due, and no server schedules it', async () => {
    const jobId = await create({ name: 'job', cronExpression: '0 9 * * *' });
    fixture.clock.advance(24 * 3_600_000);
    expect(await fixture.operations.whyJob(jobId)).toMatchObject({
      ...{ state: 'waiting', reasons: [{ code: 'no_scheduler', sinceMs: Date.UTC(2030, 0, 2, 9) }] },
    });
  });

  test('its schedule has ended', async () => {
    const endAt = new Date(fixture.clock.now() + 90_000).toISOString();
    const jobId = await create({ name: 'job', interval: '1m', endAt });
    fixture.clock.advance(300_000);
    await fixture.fireDue();
    await fixture.settle(await fixture.claimDue(), { status: 'SUCCESS', next: { kind: 'finish' } });
    expect(await fixture.operations.whyJob(jobId)).toMatchObject({
      ...{ state: 'ended', reasons: [{ code: 'schedule_ended' }] },
    });
  });
});

test('what is not there and what is not theirs get the same answer', async () => {
  await fixture.operations.createNamespace({ name: 'team-a' });
  const jobId = await create({ name: 'job', namespace: 'team-a', userId: 'ann' });
  const own: Caller = {
    ...{ ...viewer, userId: 'bob' },
    grants: [{ namespace: 'team-a', role: 'admin', ownOnly: true }],
  };
  for (const caller of [viewer, own]) {
    const theirs = operationsAs(caller, fixture.everyones);
    for (const id of [jobId, NOBODY]) {
      await expect(theirs.whyJob(id as JobId)).rejects.toMatchObject({
        ...{ code: 'job_not_found', message: `There is no job ${id}.` },
      });
      await expect(theirs.whyRun(id as RunId)).rejects.toMatchObject({
        ...{ code: 'run_not_found', message: `There is no run ${id}.` },
      });
    }
  }
});

/** What a person says when they ask for a run: the input holds for all its attempts, and for nothing else. */
import type { Job, RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import type { NewRun } from '../due.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, DAY_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { manualRun, useStorageWorld } from './storage-world.ts';

const AGAIN = {
  status: 'FAILED',
  error: 'no',
  next: { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 },
} as const;
const DEAD = { status: 'FAILED', error: 'no', next: { kind: 'dead', reason: 'not_retryable' } } as const;
const LARGE = 'x'.repeat(2_000);

export function describeRunRequests(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const request = { input: '{"a":1}', payload: '{"a":1,"b":2}', reason: 'it was late', requestHash: 'one' };

  async function payloadOf(job: Pick<Job, 'jobId' | 'shard'>): Promise<unknown> {
    const run = await stage.world.claimOne(job);
    await stage.world.settle(run, AGAIN);
    return JSON.parse(run.payload);
  }

  const ask = async (job: Job, over: Partial<NewRun> = {}): Promise<NewRun> => {
    const run = { ...manualRun(), request, ...over };
    expect(await stage.world.storage.jobs.enqueue(job.jobId, run)).toBe(true);
    return run;
  };

  for (const [size, filling] of [
    ['small', ''],
    ['large', LARGE],
  ] as const) {
    describe(`beside a ${size} payload`, () => {
      const payload = JSON.stringify({ b: 2, filling });

      it('the run gets the payload of its request, at every attempt and though the job is edited', async () => {
        const { world } = stage;
        const job = await world.recurring({ job: { payload } });
        const merged = JSON.stringify({ a: 1, b: 2, filling });
        await ask(job, { request: { ...request, payload: merged } });
        expect(await payloadOf(job)).toEqual(JSON.parse(merged));
        expect(await payloadOf(job)).toEqual(JSON.parse(merged));
        await world.change(job.jobId, { payload: '{"c":3}' }, { kind: 'keep' });
        expect(await payloadOf(job)).toEqual(JSON.parse(merged));
      });

      it('a run without an input gets the payload of the job as it is now', async () => {
        const { world } = stage;
        const job = await world.recurring({ job: { payload } });
        await ask(job, { request: { reason: 'why not' } });
        expect(await payloadOf(job)).toEqual(JSON.parse(payload));
        await world.change(job.jobId, { payload: '{"c":3}' }, { kind: 'keep' });
        expect(await payloadOf(job)).toEqual({ c: 3 });
      });
    });
  }

  it('a redriven run has the request that it is given', async () => {
    const { world } = stage;
    const { runs } = world.storage;
    const job = await world.recurring();
    const { runId } = await ask(job);
    await world.settle(await world.claimOne(job), DEAD);
    const as = newId<RunId>();
    const { input, payload } = request;
    expect(await runs.redrive(runId, { runId: as, nowMs: BASE_MS, request: { input, payload } })).toBe(true);
    expect(await payloadOf(job)).toEqual({ a: 1, b: 2 });
    expect(await runs.request(as)).toMatchObject({ input, payload });
  });

  it('its words are kept with the run, and its reason is shown at every step', async () => {
    const { world } = stage;
    const { runs } = world.storage;
    const job = await world.recurring();
    const { runId } = await ask(job);
    expect(await runs.request(runId)).toEqual(request);
    expect(await runs.request(newId<RunId>())).toBeUndefined();
    const reasons = async () => (await world.runsOf(job.jobId)).map((run) => run.requestReason);
    expect(await reasons()).toEqual(['it was late']);
    const run = await world.claimOne(job);
    expect(await reasons()).toEqual(['it was late']);
    await world.settle(run);
    expect(await reasons()).toEqual(['it was late']);
    await world.fire(job);
    expect(await reasons()).toEqual([undefined, 'it was late']);
  });

  it('the same run asked for again by another request is a conflict', async () => {
    const { world } = stage;
    const { jobs } = world.storage;
    const job = await world.recurring();
    const run = { ...manualRun(), request };
    const other = { ...run, request: { ...request, requestHash: 'two' } };
    expect(await jobs.enqueueOnce(job.jobId, run)).toBe('added');
    expect(await jobs.enqueueOnce(job.jobId, run)).toBe('known');
    expect(await jobs.enqueueOnce(job.jobId, other)).toBe('conflict');
    await world.settle(await world.claimOne(job));
    expect(await jobs.enqueueOnce(job.jobId, run)).toBe('known');
    expect(await jobs.enqueueOnce(job.jobId, other)).toBe('conflict');
  });

  it('a run that repeats a dead one handles its letter, once', async () => {
    const { world } = stage;
    const { runs, jobs } = world.storage;
    const job = await world.recurring();
    const { runId } = await ask(job);
    await world.settle(await world.claimOne(job), DEAD);
    const first = { ...manualRun(), rerunOf: runId };
    await jobs.enqueue(job.jobId, first);
    await jobs.enqueue(job.jobId, { ...manualRun(), rerunOf: runId });
    expect(await runs.deadLetter(runId)).toMatchObject({ redrivenAs: first.runId });
    expect(await runs.redrive(runId, { runId: newId<RunId>(), nowMs: BASE_MS })).toBe(false);
  });

  it('requests go with their job, or with the history, but not while their run waits or may be redriven', async () => {
    const { world } = stage;
    const { runs, jobs, housekeeping } = world.storage;
    const job = await world.recurring();
    const ended = await ask(job);
    await world.settle(await world.claimOne(job));
    const dead = await ask(job);
    await world.settle(await world.claimOne(job), DEAD);
    const alive = await ask(job);
    await world.claimOne(job);
    const waiting = await ask(job);
    expect(await housekeeping.dropRequests({ beforeMs: BASE_MS + MINUTE_MS })).toBe(0);
    expect(await runs.request(ended.runId)).toBeDefined();
    expect(await housekeeping.dropRequests({ beforeMs: BASE_MS + 3 * DAY_MS })).toBe(1);
    expect(await runs.request(ended.runId)).toBeUndefined();
    for (const { runId } of [dead, alive, waiting]) expect(await runs.request(runId)).toBeDefined();

    const removed = (await world.oneOff()).job;
    const last = await ask(removed);
    await world.cancelJob(removed.jobId);
    expect(await jobs.remove(removed.jobId)).toBe(true);
    expect(await runs.request(last.runId)).toBeUndefined();
  });

  it('a run knows the one that it repeats and who asked, and that one knows what it was repeated as', async () => {
    const { world } = stage;
    const { job, runId } = await world.oneOff();
    await world.settle(await world.claimOne(job), DEAD);
    expect(await world.storage.runs.repeatsOf(runId, 10)).toEqual([]);
    const repeat = { originRunId: runId, requestedBy: 'nina' };
    const redriven = newId<RunId>();
    await world.storage.runs.redrive(runId, { runId: redriven, nowMs: BASE_MS, request: repeat });
    const again = await ask(job, { request: repeat, fireAtMs: BASE_MS + 1, rerunOf: runId });
    expect(await world.storage.runs.request(redriven)).toMatchObject(repeat);
    const both = [
      { runId: again.runId, requestedBy: 'nina', requestedAtMs: BASE_MS + 1 },
      { runId: redriven, requestedBy: 'nina', requestedAtMs: BASE_MS },
    ];
    expect(await world.storage.runs.repeatsOf(runId, 10)).toEqual(both);
    expect(await world.storage.runs.repeatsOf(runId, 1)).toEqual(both.slice(0, 1));
  });
}

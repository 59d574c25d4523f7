/** Dead letters: the story of a run that nobody tries again, until somebody sends it round. */
import type { Job, JobId, RunId } from '@carillon/domain';
import { expect, it } from 'vitest';
import type { DeadLetterQuery } from '../run-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { manualRun, settlement, useStorageWorld } from './storage-world.ts';

const LATER_MS = BASE_MS + MINUTE_MS;
const FAILED_ONCE = {
  status: 'FAILED',
  error: 'no',
  next: { kind: 'again', atMs: BASE_MS + HOUR_MS, attempt: 2, crashes: 0 },
} as const;

export function describeDeadLetters(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const dead = {
    status: 'FAILED',
    error: 'it broke',
    next: { kind: 'dead', reason: 'retries_exhausted' },
  } as const;

  async function die(nowMs = BASE_MS, over: Partial<Job> = {}): Promise<{ job: Job; runId: RunId }> {
    const { world } = stage;
    const oneOff = await world.oneOff({ job: over });
    await world.settle(await world.claimOne(oneOff.job, { nowMs }), { ...dead, endedAtMs: nowMs }, nowMs);
    return oneOff;
  }

  it('a dead run leaves a letter with its story', async () => {
    const { world } = stage;
    const { job, runId } = await world.oneOff({ job: { name: 'mourned' } });
    await world.settle(await world.claimOne(job), {
      ...FAILED_ONCE,
      next: { ...FAILED_ONCE.next, atMs: BASE_MS },
    });
    await world.settle(
      await world.claimOne(job),
      { ...dead, next: { kind: 'dead', reason: 'crashed_workers' } },
      LATER_MS,
    );
    const letter = {
      ...{
        runId,
        jobId: job.jobId,
        jobName: 'mourned',
        namespace: job.namespace,
        userId: job.userId,
        reason: 'crashed_workers',
        error: 'it broke',
        attempts: 2,
      },
      ...{ scheduledAtMs: BASE_MS, diedAtMs: LATER_MS, redrivenAs: undefined, resolvedBy: undefined },
    };
    expect(await world.storage.runs.deadLetter(runId)).toEqual(letter);
    expect((await world.storage.runs.deadLetters({ jobId: job.jobId, limit: 5 })).letters).toEqual([letter]);
    expect(await world.storage.runs.deadLetter(newId<RunId>())).toBeUndefined();
  });

  it('letters are listed newest first, of one job or of all, read on by instant', async () => {
    const { runs } = stage.world.storage;
    const died: RunId[] = [];
    for (let i = 0; i < 4; i += 1) died.unshift((await die(BASE_MS + i * SECOND_MS)).runId);
    const list = async (query: DeadLetterQuery) =>
      (await runs.deadLetters(query)).letters.map((letter) => letter.runId);
    expect(await list({ limit: 10 })).toEqual(died);
    expect(await list({ limit: 2 })).toEqual(died.slice(0, 2));
    const before = { diedAtMs: BASE_MS + 2 * SECOND_MS, runId: died[1]! };
    expect(await list({ limit: 10, before })).toEqual(died.slice(2));
    expect(await list({ jobId: newId<JobId>(), limit: 10 })).toEqual([]);
  });

  it('letters are narrowed by reason, handler, place, time, and whether they were redriven', async () => {
    const { runs } = stage.world.storage;
    const first = await die(BASE_MS, { namespace: 'team-a', userId: 'ann', handler: 'mail' });
    const second = await die(BASE_MS + SECOND_MS, { namespace: 'team-b' });
    await runs.redrive(second.runId, { runId: newId<RunId>(), nowMs: LATER_MS });
    const list = async (query: Partial<DeadLetterQuery>) =>
      (await runs.deadLetters({ limit: 10, ...query })).letters.map((letter) => letter.runId);
    expect(await list({ reason: 'retries_exhausted' })).toEqual([second.runId, first.runId]);
    expect(await list({ reason: 'crashed_workers' })).toEqual([]);
    expect(await list({ handler: 'mail' })).toEqual([first.runId]);
    expect(await list({ namespace: 'team-b' })).toEqual([second.runId]);
    expect(await list({ userId: 'ann' })).toEqual([first.runId]);
    expect(await list({ handled: false })).toEqual([first.runId]);
    expect(await list({ handled: true })).toEqual([second.runId]);
    expect(await list({ diedFromMs: BASE_MS + SECOND_MS })).toEqual([second.runId]);
    expect(await list({ diedToMs: BASE_MS + SECOND_MS })).toEqual([first.runId]);
    const [letter] = (await runs.deadLetters({ limit: 1 })).letters;
    expect(await list({ error: letter!.error!.slice(1).toUpperCase() })).toEqual([second.runId, first.runId]);
    expect(await list({ error: '%' })).toEqual([]);
    expect(await list({ visible: [{ namespace: 'team-a', userId: undefined }] })).toEqual([first.runId]);
    expect(await list({ visible: [{ namespace: 'team-a', userId: 'bob' }] })).toEqual([]);
    expect(await list({ visible: [{ namespace: '*', userId: 'ann' }] })).toEqual([first.runId]);
    expect(await list({ visible: [] })).toEqual([]);
    expect(
      await list({ jobId: first.job.jobId, visible: [{ namespace: 'team-b', userId: undefined }] }),
    ).toEqual([]);
  });

  it('letters that died together are paged through without a gap', async () => {
    const { runs } = stage.world.storage;
    const died = [await die(BASE_MS), await die(BASE_MS), await die(BASE_MS)].map(({ runId }) => runId);
    const read: RunId[] = [];
    let page = (await runs.deadLetters({ limit: 1 })).letters;
    for (let pages = 0; pages < 5 && page.length > 0; pages += 1) {
      const [letter] = page;
      read.push(letter!.runId);
      page = (await runs.deadLetters({ limit: 1, before: letter! })).letters;
    }
    expect(read.toSorted()).toEqual(died.toSorted());
  });

  it('redrive marks the letter and enqueues a new run for the same occurrence', async () => {
    const { world } = stage;
    const { job, runId } = await die();
    const as = newId<RunId>();
    expect(await world.storage.runs.redrive(runId, { runId: as, nowMs: LATER_MS })).toBe(true);
    expect((await world.storage.runs.deadLetter(runId))?.redrivenAs).toBe(as);
    expect(await world.pendingRuns(job)).toMatchObject([
      { runId: as, trigger: 'redrive', attempt: 1, fireAtMs: LATER_MS, nominalAtMs: BASE_MS },
    ]);
    const run = await world.claimOne(job, { nowMs: LATER_MS });
    expect(run).toMatchObject({ runId: as, epoch: 1 });
    await world.settle(run, {}, LATER_MS);
    expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    expect(await world.storage.runs.attempts(as, LATER_MS)).toMatchObject([
      { status: 'SUCCESS', trigger: 'redrive' },
    ]);
  });

  it('a failed one-off is completed by the success of a run that a person asked for, and its letter is handled', async () => {
    const { world } = stage;
    const { jobs, runs } = world.storage;
    const { job, runId } = await die();
    const failed = await jobs.get(job.jobId);
    const run = manualRun(LATER_MS);
    await jobs.enqueue(job.jobId, run);
    await world.settle(await world.claimOne(job, { nowMs: LATER_MS }), {}, LATER_MS);
    const recovered = { status: 'COMPLETED', version: failed!.version + 1, updatedAtMs: LATER_MS };
    expect(await jobs.get(job.jobId)).toMatchObject(recovered);
    expect(await runs.deadLetter(runId)).toMatchObject({ redrivenAs: undefined, resolvedBy: run.runId });
    expect((await runs.deadLetters({ handled: false, limit: 5 })).letters).toEqual([]);
    expect((await jobs.list({ status: 'FAILED', limit: 5 })).jobs).toEqual([]);
  });

  it('a failed one-off stays failed while what a person asks for fails, is cancelled or is tried again', async () => {
    const { world } = stage;
    const { jobs, runs } = world.storage;
    const { job, runId } = await die();
    await jobs.enqueue(job.jobId, manualRun());
    await world.settle(await world.claimOne(job), dead);
    await jobs.enqueue(job.jobId, manualRun());
    const cancelled = await world.claimOne(job);
    await jobs.cancelRun(cancelled.runId, BASE_MS);
    expect(await world.settle(cancelled)).toBe('cancelled');
    await jobs.enqueue(job.jobId, manualRun());
    const again = { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 } as const;
    await world.settle(await world.claimOne(job), { status: 'FAILED', error: 'no', next: again });
    expect(await world.statusOf(job.jobId)).toBe('FAILED');
    expect((await runs.deadLetters({ handled: false, limit: 5 })).letters).toHaveLength(2);
    await world.settle(await world.claimOne(job));
    expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    expect((await runs.deadLetter(runId))?.resolvedBy).toBeDefined();
    expect((await runs.deadLetters({ handled: false, limit: 5 })).letters).toEqual([]);
  });

  it('a failure and the success of what a person asked for, settled by one call, leave the one-off completed', async () => {
    const { world } = stage;
    const { jobs, runs, leases } = world.storage;
    for (const together of [true, false]) {
      const { job, runId } = await world.oneOff({ job: { maxConcurrency: 2 } });
      const first = together ? [] : [await world.claimOne(job)];
      await jobs.enqueue(job.jobId, manualRun());
      const { runs: claimed } = await world.claim(await world.pendingRuns(job));
      const all = [...first, ...claimed];
      expect(all).toHaveLength(2);
      await leases.settle(
        all.map((run) => settlement(run, run.runId === runId ? dead : {})),
        BASE_MS,
      );
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
      expect((await runs.deadLetter(runId))?.resolvedBy).toBeDefined();
    }
  });

  it('a success changes nothing about a recurring job, nor about its letters', async () => {
    const { world } = stage;
    const { jobs, runs } = world.storage;
    const job = await world.recurring();
    await world.fire(job);
    const run = await world.claimOne(job);
    await world.settle(run, dead);
    const before = await jobs.get(job.jobId);
    await jobs.enqueue(job.jobId, manualRun());
    await world.settle(await world.claimOne(job));
    expect(await jobs.get(job.jobId)).toEqual(before);
    expect(await runs.deadLetter(run.runId)).toMatchObject({ resolvedBy: undefined });
  });

  it('a letter is redriven once, however many press the button', async () => {
    const { world } = stage;
    const { job, runId } = await die();
    const press = () => world.storage.runs.redrive(runId, { runId: newId<RunId>(), nowMs: BASE_MS });
    const answers = await Promise.all(Array.from({ length: 5 }, press));
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await press()).toBe(false);
    expect(await world.pendingRuns(job)).toHaveLength(1);
  });

  it('without a letter or without its job nothing is redriven', async () => {
    const { world } = stage;
    const { runs, jobs } = world.storage;
    const as = () => ({ runId: newId<RunId>(), nowMs: BASE_MS });
    expect(await runs.redrive(newId<RunId>(), as())).toBe(false);
    const removed = await die();
    await jobs.remove(removed.job.jobId);
    expect((await runs.deadLetters({ limit: 10 })).letters.map(({ runId }) => runId)).not.toContain(
      removed.runId,
    );
    expect(await runs.redrive(removed.runId, as())).toBe(false);
    expect(await runs.deadLetter(removed.runId)).toBeUndefined();
    const cancelled = await die();
    await world.cancelJob(cancelled.job.jobId);
    expect(await runs.redrive(cancelled.runId, as())).toBe(false);
    expect(await world.pending(cancelled.job)).toEqual([]);
  });
}

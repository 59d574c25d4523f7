/** The promises of RunStateStore: who may save a checkpoint and who gets it, when it goes, and how progress is shown. */
import type { ClaimedRun, Job, LeaseId, RunId } from '@carillon/domain';
import { CHECKPOINT_BYTES_MAX, FIRST_EVENT_CURSOR } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { LANE_START, laneOf } from '../lane.ts';
import { CLAIM_BYTES_MAX } from '../lease-store.ts';
import { newId, sampleJob } from './sample-job.ts';
import { BASE_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { type End, settlement, useStorageWorld } from './storage-world.ts';

const HOUR_MS = 60 * MINUTE_MS;
const AGAIN = { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 } as const;
const DEAD = { kind: 'dead', reason: 'retries_exhausted' } as const;

export function describeRunState(makeStorage: MakeStorage): void {
  const stage = useStorageWorld(makeStorage);
  const store = () => stage.world.storage.runState;
  let sequence = 0;
  const numbered = (run: ClaimedRun, data: string) => {
    sequence += 1;
    return { ...run, data, sequence };
  };
  const save = async (run: ClaimedRun, data: string, nowMs = BASE_MS) =>
    (await store().saveCheckpoints([numbered(run, data)], nowMs))[0];
  const claimNew = async (): Promise<{ job: Job; run: ClaimedRun }> => {
    const { job } = await stage.world.oneOff({ job: { userId: newId() } });
    return { job, run: await stage.world.claimOne(job) };
  };
  const saveAndEnd = async (end: End) => {
    const { job, run } = await claimNew();
    expect(await save(run, '{"row":7}')).toBe(true);
    await stage.world.settle(run, end);
    return { job, run };
  };

  describe('checkpoints', () => {
    it('the last save counts, and is read with its size and epoch', async () => {
      const { run } = await claimNew();
      expect(await store().checkpoint(run.runId)).toBeUndefined();
      expect(await save(run, '1')).toBe(true);
      expect(await save(run, '"ä"', BASE_MS + 5)).toBe(true);
      expect(await store().checkpoint(run.runId)).toEqual({
        ...{ data: '"ä"', bytes: 4, epoch: run.epoch, savedAtMs: BASE_MS + 5 },
      });
    });

    it('a first attempt is given none', async () => {
      expect((await claimNew()).run.checkpoint).toBeUndefined();
    });

    it.each([
      ['a failure', { status: 'FAILED', error: 'boom', next: AGAIN }],
      ['a timeout', { status: 'TIMED_OUT', error: 'too long', next: AGAIN }],
      ['a crash', { status: 'LOST', error: 'lost', next: { ...AGAIN, attempt: 1, crashes: 1 } }],
      ['a return', { status: 'RETURNED', error: 'returned', next: { ...AGAIN, attempt: 1 } }],
    ] as const)('are handed on after %s, and further on while nobody saves another', async (_, end) => {
      const { job } = await saveAndEnd(end);
      const second = await stage.world.claimOne(job);
      expect(second.checkpoint).toBe('{"row":7}');
      await stage.world.settle(second, end);
      const third = await stage.world.claimOne(job);
      expect(third.checkpoint).toBe('{"row":7}');
      expect(await save(third, '{"row":9}')).toBe(true);
      await stage.world.settle(third, end);
      expect((await stage.world.claimOne(job)).checkpoint).toBe('{"row":9}');
    });

    it('of one claim are bounded in bytes: the runs after that are left, in their order, for the next', async () => {
      const { world } = stage;
      const large = JSON.stringify('x'.repeat(CHECKPOINT_BYTES_MAX - 2));
      const perClaim = CLAIM_BYTES_MAX / CHECKPOINT_BYTES_MAX;
      const jobs: Job[] = [];
      // All of one part: then each user has one lane.
      while (jobs.length < perClaim + 4) {
        const job = sampleJob({ userId: jobs.length < 5 ? 'one' : 'two' });
        if (laneOf(job).part === 0) jobs.push((await world.oneOff({ job })).job);
      }
      const lanes = [jobs[0]!, jobs[5]!].map((job) => {
        return { lane: laneOf(job), after: LANE_START, runsMax: 1_000 };
      });
      const claim = () =>
        world.storage.leases.claim({
          ...{ leaseId: newId<LeaseId>(), workerId: world.workerId, nowMs: BASE_MS },
          pick: { lanes, runsMax: 1_000 },
        });
      const first = await claim();
      expect([first.runs.length, first.isCut]).toEqual([perClaim + 4, false]);
      for (const run of first.runs) {
        // A run without one is no reason to end a claim, and does not count.
        if (run.jobId !== jobs[1]!.jobId) await save(run, large);
        await world.settle(run, { status: 'RETURNED', error: 'returned', next: { ...AGAIN, attempt: 1 } });
      }
      const second = await claim();
      expect([second.runs.length, second.isCut]).toEqual([perClaim + 1, true]);
      const bytes = second.runs.reduce((sum, run) => sum + (run.checkpoint?.length ?? 0), 0);
      expect(bytes).toBe(CLAIM_BYTES_MAX);
      expect(second.scans.map(({ found }) => found)).toEqual([5, perClaim - 4]);
      const third = await claim();
      expect([third.runs.length, third.isCut]).toEqual([3, false]);
      expect(third.runs.every((run) => run.checkpoint === large)).toBe(true);
      // Each lane was gone through in its order, without a gap.
      const marks = third.runs.map(({ runId }) => runId).toSorted();
      const lastOf = second.scans[1]!.last!;
      expect(marks.every((runId) => runId > lastOf.runId)).toBe(true);
    });

    it('in a batch each run is given its own, and the others none', async () => {
      const { world } = stage;
      const userId = newId();
      const jobs = await Promise.all(
        [1, 2, 3].map(async () => (await world.oneOff({ job: { userId } })).job),
      );
      const pending = async () => (await Promise.all(jobs.map((job) => world.pendingRuns(job)))).flat();
      const { runs } = await world.claim(await pending());
      const saved = runs.slice(0, 2).map((run, i) => numbered(run, `{"line":"a\\nb","i":${i}}`));
      expect(await store().saveCheckpoints(saved, BASE_MS)).toEqual([true, true]);
      const failed = runs.map((run) => settlement(run, { status: 'FAILED', error: 'boom', next: AGAIN }));
      await world.storage.leases.settle(failed, BASE_MS);
      const again = await world.claim(await pending());
      const given = new Map(again.runs.map(({ runId, checkpoint }) => [runId, checkpoint]));
      expect(runs.map(({ runId }) => given.get(runId))).toEqual([saved[0]!.data, saved[1]!.data, undefined]);
    });

    it('an attempt that is not under its lease any more saves none: neither after its end nor beside the next (C7)', async () => {
      const { job, run: stale } = await saveAndEnd({ status: 'FAILED', error: 'lost', next: AGAIN });
      expect(await save(stale, '"zombie"')).toBe(false);
      const next = await stage.world.claimOne(job);
      expect(await save(stale, '"zombie"')).toBe(false);
      expect(await save({ ...next, epoch: stale.epoch }, '"forged"')).toBe(false);
      expect(await save({ ...next, position: 5 }, '"forged"')).toBe(false);
      expect((await store().checkpoint(next.runId))?.data).toBe('{"row":7}');
      const both = [numbered(stale, '1'), numbered(next, '2')];
      expect(await store().saveCheckpoints(both, BASE_MS)).toEqual([false, true]);
      expect((await store().checkpoint(next.runId))?.data).toBe('2');
    });

    it('one that comes after a later one of its attempt changes nothing, and is taken for saved (hazard 33)', async () => {
      const { job, run } = await claimNew();
      const put = async (held: ClaimedRun, number: number, data: string) =>
        (await store().saveCheckpoints([{ ...held, sequence: number, data }], BASE_MS + number))[0];
      const stored = async () => {
        const { data, savedAtMs, bytes } = (await store().checkpoint(run.runId))!;
        return [data, savedAtMs - BASE_MS, bytes];
      };
      expect(await put(run, 4_000_000_000, '59')).toBe(true);
      expect([await put(run, 22, '"older"'), await stored()]).toEqual([true, ['59', 4_000_000_000, 2]]);
      expect([await put(run, 4_000_000_000, '"again"'), await stored()]).toEqual([
        true,
        ['59', 4_000_000_000, 2],
      ]);
      expect([await put(run, 4_000_000_001, '60'), await stored()]).toEqual([true, ['60', 4_000_000_001, 2]]);
      // A greater epoch has another worker, which counts from the beginning.
      await stage.world.settle(run, { status: 'FAILED', error: 'lost', next: AGAIN });
      const next = await stage.world.claimOne(job);
      expect([await put(next, 1, '61'), await stored()]).toEqual([true, ['61', 1, 2]]);
    });

    it('one of a redriven run, whose epochs begin anew, replaces that of the dead letter', async () => {
      const { world } = stage;
      const { job, run } = await claimNew();
      expect(await store().saveCheckpoints([{ ...run, sequence: 59, data: '59' }], BASE_MS)).toEqual([true]);
      await world.settle(run, { status: 'FAILED', error: 'boom', next: DEAD });
      await world.storage.runs.redrive(run.runId, { runId: newId<RunId>(), nowMs: BASE_MS });
      const again = await world.claimOne(job);
      expect(await store().saveCheckpoints([{ ...again, sequence: 0, data: '60' }], BASE_MS)).toEqual([true]);
      expect((await store().checkpoint(again.runId))?.data).toBe('60');
    });

    it.each([
      ['succeeds', { status: 'SUCCESS' }],
      ['is cancelled', { status: 'CANCELLED' }],
    ] as const)('one whose run %s is removed', async (_, end) => {
      const { run } = await saveAndEnd(end);
      expect(await store().checkpoint(run.runId)).toBeUndefined();
    });

    it('one whose run was asked to stop is removed, whatever the run reports', async () => {
      const { run } = await claimNew();
      await save(run, '1');
      await stage.world.storage.jobs.cancelRun(run.runId, BASE_MS);
      expect(await stage.world.settle(run, { status: 'FAILED', error: 'x', next: AGAIN })).toBe('cancelled');
      expect(await store().checkpoint(run.runId)).toBeUndefined();
    });

    it('one that the last attempt was given and did not change is removed with its success', async () => {
      const { job } = await saveAndEnd({ status: 'FAILED', error: 'boom', next: AGAIN });
      const second = await stage.world.claimOne(job);
      expect(await stage.world.settle(second)).toBe('settled');
      expect(await store().checkpoint(second.runId)).toBeUndefined();
    });

    it('one is kept with a dead letter, and the run that it is redriven as goes on from it', async () => {
      const { world } = stage;
      const { job, run } = await saveAndEnd({ status: 'FAILED', error: 'boom', next: DEAD });
      expect(await store().checkpoint(run.runId)).toBeDefined();
      const redriven = newId<RunId>();
      expect(await world.storage.runs.redrive(run.runId, { runId: redriven, nowMs: BASE_MS })).toBe(true);
      const again = await world.claimOne(job);
      expect([again.runId, again.checkpoint]).toEqual([redriven, '{"row":7}']);
      expect(await store().checkpoint(run.runId)).toBeUndefined();
      await world.settle(again);
      expect(await store().checkpoint(redriven)).toBeUndefined();
    });

    it('housekeeping removes what is left of runs that ended while they waited, and old ones of dead letters', async () => {
      const { world } = stage;
      const waiting = await saveAndEnd({ status: 'FAILED', error: 'boom', next: AGAIN });
      const cancelled = await saveAndEnd({ status: 'FAILED', error: 'boom', next: AGAIN });
      await world.storage.jobs.cancelRun(cancelled.run.runId, BASE_MS);
      const dead = await saveAndEnd({ status: 'FAILED', error: 'boom', next: DEAD });
      const { run: living } = await claimNew();
      await save(living, '1');
      const left = async () => {
        const runs = [waiting.run, cancelled.run, dead.run, living];
        const found = await Promise.all(runs.map(({ runId }) => store().checkpoint(runId)));
        return found.map((checkpoint) => checkpoint !== undefined);
      };
      const drop = (leftBeforeMs: number, lettersBeforeMs: number) =>
        world.storage.housekeeping.dropCheckpoints({ leftBeforeMs, lettersBeforeMs });
      expect(await drop(BASE_MS - HOUR_MS, BASE_MS - HOUR_MS)).toBe(0);
      expect(await drop(BASE_MS + HOUR_MS, BASE_MS - HOUR_MS)).toBe(1);
      expect(await left()).toEqual([true, false, true, true]);
      expect(await drop(BASE_MS + HOUR_MS, BASE_MS + HOUR_MS)).toBe(1);
      expect(await left()).toEqual([true, false, false, true]);
    });
  });

  describe('progress', () => {
    const view = async (run: ClaimedRun) => (await stage.world.storage.runs.attempts(run.runId, BASE_MS))[0];
    const show = (run: ClaimedRun) =>
      stage.world.storage.leases.showRunning([{ ...run, startedAtMs: BASE_MS }], BASE_MS);
    const tell = async (run: ClaimedRun, percent: number, message?: string) =>
      (await store().showProgress([{ ...run, percent, message }], BASE_MS + 9))[0];

    it('is shown of runs that are shown as running, on the run and as the last run of its job', async () => {
      const { job, run } = await claimNew();
      expect(await tell(run, 10)).toBe(false);
      expect((await view(run))?.progress).toBeUndefined();
      await show(run);
      expect(await tell(run, 12.5, 'row 7')).toBe(true);
      const progress = { percent: 12.5, message: 'row 7' };
      expect(await view(run)).toMatchObject({ status: 'RUNNING', progress, modifiedAtMs: BASE_MS + 9 });
      const last = await stage.world.storage.runs.lastOfJobs([job.jobId]);
      expect(last.get(job.jobId)?.progress).toEqual(progress);
      expect(await tell(run, 20)).toBe(true);
      expect((await view(run))?.progress).toMatchObject({ percent: 20, message: undefined });
    });

    it('stays with the attempt when it ends; the next one has none', async () => {
      const { job, run } = await claimNew();
      await show(run);
      await tell(run, 40, 'row 7');
      await stage.world.settle(run, { status: 'FAILED', error: 'boom', next: AGAIN });
      expect(await tell(run, 99)).toBe(false);
      const next = await stage.world.claimOne(job);
      const attempts = await stage.world.storage.runs.attempts(run.runId, BASE_MS);
      expect(attempts.map(({ epoch, progress }) => [epoch, progress?.percent])).toEqual([
        [next.epoch, undefined],
        [run.epoch, 40],
      ]);
    });

    it('is told to listeners', async () => {
      const { run } = await claimNew();
      await show(run);
      await tell(run, 40, 'row 7');
      // A transaction that is open elsewhere on the same server holds readers back.
      const told = await eventually(
        async () => {
          const { events } = await stage.world.storage.events.read(FIRST_EVENT_CURSOR, 100);
          const ofRun = events.filter(({ run: about }) => about?.runId === run.runId);
          expect(ofRun.map(({ kind }) => kind)).toContain('run.progress');
          return ofRun;
        },
        { withinMs: 60_000 },
      );
      expect(told.map(({ kind, run: about }) => [kind, about?.status])).toEqual([
        ['run.started', 'RUNNING'],
        ['run.progress', 'RUNNING'],
      ]);
      expect(told[1]?.run?.progress).toEqual({ percent: 40, message: 'row 7' });
    });
  });

  it('a living run that was asked to stop is CANCELLING, and CANCELLED when it has ended (hazard 18)', async () => {
    const { job, run } = await claimNew();
    const { runs, jobs } = stage.world.storage;
    const status = async () => (await runs.attempts(run.runId, BASE_MS)).map((attempt) => attempt.status);
    await jobs.cancelRun(run.runId, BASE_MS);
    expect(await status()).toEqual(['CANCELLING']);
    const list = async (statuses: ('CANCELLING' | 'CLAIMED')[]) =>
      (await runs.list({ statuses, limit: 5, nowMs: BASE_MS })).runs.map(({ run: listed }) => listed.runId);
    expect([await list(['CANCELLING']), await list(['CLAIMED'])]).toEqual([[run.runId], []]);
    expect((await runs.lastOfJobs([job.jobId])).get(job.jobId)?.status).toBe('CANCELLING');
    expect(await stage.world.settle(run)).toBe('cancelled');
    expect(await status()).toEqual(['CANCELLED']);
  });
}

/** Admission: which runs may start as far as the limits of their jobs go. What a person asked for is never discarded by one. */
import { type Job, QUEUED_PER_JOB_MAX, type RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { EVERY_MINUTE, newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { manualRun, settlement, useStorageWorld } from './storage-world.ts';

export function describeScheduleAdmit(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const occurrences = (count: number, fromMs = BASE_MS) =>
    Array.from({ length: count }, (_, i) => ({ runId: newId<RunId>(), nominalAtMs: fromMs + i * MINUTE_MS }));
  const options = () => ({ guard: stage.world.guard, nowMs: BASE_MS });
  const statesOf = async (job: Job) =>
    new Map((await stage.world.pendingRuns(job)).map(({ runId, state }) => [runId, state]));

  describe('at the limit of a job', () => {
    it('an occurrence waits when overlaps queue, and says for what', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const runs = occurrences(3);
      const { answer } = await world.fire(job, { runs });
      expect([...(await statesOf(job)).values()]).toEqual(['open', 'waiting', 'waiting']);
      expect(answer).toMatchObject({ waiting: [{ jobId: job.jobId, replaces: false }] });
      expect(answer.opened).toHaveLength(1);
      const views = await world.runsOf(job.jobId);
      expect(views.filter(({ waitsFor }) => waitsFor?.code === 'at_limit')).toHaveLength(2);
    });

    it('an occurrence is skipped when overlaps are skipped, while one is open or alive', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { overlap: 'skip' } });
      const [first, second, third] = occurrences(3);
      await world.fire(job, { runs: [first!] });
      await world.fire(job, { runs: [second!] });
      const alive = await world.claimOne(job);
      await world.fire(job, { runs: [third!] });
      const skipped = (await world.runsOf(job.jobId)).filter(({ status }) => status === 'SKIPPED');
      expect(skipped.map(({ runId, reason }) => [runId, reason]).toSorted()).toEqual(
        [
          [second!.runId, 'overlap'],
          [third!.runId, 'overlap'],
        ].toSorted(),
      );
      await world.settle(alive);
      await world.fire(job);
      expect([...(await statesOf(job)).values()]).toEqual(['open']);
    });

    it('the last occurrence of a schedule that is skipped completes the job', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { overlap: 'skip' } });
      await world.fire(job, { runs: occurrences(1) });
      await world.fire(job, { runs: occurrences(1), next: undefined });
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('hazard 42: run-now waits for a slot, whatever the policy', async () => {
      const { world } = stage;
      for (const overlap of ['queue', 'skip', 'replace'] as const) {
        const job = await world.recurring({ job: { overlap } });
        await world.fire(job);
        await world.claimOne(job);
        const manual = manualRun();
        await world.storage.jobs.enqueue(job.jobId, manual);
        await world.admit(job);
        expect(await statesOf(job)).toEqual(new Map([[manual.runId, 'waiting']]));
      }
    });

    it('hazard 42: three thousand letters that are redriven all wait, and run one after the other', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { overlap: 'skip' } });
      const count = 3_000;
      const runs = Array.from({ length: count }, () => ({ ...manualRun(), trigger: 'redrive' as const }));
      await Promise.all(runs.map((run) => world.storage.jobs.enqueue(job.jobId, run)));
      await world.admit(job);
      const closed = (await world.pendingRuns(job)).filter(({ state }) => state !== 'open');
      expect(closed).toHaveLength(count - 1);
      for (let i = 0; i < 3; i += 1) {
        const open = (await world.pendingRuns(job)).filter(({ state }) => state === 'open');
        expect(open).toHaveLength(1);
        const { runs: claimed } = await world.claim(open);
        const settled = await world.storage.leases.settle([settlement(claimed[0]!)], BASE_MS);
        expect(settled.freed).toEqual([job.jobId]);
        await world.admit(job);
      }
      expect((await world.runsOf(job.jobId)).some(({ status }) => status === 'SKIPPED')).toBe(false);
    });

    it('of each job at most so many are let in, or left waiting, at once; and it is told that there is more', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { maxConcurrency: 5 } });
      const runs = Array.from({ length: 9 }, (_, i) => manualRun(BASE_MS - 9 + i));
      for (const run of runs) await world.storage.jobs.enqueue(job.jobId, run);
      const states = async () => {
        const found = await statesOf(job);
        return runs.map(({ runId }) => found.get(runId)!.slice(0, 1)).join('');
      };
      const admit = () => world.storage.schedule.admit([job.jobId], { ...options(), runsPerJob: 2 });
      expect(await admit()).toMatchObject({ more: [job.jobId] });
      expect(await states()).toBe('oowwppppp');
      for (let i = 0; i < 5; i += 1) await admit();
      expect(await states()).toBe('ooooowwww');
      expect(await admit()).toMatchObject({ more: [], opened: [], waiting: [{ jobId: job.jobId }] });
    });

    it('a retry frees its slot and asks again', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job, { runs: occurrences(2) });
      const [open] = (await world.pendingRuns(job)).filter(({ state }) => state === 'open');
      const { runs } = await world.claim([open!]);
      const next = { kind: 'again', atMs: BASE_MS + 5, attempt: 2, crashes: 0 } as const;
      const settled = await world.storage.leases.settle(
        [settlement(runs[0]!, { status: 'FAILED', next })],
        BASE_MS,
      );
      expect(settled).toMatchObject({
        ...{ freed: [job.jobId], opened: [], planned: [{ shard: job.shard, atMs: BASE_MS + 5 }] },
      });
      await world.admit(job);
      expect((await statesOf(job)).get(open!.runId)).toBe('planned');
      await world.admit(job, { nowMs: BASE_MS + 5 });
      expect((await statesOf(job)).get(open!.runId)).toBe('waiting');
    });

    it('the only run of a one-off needs no slot, nor does its retry', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const alive = await world.claimOne(job);
      expect(alive.limited).toBe(false);
      const next = { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 } as const;
      const { opened } = await world.storage.leases.settle(
        [settlement(alive, { status: 'FAILED', next })],
        BASE_MS,
      );
      expect(opened).toHaveLength(1);
      expect([...(await statesOf(job)).values()]).toEqual(['open']);
    });

    it('hazard 12: a run-now beside the only run of a one-off: one at a time, in whatever state that is', async () => {
      const { world } = stage;
      const living = async (job: Job) => (await world.living(job.jobId)).length;
      // It waits.
      const { job: waits } = await world.oneOff();
      await world.storage.jobs.enqueue(waits.jobId, manualRun());
      await world.claim(await world.pendingRuns(waits));
      expect(await living(waits)).toBe(1);
      // It is alive.
      const { job: alive } = await world.oneOff();
      const first = await world.claimOne(alive);
      await world.storage.jobs.enqueue(alive.jobId, manualRun());
      await world.claim(await world.pendingRuns(alive));
      expect(await living(alive)).toBe(1);
      expect((await world.storage.leases.settle([settlement(first)], BASE_MS)).freed).toEqual([alive.jobId]);
      await world.claim(await world.pendingRuns(alive));
      expect(await living(alive)).toBe(1);
      // It is tried again.
      const { job: again } = await world.oneOff();
      const next = { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 } as const;
      await world.settle(await world.claimOne(again), { status: 'FAILED', next });
      await world.storage.jobs.enqueue(again.jobId, manualRun());
      await world.claim(await world.pendingRuns(again));
      expect(await living(again)).toBe(1);
    });

    it('hazard 12: a one-off that becomes recurring while its run is alive keeps to the limit', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      await world.claimOne(job);
      const cursor = { nominalAtMs: BASE_MS, fireAtMs: BASE_MS };
      const first = { kind: 'cursor', cursor } as const;
      await world.change(job.jobId, { schedule: EVERY_MINUTE }, { kind: 'replan', first });
      await world.fire(job);
      expect([...(await statesOf(job)).values()]).toEqual(['waiting']);
    });

    it('hazard 12: of a run-now and a claim of the only run that race, both keep to the limit', async () => {
      const { world } = stage;
      for (let round = 0; round < 20; round += 1) {
        const { job } = await world.oneOff();
        const waiting = await world.pendingRuns(job);
        await Promise.all([world.claim(waiting), world.storage.jobs.enqueue(job.jobId, manualRun())]);
        await world.claim(await world.pendingRuns(job));
        expect(await world.living(job.jobId)).toHaveLength(1);
      }
    });

    it('hazard 12: admissions that race never give out more slots than there are', async () => {
      const { world } = stage;
      for (let round = 0; round < 5; round += 1) {
        const job = await world.recurring({ job: { maxConcurrency: 3 } });
        for (let i = 0; i < 8; i += 1) await world.storage.jobs.enqueue(job.jobId, manualRun());
        await Promise.all([world.fire(job), ...Array.from({ length: 6 }, () => world.admit(job))]);
        await world.admit(job);
        const open = (await world.pendingRuns(job)).filter(({ state }) => state === 'open');
        expect(open).toHaveLength(3);
      }
    });

    it('a limit that is lowered counts what is above it; one that is raised lets more in', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { maxConcurrency: 3 } });
      await world.fire(job, { runs: occurrences(6) });
      const open = (await world.pendingRuns(job)).filter(({ state }) => state === 'open');
      const { runs } = await world.claim(open);
      await world.change(job.jobId, { maxConcurrency: 1 }, { kind: 'keep' });
      await world.settle(runs[0]!);
      await world.settle(runs[1]!);
      await world.admit(job);
      expect([...(await statesOf(job)).values()]).not.toContain('open');
      await world.change(job.jobId, { maxConcurrency: 2 }, { kind: 'keep' });
      await world.admit(job);
      expect([...(await statesOf(job)).values()].filter((state) => state === 'open')).toHaveLength(1);
    });

    it('what waits comes before a fresh occurrence', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const [first, second, third] = occurrences(3);
      await world.fire(job, { runs: [first!, second!] });
      await world.settle((await world.claim(await world.pendingRuns(job))).runs[0]!);
      await world.fire(job, { runs: [third!] });
      await world.admit(job);
      expect(await statesOf(job)).toEqual(
        new Map([
          [second!.runId, 'open'],
          [third!.runId, 'waiting'],
        ]),
      );
    });

    it('hazard 34: waiting is bounded: an occurrence past the bound is skipped with the reason queue_full', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const runs = occurrences(QUEUED_PER_JOB_MAX + 1);
      await world.fire(job, { runs });
      expect(await world.pendingRuns(job)).toHaveLength(QUEUED_PER_JOB_MAX);
      expect(await world.storage.runs.attempts(runs.at(-1)!.runId, BASE_MS)).toMatchObject([
        { status: 'SKIPPED', reason: 'queue_full' },
      ]);
    });

    it('an owner whose shard changed hands lets nobody in', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.storage.jobs.enqueue(job.jobId, manualRun());
      await world.changeHands();
      await world.admit(job);
      expect([...(await statesOf(job)).values()]).toEqual(['planned']);
    });

    it('slots are free again when the run in them is cancelled or removed', async () => {
      const { world } = stage;
      const job = await world.recurring();
      const { runIds } = await world.fire(job);
      await world.storage.jobs.cancelRun(runIds[0]!, BASE_MS);
      await world.fire(job);
      expect([...(await statesOf(job)).values()]).toEqual(['open']);
    });
  });

  describe('the newest replaces', () => {
    it('skips the occurrences that wait before it, also one that could have started', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { overlap: 'replace' } });
      const [first, second, third] = occurrences(3);
      await world.fire(job, { runs: [first!, second!] });
      const { answer } = await world.fire(job, { runs: [third!] });
      expect(answer.waiting).toEqual([{ jobId: job.jobId, replaces: true }]);
      expect(await world.storage.schedule.replace([job.jobId], options())).toEqual([]);
      await world.admit(job);
      expect(await statesOf(job)).toEqual(new Map([[third!.runId, 'open']]));
      const skipped = (await world.runsOf(job.jobId)).filter(({ reason }) => reason === 'replaced');
      expect(skipped.map(({ runId }) => runId).toSorted()).toEqual([first!.runId, second!.runId].toSorted());
    });

    it('asks the run that has lived longest to stop, and no other however often', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { overlap: 'replace', maxConcurrency: 2 } });
      const [first, second, third] = occurrences(3);
      await world.fire(job, { runs: [first!] });
      await world.claim(await world.pendingRuns(job), { nowMs: BASE_MS });
      await world.fire(job, { runs: [second!] });
      const young = await world.claim(await world.pendingRuns(job), { nowMs: BASE_MS + 1 });
      await world.fire(job, { runs: [third!] });
      for (let i = 0; i < 2; i += 1)
        expect(await world.storage.schedule.replace([job.jobId], options())).toEqual([first!.runId]);
      expect((await world.storage.leases.leased(young.runs))[0]?.cancelRequested).toBe(false);
    });

    it('leaves alone what a person asked for, what is tried again, and jobs that do not replace', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { overlap: 'replace' } });
      const manual = manualRun();
      await world.storage.jobs.enqueue(job.jobId, manual);
      await world.fire(job);
      await world.fire(job);
      const queues = await world.recurring();
      await world.fire(queues, { runs: occurrences(2) });
      await world.storage.schedule.replace([job.jobId, queues.jobId], options());
      expect((await statesOf(job)).has(manual.runId)).toBe(true);
      expect(await world.pendingRuns(queues)).toHaveLength(2);
    });
  });

  describe('reconciling', () => {
    const reconcile = () => stage.world.storage.schedule.reconcile({ ...options(), limit: 100 });

    it('hazard 37: names the jobs of which runs wait though there is room', async () => {
      const { world } = stage;
      const job = await world.recurring();
      await world.fire(job, { runs: occurrences(2) });
      const full = await world.recurring();
      await world.fire(full, { runs: occurrences(2) });
      const open = (await world.pendingRuns(job)).filter(({ state }) => state === 'open');
      await world.settle((await world.claim(open)).runs[0]!);
      expect(await reconcile()).toEqual([{ jobId: job.jobId, replaces: false }]);
      await world.admit(job);
      expect(await reconcile()).toEqual([]);
    });

    it('hazard 13: a slot whose run is open or leased is kept', async () => {
      const { world } = stage;
      const [open, alive] = [await world.recurring(), await world.recurring()];
      await world.fire(open);
      await world.fire(alive);
      await world.claimOne(alive);
      await reconcile();
      for (const job of [open, alive]) {
        await world.fire(job);
        expect([...(await statesOf(job)).values()]).toContain('waiting');
      }
    });
  });

  describe('what waited too long for its start', () => {
    const expire = async (nowMs: number) =>
      (await stage.world.storage.schedule.expire({ guard: stage.world.guard, nowMs, limit: 10 })).length;

    it('hazard 16: becomes a dead letter that never started, open or behind a limit', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { startTimeoutMs: 1_000 } });
      const { runIds } = await world.fire(job, { runs: occurrences(2) });
      expect(await expire(BASE_MS + 1_000)).toBe(0);
      expect(await expire(BASE_MS + 1_001)).toBe(2);
      expect(await world.pendingRuns(job)).toEqual([]);
      const error = 'waited longer than start_timeout_seconds';
      for (const runId of runIds) {
        expect(await world.storage.runs.deadLetter(runId)).toMatchObject({ reason: 'never_started', error });
      }
      expect(await world.runsOf(job.jobId)).toMatchObject([
        { status: 'FAILED', error },
        { status: 'FAILED', error },
      ]);
      await world.fire(job);
      expect([...(await statesOf(job)).values()]).toEqual(['open']);
    });

    it('ends a one-off as FAILED, and a schedule that is over as COMPLETED', async () => {
      const { world } = stage;
      const { job } = await world.oneOff({ job: { startTimeoutMs: 5 } });
      const last = await world.recurring({ job: { startTimeoutMs: 5 } });
      await world.fire(last, { next: undefined });
      expect(await expire(BASE_MS + HOUR_MS)).toBe(2);
      expect(await world.statusOf(job.jobId)).toBe('FAILED');
      expect(await world.statusOf(last.jobId)).toBe('COMPLETED');
    });

    it('hazard 46: is judged by the terms as they are now', async () => {
      const { world } = stage;
      const { job } = await world.oneOff({ job: { startTimeoutMs: 5 } });
      await world.change(job.jobId, { startTimeoutMs: undefined }, { kind: 'keep' });
      expect(await expire(BASE_MS + HOUR_MS)).toBe(0);
    });

    it('an owner whose shard changed hands gives nothing up', async () => {
      const { world } = stage;
      await world.oneOff({ job: { startTimeoutMs: 5 } });
      await world.changeHands();
      expect(await expire(BASE_MS + HOUR_MS)).toBe(0);
    });
  });
}

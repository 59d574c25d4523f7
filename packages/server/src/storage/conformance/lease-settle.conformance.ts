/** Settling: a run leaves its lease exactly once, its attempt is recorded, and whoever comes second is refused. */
import type { ClaimedRun, Job, LeaseId, PendingRun, WorkerId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { LANE_START, laneOf } from '../lane.ts';
import { newId, sampleJob } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { type End, manualRun, onceRun, settlement, useStorageWorld } from './storage-world.ts';

export function describeLeaseSettle(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const LATER_MS = BASE_MS + MINUTE_MS;
  const again = { kind: 'again', atMs: LATER_MS, attempt: 2, crashes: 0 } as const;
  const failed = { status: 'FAILED', error: 'no', next: again } as const;

  /** One lease over runs of one job. */
  async function lease(count: number): Promise<readonly ClaimedRun[]> {
    const { world } = stage;
    const job = await world.recurring({ job: { maxConcurrency: 100 }, atMs: BASE_MS + HOUR_MS });
    for (let i = 0; i < count; i += 1) await world.storage.jobs.enqueue(job.jobId, manualRun());
    return (await world.claim(await world.pendingRuns(job))).runs;
  }

  const attempts = (run: ClaimedRun) => stage.world.storage.runs.attempts(run.runId, BASE_MS);

  describe('the record', () => {
    it('keeps how the attempt ended', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const run = await world.claimOne(job, { nowMs: BASE_MS + 1 });
      const times = { startedAtMs: BASE_MS + 2, endedAtMs: BASE_MS + SECOND_MS };
      expect(await world.settle(run, { ...times, result: '{"ok":true}' }, BASE_MS + 2_000)).toBe('settled');
      const [view] = await attempts(run);
      expect({ ...view, result: JSON.parse(view!.result!) }).toEqual({
        ...{
          runId,
          jobId: job.jobId,
          status: 'SUCCESS',
          attempt: 1,
          epoch: 1,
          trigger: 'schedule',
          isRepeat: false,
          jobVersion: 1,
        },
        ...{ scheduledAtMs: BASE_MS, createdAtMs: BASE_MS + 1, modifiedAtMs: BASE_MS + 2_000, ...times },
        ...{
          executorId: world.workerId,
          error: undefined,
          reason: undefined,
          result: { ok: true },
          logUrl: undefined,
        },
        ...{ occurrences: 1, lateReport: undefined },
      });
    });

    it('errors and results of any characters survive, side by side', async () => {
      const { world } = stage;
      const texts = [
        'NULL',
        '',
        '"quoted"',
        '{a,b}',
        'back\\slash\\\\',
        "it's, you see",
        'two\nlines\ttab',
        'ünïcødé 🔔',
      ];
      const runs = await lease(texts.length);
      const settlements = runs.map((run, i) =>
        settlement(run, { status: 'FAILED', error: texts[i]!, result: JSON.stringify(texts[i]!) }),
      );
      await world.storage.leases.settle(settlements, BASE_MS);
      for (const [i, run] of runs.entries()) {
        const [view] = await attempts(run);
        expect(view?.error).toBe(texts[i]);
        expect(JSON.parse(view!.result!)).toBe(texts[i]);
      }
    });

    it('an attempt that never began has no start', async () => {
      const [run] = await lease(1);
      await stage.world.settle(run!, { ...failed, startedAtMs: undefined });
      const view = (await attempts(run!)).find(({ status }) => status === 'FAILED');
      expect(view).toMatchObject({ endedAtMs: BASE_MS });
      expect(view?.startedAtMs).toBeUndefined();
    });
  });

  describe('the fence', () => {
    it('hazard 14: the second report is stale and changes nothing', async () => {
      const [run] = await lease(1);
      expect(await stage.world.settle(run!)).toBe('settled');
      expect(await stage.world.settle(run!, { status: 'FAILED', error: 'late' })).toBe('stale');
      expect(await stage.world.settle(run!, failed)).toBe('stale');
      expect(await attempts(run!)).toMatchObject([{ status: 'SUCCESS' }]);
    });

    it('hazard 14: another epoch, position or lease is stale', async () => {
      const [run] = await lease(1);
      for (const wrong of [{ epoch: 2 }, { epoch: 0 }, { position: 1 }, { leaseId: newId<LeaseId>() }]) {
        expect(await stage.world.settle({ ...run!, ...wrong })).toBe('stale');
      }
      expect(await stage.world.settle(run!)).toBe('settled');
    });

    it('hazard 14: a zombie cannot finish a run that was given to another', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const zombie = await world.claimOne(job);
      await world.settle(zombie, { ...failed, next: { ...again, atMs: BASE_MS, attempt: 1, crashes: 1 } });
      const other = await world.claimOne(job, { workerId: newId<WorkerId>() });
      expect(other).toMatchObject({ runId: zombie.runId, epoch: 2 });
      expect(await world.settle(zombie)).toBe('stale');
      expect(await world.settle({ ...other, epoch: 1 })).toBe('stale');
      expect(await world.statusOf(job.jobId)).toBe('SCHEDULED');
      expect(await world.settle(other)).toBe('settled');
      expect(await world.statusOf(job.jobId)).toBe('COMPLETED');
    });

    it('hazard 22: a run that was interrupted keeps its turn: it comes before those that were due after it', async () => {
      const { world } = stage;
      const long = await world.oneOff({ atMs: BASE_MS });
      const run = await world.claimOne(long.job);
      const job = { ...sampleJob({}), shard: long.job.shard };
      const next = onceRun(BASE_MS + 1_000);
      await world.storage.jobs.insert([{ job, first: { kind: 'run', run: next }, idempotency: undefined }]);
      const nowMs = BASE_MS + 5_000;
      const settled = await world.storage.leases.settle(
        [settlement(run, { ...failed, next: { ...again, atMs: nowMs, attempt: 1, crashes: 0 } })],
        nowMs,
      );
      expect(settled.opened).toMatchObject([{ atMs: BASE_MS }]);
      const lanes = [{ lane: laneOf(long.job), after: LANE_START, runsMax: 1 }];
      const request = { leaseId: newId<LeaseId>(), workerId: world.workerId, nowMs };
      const { runs } = await world.storage.leases.claim({ ...request, pick: { lanes, runsMax: 1 } });
      expect(runs).toMatchObject([{ runId: run.runId, epoch: 2 }]);
    });

    it('hazard 14: of a report and a recovery that race, exactly one counts', async () => {
      const { world } = stage;
      for (let round = 0; round < 5; round += 1) {
        const [run] = await lease(1);
        const verdicts = await Promise.all([
          world.settle(run!),
          world.settle(run!, failed),
          world.settle(run!),
        ]);
        expect(verdicts.toSorted()).toEqual(['settled', 'stale', 'stale']);
        const ended = (await attempts(run!)).filter((view) => view.status !== 'QUEUED');
        expect(ended).toHaveLength(1);
      }
    });

    it('a report repeated within one call is recorded once', async () => {
      const [run] = await lease(1);
      const twice = [settlement(run!, failed), settlement(run!, failed)];
      const { verdicts } = await stage.world.storage.leases.settle(twice, BASE_MS);
      expect(verdicts).toEqual(['settled', 'stale']);
      expect((await attempts(run!)).map((view) => [view.status, view.epoch])).toEqual([
        ['QUEUED', 2],
        ['FAILED', 1],
      ]);
    });
  });

  describe('a lease reported whole', () => {
    const dead = { kind: 'dead', reason: 'retries_exhausted' } as const;
    const odd = { quote: '"', back: '\\', line: 'a\nb', unit: '\u001e', bell: '🔔' };
    const ENDS: Readonly<Record<string, End>> = {
      done: {},
      answered: { result: JSON.stringify(odd), startedAtMs: BASE_MS + 1, endedAtMs: BASE_MS + 7 },
      empty: { result: '{}' },
      spaced: { result: '{\n  "pretty": true\n}' },
      retried: { ...failed, error: 'a "quoted", {braced} error\nin lines', startedAtMs: undefined },
      answeredAndFailed: { status: 'FAILED', error: 'no', result: '{"status":503}', next: dead },
      timedOut: { status: 'TIMED_OUT', error: 'slow', next: { ...again, attempt: 3, crashes: 1 } },
      gone: { status: 'FAILED', error: 'never', next: dead },
      pausedRetry: failed,
      pausedDone: { result: '1' },
      limited: failed,
      limitedDone: { result: '"limited"' },
      waitedFor: { result: 'null' },
    };

    const isLimited = (label: string) => label.startsWith('limited') || label === 'waitedFor';

    /**
     * A run for each end, the limited ones in a lease of their own, settled in one call. In one lease with them a one-off that is
     * tried again may have to ask for a slot. Answers what is left of each, without what differs from run to run. */
    async function settled({ whole }: { whole: boolean }) {
      const { world } = stage;
      const jobs = new Map<string, Job>();
      const wanted = { limited: [] as PendingRun[], others: [] as PendingRun[] };
      for (const label of Object.keys(ENDS)) {
        const job = isLimited(label)
          ? await world.recurring({ atMs: BASE_MS + HOUR_MS })
          : (await world.oneOff({ job: { payload: '{"big":true}' } })).job;
        if (isLimited(label)) await world.storage.jobs.enqueue(job.jobId, manualRun());
        const [run] = await world.pendingRuns(job);
        jobs.set(label, job);
        wanted[isLimited(label) ? 'limited' : 'others'].push(run!);
      }
      const claims = [await world.claim(wanted.limited), await world.claim(wanted.others)];
      const byJob = new Map(claims.flatMap(({ runs }) => runs).map((run) => [run.jobId, run]));
      const waiting = jobs.get('waitedFor')!;
      await world.storage.jobs.enqueue(waiting.jobId, manualRun());
      await world.admit(waiting);
      for (const label of ['pausedRetry', 'pausedDone']) await world.pause(jobs.get(label)!.jobId);

      const settlements = [...jobs].map(([label, { jobId }]) => {
        const run = byJob.get(jobId)!;
        return { ...settlement(run, ENDS[label]!), ...(!whole && { leaseSize: undefined }) };
      });
      const answer = await world.storage.leases.settle(settlements.toReversed(), BASE_MS + SECOND_MS);
      const left = await Promise.all(
        [...jobs].map(async ([label, { jobId }]) => {
          const { runId } = byJob.get(jobId)!;
          const views = await world.storage.runs.attempts(runId, BASE_MS + HOUR_MS);
          const pending = await world.storage.runs.pending(jobId, 10);
          const letter = await world.storage.runs.deadLetter(runId);
          return [
            label,
            {
              job: await world.statusOf(jobId),
              views: views.map(({ runId: _r, jobId: _j, executorId: _e, result, ...view }) => ({
                ...view,
                result: result === undefined ? undefined : (JSON.parse(result) as unknown),
              })),
              pending: pending.map(({ runId: _r, jobId: _j, shard: _s, ...run }) => run),
              letter: letter && { reason: letter.reason, error: letter.error, attempts: letter.attempts },
            },
          ] as const;
        }),
      );
      return {
        verdicts: answer.verdicts,
        freed: answer.freed.map((jobId) => [...jobs].find(([, job]) => job.jobId === jobId)?.[0]),
        opened: answer.opened.map(({ atMs }) => atMs),
        planned: answer.planned.map(({ atMs }) => atMs),
        held: await world.storage.leases.leasedBy([world.workerId]),
        left: Object.fromEntries(left),
      };
    }

    it('leaves the same as one that is settled run by run, whatever its runs ended with', async () => {
      const atOnce = await settled({ whole: true });
      expect(atOnce).toEqual(await settled({ whole: false }));
      expect(atOnce.verdicts).toEqual(Object.keys(ENDS).map(() => 'settled'));
      expect(atOnce).toMatchObject({
        freed: ['waitedFor'],
        opened: [LATER_MS, LATER_MS],
        planned: [LATER_MS],
      });
      expect(atOnce.held).toEqual([]);
      expect(atOnce.left).toMatchObject({
        done: { job: 'COMPLETED', views: [{ status: 'SUCCESS', result: undefined }], pending: [] },
        answered: {
          views: [{ status: 'SUCCESS', result: odd, startedAtMs: BASE_MS + 1, endedAtMs: BASE_MS + 7 }],
        },
        empty: { views: [{ result: {} }] },
        spaced: { job: 'COMPLETED', views: [{ status: 'SUCCESS', result: { pretty: true } }] },
        retried: {
          job: 'SCHEDULED',
          views: [
            { status: 'QUEUED' },
            { status: 'FAILED', error: ENDS.retried!.error, startedAtMs: undefined },
          ],
          pending: [{ attempt: 2, fireAtMs: LATER_MS, state: 'open', held: false }],
        },
        answeredAndFailed: {
          job: 'FAILED',
          views: [{ result: { status: 503 } }],
          letter: { error: 'no', attempts: 1 },
        },
        timedOut: { pending: [{ attempt: 3 }] },
        gone: { job: 'FAILED', letter: { reason: 'retries_exhausted', error: 'never' } },
        pausedRetry: { job: 'PAUSED', pending: [{ held: true }] },
        pausedDone: { job: 'COMPLETED', views: [{ status: 'SUCCESS', result: 1 }] },
        limited: { pending: [{ state: 'planned', attempt: 2 }] },
        waitedFor: { views: [{ status: 'SUCCESS', result: null }], pending: [{ state: 'waiting' }] },
      });
    });

    it('of which a run was cancelled or shown meanwhile is settled all the same', async () => {
      const { world } = stage;
      const runs = await lease(4);
      await world.storage.jobs.cancelRun(runs[1]!.runId, BASE_MS);
      await world.storage.leases.showRunning([{ ...runs[2]!, startedAtMs: BASE_MS }], BASE_MS);
      const ends = [{ result: '1' }, { result: '2' }, { result: '3' }, failed];
      const { verdicts } = await world.storage.leases.settle(
        runs.map((run, i) => settlement(run, ends[i]!)),
        BASE_MS,
      );
      expect(verdicts).toEqual(['settled', 'cancelled', 'settled', 'settled']);
      const statuses = await Promise.all(
        runs.map(async (run) => (await attempts(run)).map((view) => view.status)),
      );
      expect(statuses).toEqual([['SUCCESS'], ['CANCELLED'], ['SUCCESS'], ['QUEUED', 'FAILED']]);
    });

    it('together with another, each keeps its own results', async () => {
      const { world } = stage;
      const leases = [await lease(2), await lease(1), await lease(3)];
      const settlements = leases.flatMap((runs, n) =>
        runs.map((run, i) => settlement(run, n === 1 ? {} : { result: JSON.stringify(`${n} ${i}`) })),
      );
      await world.storage.leases.settle(settlements, BASE_MS);
      for (const [n, runs] of leases.entries()) {
        for (const [i, run] of runs.entries()) {
          const [view] = await attempts(run);
          expect(view?.result).toBe(n === 1 ? undefined : JSON.stringify(`${n} ${i}`));
        }
      }
    });
  });

  describe('batches', () => {
    it('a lease is settled in parts and in any order, and disappears with the last', async () => {
      const { world } = stage;
      const runs = await lease(5);
      const settle = async (positions: readonly number[]) => {
        const settlements = positions.map((position) => settlement(runs[position]!));
        return (await world.storage.leases.settle(settlements, BASE_MS)).verdicts;
      };
      expect(await settle([3])).toEqual(['settled']);
      expect(await settle([4, 0, 3])).toEqual(['settled', 'settled', 'stale']);
      expect(
        (await world.storage.leases.leasedBy([world.workerId])).map((held) => held.position).toSorted(),
      ).toEqual([1, 2]);
      expect(await settle([2, 1])).toEqual(['settled', 'settled']);
      const all = { workerId: world.workerId, session: 0, holding: [], fromMs: 0 };
      expect(await world.storage.members.unreceivedRuns(all)).toEqual([]);
      for (const run of runs) expect(await attempts(run)).toMatchObject([{ status: 'SUCCESS' }]);
    });

    it('one call settles runs of many leases, each with its own end, and answers in order', async () => {
      const { world } = stage;
      const leases = [await lease(1), await lease(4), await lease(2)] as const;
      await world.storage.jobs.cancelRun(leases[1][2]!.runId, BASE_MS);
      const { verdicts } = await world.storage.leases.settle(
        [
          settlement(leases[1][3]!, { status: 'TIMED_OUT', error: 'slow', next: again }),
          settlement(leases[0][0]!),
          settlement(leases[2][1]!, { ...failed, next: { kind: 'dead', reason: 'not_retryable' } }),
          settlement({ ...leases[2][0]!, epoch: 9 }),
          settlement(leases[1][2]!),
          settlement(leases[1][0]!, { ...failed, error: 'a' }),
        ],
        BASE_MS,
      );
      expect(verdicts).toEqual(['settled', 'settled', 'settled', 'stale', 'cancelled', 'settled']);
      const statusOf = async (run: ClaimedRun) => (await attempts(run)).map((view) => view.status);
      expect(await statusOf(leases[1][3]!)).toEqual(['QUEUED', 'TIMED_OUT']);
      expect(await statusOf(leases[0][0]!)).toEqual(['SUCCESS']);
      expect(await statusOf(leases[2][1]!)).toEqual(['FAILED']);
      expect(await statusOf(leases[2][0]!)).toEqual(['CLAIMED']);
      expect(await statusOf(leases[1][2]!)).toEqual(['CANCELLED']);
      expect(await statusOf(leases[1][0]!)).toEqual(['QUEUED', 'FAILED']);
      expect(await statusOf(leases[1][1]!)).toEqual(['CLAIMED']);
      expect((await world.storage.leases.settle([], BASE_MS)).verdicts).toEqual([]);
    });

    it('parts of one lease settled at the same time are all recorded', async () => {
      const { world } = stage;
      const runs = await lease(12);
      const verdicts = await Promise.all(runs.map((run) => world.settle(run)));
      expect(new Set(verdicts)).toEqual(new Set(['settled']));
      expect(await world.storage.leases.leasedBy([world.workerId])).toEqual([]);
      for (const run of runs) expect(await attempts(run)).toMatchObject([{ status: 'SUCCESS' }]);
    });
  });
}

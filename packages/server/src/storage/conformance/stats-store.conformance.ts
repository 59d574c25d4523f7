/** The promises of StatsStore: every attempt that ended is counted once, whoever counts, in its namespace and in the whole. */

import type { ClaimedRun, Job, RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { NAME_RESTS_MS } from '../account-store.ts';
import { ALL_HANDLERS } from '../run-tally.ts';
import { COUNTS, type Counts, GROUPS_PER_HOUR_MAX } from '../stats-store.ts';
import { countEnded, DAY } from './count-ended.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { type End, settlement, useStorageWorld } from './storage-world.ts';

const NOTHING = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Counts;

export function describeStatsStore(makeStorage: MakeStorage): void {
  describe('stats store', () => {
    const stage = useStorageWorld(makeStorage);

    const countAll = (ended: number) => countEnded(stage.world.storage.stats, ended);
    const countsIn = (namespace: string | undefined, handler?: string) =>
      stage.world.storage.stats.counts({
        ...{ bucket: 'minute', ...DAY, handler },
        namespaces: namespace === undefined ? undefined : [namespace],
      });
    const claimed = async (job: Partial<Job> = {}): Promise<ClaimedRun> =>
      stage.world.claimOne((await stage.world.oneOff({ job })).job);
    const end = async (over: End & { job?: Partial<Job> } = {}, nowMs = BASE_MS): Promise<ClaimedRun> => {
      const { job, ...rest } = over;
      const run = await claimed(job);
      await stage.world.settle(run, rest, nowMs);
      return run;
    };

    it('attempts are counted in the minute and hour in which their end was recorded, by outcome', async () => {
      const again = { kind: 'again', atMs: BASE_MS + 1, attempt: 2, crashes: 0 } as const;
      const dead = { kind: 'dead', reason: 'retries_exhausted' } as const;
      await end();
      await end({ status: 'FAILED', error: 'no', next: again }, BASE_MS + 10 * SECOND_MS);
      await end({ status: 'TIMED_OUT', error: 'late', next: dead }, BASE_MS + MINUTE_MS);
      await end({ status: 'CANCELLED' }, BASE_MS + HOUR_MS);
      await end({ status: 'LOST', next: { ...again, attempt: 1, crashes: 1 } }, BASE_MS + HOUR_MS);
      await countAll(5);
      expect(await countsIn(undefined)).toMatchObject([
        { ...NOTHING, atMs: BASE_MS, started: 2, succeeded: 1, failed: 1, retried: 1 },
        { ...NOTHING, atMs: BASE_MS + MINUTE_MS, started: 1, timedOut: 1 },
        { ...NOTHING, atMs: BASE_MS + HOUR_MS, started: 2, cancelled: 1, lost: 1 },
      ]);
      expect(
        await stage.world.storage.stats.counts({ bucket: 'hour', ...DAY, namespaces: undefined }),
      ).toMatchObject([
        { ...NOTHING, atMs: BASE_MS, started: 3, succeeded: 1, failed: 1, timedOut: 1, retried: 1 },
        { ...NOTHING, atMs: BASE_MS + HOUR_MS, started: 2, cancelled: 1, lost: 1 },
      ]);
    });

    it('each namespace and handler is counted by itself, and in the whole', async () => {
      await end({ job: { namespace: 'one', handler: 'http' } });
      await end({ job: { namespace: 'one', handler: 'other' } });
      await end({ job: { namespace: 'two', handler: 'http' } });
      await countAll(3);
      const succeeded = async (namespace: string | undefined, handler?: string) =>
        (await countsIn(namespace, handler))[0]?.succeeded;
      expect(await succeeded(undefined)).toBe(3);
      expect(await succeeded(undefined, 'http')).toBe(2);
      expect(await succeeded('one')).toBe(2);
      expect(await succeeded('one', 'other')).toBe(1);
      expect(await succeeded('two', 'other')).toBeUndefined();
      expect(await succeeded('none')).toBeUndefined();
      const { stats } = stage.world.storage;
      const both = { bucket: 'hour', ...DAY, namespaces: ['one', 'two'], handler: ALL_HANDLERS } as const;
      expect(await stats.counts(both)).toMatchObject([{ succeeded: 3 }]);
      expect(await stats.counts({ ...both, namespaces: [] })).toEqual([]);
    });

    it('several calls at once count everything once', async () => {
      for (let i = 0; i < 5; i += 1) await end();
      const { stats } = stage.world.storage;
      await Promise.all([1, 2, 3, 4].map(() => stats.countEnded({ nowMs: BASE_MS })));
      await countAll(5);
      await Promise.all([1, 2].map(() => stats.countEnded({ nowMs: BASE_MS })));
      expect(await countsIn(undefined)).toMatchObject([{ succeeded: 5 }]);
    });

    it('a batch of runs is counted as they would be one by one, with what was reported twice once', async () => {
      const { world } = stage;
      const jobs = await Promise.all([1, 2, 3, 4].map(() => world.oneOff()));
      const batch = await world.claim(jobs.map(({ job, runId }) => ({ jobId: job.jobId, runId })));
      const [first, second, third, fourth] = batch.runs as [ClaimedRun, ClaimedRun, ClaimedRun, ClaimedRun];
      const failed = settlement(third, {
        status: 'FAILED',
        error: 'no',
        next: { kind: 'dead', reason: 'not_retryable' },
      });
      await world.storage.leases.settle([settlement(first), settlement(first), settlement(second)], BASE_MS);
      await world.storage.leases.settle([settlement(second), failed, settlement(fourth)], BASE_MS);
      await countAll(4);
      expect(await countsIn(undefined)).toMatchObject([{ ...NOTHING, started: 4, succeeded: 3, failed: 1 }]);
    });

    it('a run that was asked to stop counts as cancelled, whatever it ended with', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const run = await world.claimOne(job);
      await world.storage.jobs.cancelRun(runId, BASE_MS);
      expect(await world.settle(run)).toBe('cancelled');
      await countAll(1);
      expect(await countsIn(undefined)).toMatchObject([{ ...NOTHING, started: 1, cancelled: 1 }]);
    });

    it('occurrences that are skipped count, each of a range', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { namespace: 'skips' } });
      const range = {
        runId: newId<RunId>(),
        reason: 'misfire',
        fromMs: BASE_MS,
        toMs: BASE_MS + 3 * MINUTE_MS,
      } as const;
      await world.fire(job, { runs: [], skipped: [{ ...range, count: 4, exact: true }] });
      await countAll(4);
      expect(await countsIn('skips')).toMatchObject([{ ...NOTHING, skipped: 4 }]);
    });

    it('an attempt counts as retried while its next one waits, and not once the run was given up', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const again = { kind: 'again', atMs: BASE_MS, attempt: 2, crashes: 0 } as const;
      const failed = { status: 'FAILED', error: 'no' } as const;
      const retried = async () =>
        (await world.storage.stats.attemptsOfJob(job.jobId, { ...DAY, limit: 10 })).map(
          ({ attempt, isRetried }) => [attempt, isRetried],
        );
      await world.settle(await world.claimOne(job), { ...failed, next: again });
      expect(await retried()).toEqual([[1, true]]);
      const last = await world.claimOne(job, { nowMs: BASE_MS + 1 });
      await world.settle(last, { ...failed, next: { kind: 'dead', reason: 'retries_exhausted' } });
      expect(await retried()).toEqual([
        [2, false],
        [1, true],
      ]);
    });

    it('a namespace that was made again has no counts of the one before', async () => {
      const { accounts, jobs } = stage.world.storage;
      const { jobId } = await end({ job: { namespace: 'again' }, status: 'FAILED', error: 'no' });
      await countAll(1);
      expect(await countsIn('again')).toHaveLength(1);
      await jobs.remove(jobId);
      expect(await accounts.removeNamespace('again')).toBe('removed');
      expect(await countsIn('again')).toEqual([]);
      const createdAtMs = BASE_MS + 2 * HOUR_MS;
      await stage.under.ageRemovals(NAME_RESTS_MS);
      await accounts.createNamespace({ name: 'again', description: '', createdAtMs });
      expect(await countsIn('again')).toEqual([]);
      const { stats } = stage.world.storage;
      expect(await stats.failures({ ...DAY, namespaces: ['again'], limit: 10 })).toEqual([]);
      expect(await countsIn(undefined)).toHaveLength(1);
    });

    it('not even when it is made again within the same minute', async () => {
      const { accounts, jobs, stats } = stage.world.storage;
      const { jobId } = await end({ job: { namespace: 'soon' }, status: 'FAILED', error: 'theirs' });
      await countAll(1);
      await jobs.remove(jobId);
      expect(await accounts.removeNamespace('soon')).toBe('removed');
      await stage.under.ageRemovals(NAME_RESTS_MS);
      await accounts.createNamespace({ name: 'soon', description: '', createdAtMs: BASE_MS + 1 });
      expect(await countsIn('soon')).toEqual([]);
      expect(await stats.failures({ ...DAY, namespaces: ['soon'], limit: 10 })).toEqual([]);
    });

    it('failures that are alike form a group with its jobs, its span and its newest run', async () => {
      const first = await end({ status: 'FAILED', error: 'row 1 is broken', job: { name: 'load' } });
      const second = await end({ status: 'FAILED', error: 'row 22 is broken' }, BASE_MS + HOUR_MS);
      await end({ status: 'TIMED_OUT', error: 'took too long' });
      await countAll(3);
      const { stats } = stage.world.storage;
      const groups = await stats.failures({ ...DAY, namespaces: undefined, limit: 10 });
      expect(groups).toMatchObject([
        {
          ...{ namespace: 'default', handler: 'http', message: 'row 22 is broken', count: 2, jobs: 2 },
          ...{ firstAtMs: BASE_MS, lastAtMs: BASE_MS + HOUR_MS },
          ...{ sampleRunId: second.runId, sampleJobId: second.jobId, sampleJobName: 'sample' },
        },
        { message: 'took too long', count: 1 },
      ]);
      const hour = { fromMs: BASE_MS, toMs: BASE_MS + HOUR_MS, namespaces: ['default'], limit: 1 };
      expect(await stats.failures({ ...hour, limit: 10 })).toMatchObject([{ count: 1 }, { count: 1 }]);
      expect(await stats.failures(hour)).toHaveLength(1);
      const loaded = (await stats.failures({ ...hour, limit: 10 })).find(({ message }) =>
        message.startsWith('row'),
      );
      expect(loaded).toMatchObject({ sampleRunId: first.runId, sampleJobName: 'load' });
      expect(await stats.failures({ ...hour, namespaces: ['none'] })).toEqual([]);
    });

    it('what a job has said is forgotten with it', async () => {
      const { storage } = stage.world;
      const quoted = async () =>
        (await storage.stats.failures({ ...DAY, namespaces: undefined, limit: 10 })).map(
          (group) => group.message,
        );
      const first = await end({ status: 'FAILED', error: 'the password is a' });
      await end({ status: 'FAILED', error: 'out of memory' });
      await countAll(2);
      expect((await quoted()).toSorted()).toEqual(['out of memory', 'the password is a']);
      expect(await storage.jobs.remove(first.jobId)).toBe(true);
      expect((await quoted()).toSorted()).toEqual([
        'The job that failed like this was removed, and its error with it.',
        'out of memory',
      ]);
    });

    it('the key of fingerprints stays the same', async () => {
      const { stats } = stage.world.storage;
      expect((await stats.fingerprintKey()).length).toBeGreaterThan(10);
      expect(await stats.fingerprintKey()).toBe(await stats.fingerprintKey());
    });

    it('an hour has a bounded number of groups: the errors past them share one', async () => {
      const word = (n: number) => String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26));
      const failures = GROUPS_PER_HOUR_MAX + 5;
      const { world } = stage;
      const jobs = await Promise.all(Array.from({ length: failures }, () => world.oneOff()));
      const batch = await world.claim(jobs.map(({ job, runId }) => ({ jobId: job.jobId, runId })));
      for (const [i, run] of batch.runs.entries())
        await world.settle(run, { status: 'FAILED', error: `cause ${word(i)}` });
      await countAll(failures);
      await world.settle(await claimed(), { status: 'FAILED', error: 'yet another' });
      await countAll(failures + 1);
      const groups = await world.storage.stats.failures({ ...DAY, namespaces: undefined, limit: 1_000 });
      expect(groups).toHaveLength(GROUPS_PER_HOUR_MAX + 1);
      expect(groups[0]).toMatchObject({ fingerprint: 'other', handler: undefined, count: 6 });
    });

    it('the attempts of a job are read by themselves, the latest first', async () => {
      const { world } = stage;
      const job = await world.recurring();
      for (const minute of [0, 1]) {
        const nowMs = BASE_MS + minute * MINUTE_MS;
        await world.fire(job, {}, nowMs);
        const run = await world.claimOne(job, { nowMs });
        await world.settle(run, { startedAtMs: nowMs + 5, endedAtMs: nowMs + 10 }, nowMs + 10);
      }
      const { stats } = world.storage;
      const attempts = await stats.attemptsOfJob(job.jobId, { ...DAY, limit: 10 });
      expect(attempts).toMatchObject([
        {
          status: 'SUCCESS',
          attempt: 1,
          trigger: 'schedule',
          isRetried: false,
          startedAtMs: BASE_MS + MINUTE_MS + 5,
        },
        { status: 'SUCCESS', recordedAtMs: BASE_MS + 10, scheduledAtMs: BASE_MS },
      ]);
      expect(await stats.attemptsOfJob(job.jobId, { ...DAY, limit: 1 })).toHaveLength(1);
    });

    it('what waits is counted, and since when the first has', async () => {
      const { world } = stage;
      const { stats } = world.storage;
      const now = (namespaces?: readonly string[]) => stats.waitingNow({ nowMs: BASE_MS + 1, namespaces });
      const none = { waiting: 0, oldestAtMs: undefined, unofferedHandlers: [] };
      expect(await now()).toEqual(none);
      await world.oneOff({ job: { namespace: 'one' } });
      await world.oneOff({ atMs: BASE_MS - 5, job: { namespace: 'two' } });
      await world.oneOff({ atMs: BASE_MS + HOUR_MS, job: { namespace: 'two' } });
      expect(await now()).toMatchObject({ waiting: 2, oldestAtMs: BASE_MS - 5 });
      expect(await now(['one'])).toMatchObject({ waiting: 1, oldestAtMs: BASE_MS });
      expect(await now([])).toEqual(none);
      await world.oneOff({ job: { namespace: 'one', handler: 'nobody-has-it' } });
      expect((await now(['one'])).unofferedHandlers).toContain('nobody-has-it');
      expect((await now(['two'])).unofferedHandlers).not.toContain('nobody-has-it');
    });

    it('old minutes and hours are dropped', async () => {
      await end({ status: 'FAILED', error: 'no' });
      await end({ status: 'FAILED', error: 'no' }, BASE_MS + HOUR_MS);
      await countAll(2);
      const { stats } = stage.world.storage;
      expect(await stats.dropCounts({ minutesBeforeMs: BASE_MS, hoursBeforeMs: BASE_MS })).toBe(0);
      await stats.dropCounts({ minutesBeforeMs: BASE_MS + HOUR_MS, hoursBeforeMs: BASE_MS });
      expect(await countsIn(undefined)).toHaveLength(1);
      const hours = () => stats.counts({ bucket: 'hour', ...DAY, namespaces: undefined });
      expect(await hours()).toHaveLength(2);
      await stats.dropCounts({ minutesBeforeMs: BASE_MS, hoursBeforeMs: BASE_MS + HOUR_MS });
      expect(await hours()).toHaveLength(1);
      expect(await stats.failures({ ...DAY, namespaces: undefined, limit: 10 })).toMatchObject([
        { count: 1 },
      ]);
    });
  });
}

/** How late runs began, as it is counted: only what was a delay, and the same whoever settles. */
import { fireTime, type Job, type JobId, occurrenceRunId, type RunId, startDelayMs } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { countAttempts } from '../run-tally.ts';
import type { CountedBucket } from '../stats-store.ts';
import { countEnded, DAY } from './count-ended.ts';
import { EVERY_MINUTE, newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage, MINUTE_MS, SECOND_MS } from './storage-under-test.ts';
import { type End, manualRun, settlement, useStorageWorld } from './storage-world.ts';

export function describeStartDelay(makeStorage: MakeStorage): void {
  describe('start delay in counts', () => {
    const stage = useStorageWorld(makeStorage);
    const countAll = (ended: number) => countEnded(stage.world.storage.stats, ended);
    const countsIn = (namespace: string) =>
      stage.world.storage.stats.counts({ bucket: 'minute', ...DAY, namespaces: [namespace] });
    /** With the id that a scheduler gives it. */
    const occurrence = ({ jobId }: Job) => ({
      runId: occurrenceRunId(jobId, BASE_MS),
      nominalAtMs: BASE_MS,
    });

    it('the start delay and the duration are measured; what the spread of a schedule adds is no delay', async () => {
      const { world } = stage;
      const { job: once } = await world.oneOff({ job: { namespace: 'plain' } });
      const first = await world.claimOne(once);
      await world.settle(first, { startedAtMs: BASE_MS + 500, endedAtMs: BASE_MS + 2_500 }, BASE_MS + 2_500);
      await countAll(1);
      const [plain] = await countsIn('plain');
      expect(Math.abs(plain!.startDelayMs!.p99 - 500) / 500).toBeLessThan(0.05);
      expect(Math.abs(plain!.durationMs!.p50 - 2_000) / 2_000).toBeLessThan(0.05);

      const spread = { ...EVERY_MINUTE, expression: '0 * * * *', spreadMs: 30 * MINUTE_MS };
      const job = await world.recurring({ job: { namespace: 'spread', schedule: spread } });
      await world.fire(job, { runs: [occurrence(job)] });
      const run = await world.claimOne(job);
      const dueAtMs = fireTime({ schedule: spread, jobId: job.jobId, nominalMs: BASE_MS });
      expect(dueAtMs - BASE_MS).toBeGreaterThan(SECOND_MS);
      const startedAtMs = dueAtMs + 100;
      await world.settle(run, { startedAtMs, endedAtMs: startedAtMs }, startedAtMs);
      await countAll(2);
      const [late] = await countsIn('spread');
      expect(Math.abs(late!.startDelayMs!.p99 - 100)).toBeLessThan(5);
    });

    it('the start delay leaves out runs that waited for a slot of their job, and runs that were taken over', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { namespace: 'limited' } });
      const second = { runId: newId<RunId>(), nominalAtMs: BASE_MS };
      await world.fire(job, { runs: [occurrence(job), second] });
      const openOne = async (nowMs: number) => {
        await world.admit(job, { nowMs });
        const open = (await world.pendingRuns(job)).filter(({ state }) => state === 'open');
        const { runs } = await world.claim(open, { nowMs });
        return runs[0]!;
      };
      const first = await openOne(BASE_MS + 100);
      await world.settle(first, { startedAtMs: BASE_MS + 100, endedAtMs: BASE_MS + MINUTE_MS });
      const waited = await openOne(BASE_MS + MINUTE_MS);
      expect(waited).toMatchObject({ runId: second.runId, dueAtMs: BASE_MS + MINUTE_MS });
      const laterMs = BASE_MS + MINUTE_MS + 5;
      const lost = { kind: 'again', atMs: laterMs, attempt: 1, crashes: 1 } as const;
      await world.settle(
        waited,
        { status: 'LOST', startedAtMs: laterMs, endedAtMs: laterMs, next: lost },
        laterMs,
      );
      await world.settle(await openOne(laterMs), { startedAtMs: laterMs, endedAtMs: laterMs });
      // What a person asks for is admitted some time after it was asked for: that is a delay.
      await world.storage.jobs.enqueue(job.jobId, manualRun(BASE_MS + 2 * MINUTE_MS));
      const asked = await openOne(BASE_MS + 2 * MINUTE_MS + 100);
      await world.settle(asked, { startedAtMs: asked.claimedAtMs, endedAtMs: asked.claimedAtMs });

      const { runId } = await world.oneOff({ job: { namespace: 'limited' } });
      const jobId = runId as string as JobId;
      const taken = (await world.claim([{ jobId, runId }])).runs[0]!;
      await world.settle(taken, { status: 'LOST', startedAtMs: undefined, next: lost }, laterMs);
      const over = (await world.claim([{ jobId, runId }], { nowMs: laterMs })).runs[0]!;
      expect(over).toMatchObject({ attempt: 1, dueAtMs: laterMs });
      await world.settle(over, { startedAtMs: laterMs, endedAtMs: laterMs });
      await countAll(6);
      const hour = { bucket: 'hour', ...DAY, namespaces: ['limited'] } as const;
      const [counted] = await world.storage.stats.counts(hour);
      expect(counted).toMatchObject({ succeeded: 4, lost: 2 });
      expect(Math.abs(counted!.startDelayMs!.p50 - 100)).toBeLessThan(5);
      expect(Math.abs(counted!.startDelayMs!.p99 - 100)).toBeLessThan(5);
    });

    it('the start delay is not measured of what a person runs again, which stands for an instant long past', async () => {
      const { world, under } = stage;
      for (const [i, storage] of [world.storage, under.other ?? world.storage].entries()) {
        const namespace = `again-${i}`;
        const job = await world.recurring({ job: { namespace } });
        const askedAtMs = BASE_MS + 60 * MINUTE_MS;
        const again = { ...manualRun(askedAtMs), nominalAtMs: BASE_MS };
        const request = { originRunId: newId<RunId>(), requestedBy: 'nina' };
        await world.storage.jobs.enqueue(job.jobId, { ...again, request });
        const run = await world.claimOne(job, { nowMs: askedAtMs + 100 });
        // Of this one the delay of handing out is known, from when it was asked for.
        expect(run).toMatchObject({ runId: again.runId, nominalAtMs: BASE_MS });
        expect(run.dueAtMs).toBeGreaterThanOrEqual(askedAtMs);
        const ended = { startedAtMs: askedAtMs + 100, endedAtMs: askedAtMs + 200 };
        await storage.leases.settle([settlement(run, ended)], ended.endedAtMs);
        await countAll(i + 1);

        const hour = { bucket: 'hour', ...DAY, namespaces: [namespace] } as const;
        const attempts = await world.storage.stats.attemptsOfJob(job.jobId, { ...DAY, limit: 10 });
        const [counted] = await world.storage.stats.counts(hour);
        expect(counted).toMatchObject({ succeeded: 1, startDelayMs: undefined });
        expect(countAttempts(job, attempts, 'hour')).toEqual([counted]);
        const [view] = await world.storage.runs.attempts(again.runId, ended.endedAtMs);
        expect(view).toMatchObject({ trigger: 'manual', isRepeat: true });
        expect(startDelayMs({ ...view!, schedule: view!.spread })).toBeUndefined();
      }
    });

    it('the start delay is the same, whichever server settles, and in the attempts of the job', async () => {
      const { world, under } = stage;
      const spread = { ...EVERY_MINUTE, expression: '0 * * * *', spreadMs: 30 * MINUTE_MS };
      const again = { kind: 'again', atMs: BASE_MS + 40 * MINUTE_MS, attempt: 2, crashes: 0 } as const;
      const delays: CountedBucket[] = [];
      for (const [namespace, storage] of [
        ['own', world.storage],
        ['other', under.other ?? world.storage],
      ] as const) {
        const job = await world.recurring({ job: { namespace, schedule: spread } });
        const dueAtMs = fireTime({ schedule: spread, jobId: job.jobId, nominalMs: BASE_MS });
        const settle = async (startedAtMs: number, over: End = {}) => {
          const run = await world.claimOne(job, { nowMs: startedAtMs });
          await storage.leases.settle(
            [settlement(run, { startedAtMs, endedAtMs: startedAtMs, ...over })],
            startedAtMs,
          );
        };
        await world.fire(job, { runs: [occurrence(job)] });
        await settle(dueAtMs + 100, { status: 'FAILED', error: 'no', next: again });
        // A retry, which is not measured, and what a person asked for, which is not spread.
        await settle(again.atMs + 9 * MINUTE_MS);
        await world.storage.jobs.enqueue(job.jobId, manualRun(BASE_MS + 50 * MINUTE_MS));
        await settle(BASE_MS + 50 * MINUTE_MS + 2_000);
        await countAll(3 * (delays.length / 2 + 1));
        const attempts = await world.storage.stats.attemptsOfJob(job.jobId, { ...DAY, limit: 10 });
        const hour = { bucket: 'hour', ...DAY, namespaces: [namespace] } as const;
        delays.push(...(await world.storage.stats.counts(hour)), ...countAttempts(job, attempts, 'hour'));
      }
      expect(delays).toEqual(delays.map(() => delays[0]));
      expect(delays[0]).toMatchObject({ started: 3, succeeded: 2, failed: 1, retried: 1 });
      const { p50, p99 } = delays[0]!.startDelayMs!;
      expect(Math.abs(p50 - 100)).toBeLessThan(5);
      expect(Math.abs(p99 - 2_000) / 2_000).toBeLessThan(0.05);
    });
  });
}

/** Handing out: runs move from pending into one lease, each at most once; and what can be read of that. */
import type { Job, LeaseId, PendingRun, WorkerId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { LANE_START, laneOf, namespaceKey } from '../lane.ts';
import type { ClaimRequest } from '../lease-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, MINUTE_MS } from './storage-under-test.ts';
import { manualRun, useStorageWorld } from './storage-world.ts';

export function describeLeaseClaim(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  /** Runs of as many different jobs, in lanes of their own. */
  async function waiting(count: number): Promise<PendingRun[]> {
    const runs: PendingRun[] = [];
    for (let i = 0; i < count; i += 1) {
      const { job } = await stage.world.oneOff({ job: { userId: `user ${i}` } });
      runs.push(...(await stage.world.pendingRuns(job)));
    }
    return runs;
  }

  const wholeLane = (job: Job): ClaimRequest['pick'] => ({
    lanes: [{ lane: laneOf(job), after: LANE_START, runsMax: 10 }],
    runsMax: 10,
  });

  describe('claim', () => {
    it('answers what the handler needs, with lease, position and first epoch', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff({
        job: { handler: 'script', payload: '{"a":[1]}', timeoutMs: 1_234 },
      });
      const leaseId = newId<LeaseId>();
      const nowMs = BASE_MS + 7;
      const batch = await world.storage.leases.claim({
        leaseId,
        workerId: world.workerId,
        pick: wholeLane(job),
        nowMs,
      });
      expect(batch).toMatchObject({ leaseId, workerId: world.workerId, claimedAtMs: nowMs });
      expect(batch.runs.map((run) => ({ ...run, payload: JSON.parse(run.payload) }))).toEqual([
        {
          ...{
            leaseId,
            position: 0,
            leaseSize: 1,
            jobId: job.jobId,
            runId,
            epoch: 1,
            attempt: 1,
            nominalAtMs: BASE_MS,
          },
          ...{
            dueAtMs: BASE_MS,
            claimedAtMs: nowMs,
            handler: 'script',
            payload: { a: [1] },
            timeoutMs: 1_234,
            limited: false,
            namespaceKey: namespaceKey(job.namespace),
          },
        },
      ]);
      expect(await world.pending(job)).toEqual([]);
    });

    it('positions count through those that were taken, as answered', async () => {
      const { world } = stage;
      const runs = await waiting(5);
      await world.claim([runs[1]!]);
      const wanted = [runs[3]!, runs[1]!, runs[0]!, runs[4]!];
      const batch = await world.claim(wanted);
      expect(batch.runs.map((run) => run.position)).toEqual([0, 1, 2]);
      expect(batch.runs.map((run) => run.runId).toSorted()).toEqual(
        [runs[3]!.runId, runs[0]!.runId, runs[4]!.runId].toSorted(),
      );
      const found = await world.storage.leases.leased(batch.runs);
      expect(found.map((held) => held?.runId)).toEqual(batch.runs.map((run) => run.runId));
    });

    it('gives each its own payload, however large, beside small ones', async () => {
      const { world } = stage;
      const payloads = [1, 100_000, 2, 400, 600, 3].map((length) => ({ text: 'é'.repeat(length) }));
      const runs: PendingRun[] = [];
      for (const payload of payloads) {
        const { job } = await world.oneOff({ job: { payload: JSON.stringify(payload) } });
        runs.push(...(await world.pendingRuns(job)));
      }
      const { runs: claimed } = await world.claim(runs);
      const byRun = new Map(claimed.map((run) => [run.runId, JSON.parse(run.payload)]));
      expect(runs.map(({ runId }) => byRun.get(runId))).toEqual(payloads);
    });

    it('gives the payload of an edit, whether it grew or shrank', async () => {
      const { world } = stage;
      const [small, large] = ['{"n":1}', JSON.stringify({ text: 'x'.repeat(5_000) })];
      for (const [before, after] of [
        [small, large],
        [large, small],
      ] as const) {
        const { job } = await world.oneOff({ job: { payload: before } });
        const runs = await world.pendingRuns(job);
        await world.change(job.jobId, { payload: after }, { kind: 'keep' });
        const { runs: claimed } = await world.claim(runs);
        expect(JSON.parse(claimed[0]!.payload)).toEqual(JSON.parse(after));
      }
    });

    it('gives the payload as it is at the claim', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const runs = await world.pendingRuns(job);
      await world.change(job.jobId, { payload: '{"n":2}', timeoutMs: 5 }, { kind: 'keep' });
      const { runs: claimed } = await world.claim(runs);
      expect(JSON.parse(claimed[0]!.payload)).toEqual({ n: 2 });
      expect(claimed[0]!.timeoutMs).toBe(5);
    });

    it('hazard 12: of claims that race for one run, exactly one gets it', async () => {
      const { world } = stage;
      const runs = await waiting(3);
      const batches = await Promise.all(Array.from({ length: 6 }, () => world.claim(runs)));
      const taken = batches.flatMap((batch) => batch.runs.map((run) => run.runId));
      expect(taken.toSorted()).toEqual(runs.map((run) => run.runId).toSorted());
      expect(await world.storage.leases.leasedBy([world.workerId])).toHaveLength(3);
    });

    it('hazard 7: nothing is handed out before its instant', async () => {
      const { world } = stage;
      const { job } = await world.oneOff({ atMs: BASE_MS + MINUTE_MS });
      const runs = await world.pendingRuns(job);
      expect((await world.claim(runs, { nowMs: BASE_MS + MINUTE_MS - 1 })).runs).toEqual([]);
      expect((await world.claim(runs, { nowMs: BASE_MS + MINUTE_MS })).runs).toHaveLength(1);
    });

    it('what has waited longer for its start than it may is not handed out (hazard 16)', async () => {
      const { world } = stage;
      const { job } = await world.oneOff({ job: { startTimeoutMs: 1_000 } });
      const runs = await world.pendingRuns(job);
      expect((await world.claim(runs, { nowMs: BASE_MS + 1_001 })).runs).toEqual([]);
      expect((await world.claim(runs, { nowMs: BASE_MS + 1_000 })).runs).toHaveLength(1);
    });

    it('hazard 13: a worker that is unknown or given up for dead is handed nothing', async () => {
      const { world } = stage;
      const { job } = await world.oneOff();
      const dead = newId<WorkerId>();
      const { leases } = world.storage;
      await world.register(dead);
      await world.markDead(dead);
      for (const workerId of [dead, newId<WorkerId>()]) {
        const request = { leaseId: newId<LeaseId>(), workerId, pick: wholeLane(job), nowMs: BASE_MS };
        expect((await leases.claim(request)).runs).toEqual([]);
      }
    });

    it('a claim that takes nothing leaves no lease', async () => {
      const { world } = stage;
      const { job } = await world.oneOff({ atMs: BASE_MS + HOUR_MS });
      await world.claim(await world.pendingRuns(job));
      await world.claim([]);
      const all = { workerId: world.workerId, session: 0, holding: [], fromMs: 0 };
      expect(await world.storage.members.unreceivedRuns(all)).toEqual([]);
    });
  });

  describe('what is held', () => {
    it('a held run shows what its next step is decided by', async () => {
      const { world } = stage;
      const retry = {
        strategy: 'fixed',
        maxRetries: 2,
        delayMs: 3,
        delayMsMax: 4,
        jitter: false,
        deadlineMs: 9,
      } as const;
      const tenant = { namespace: 'billing', userId: 'ada' };
      const { job, runId } = await world.oneOff({ job: { retry, ...tenant } });
      const claimed = await world.claimOne(job);
      const { leaseId, position, epoch } = claimed;
      expect(await world.storage.leases.leased([claimed])).toEqual([
        {
          ...{
            leaseId,
            position,
            epoch,
            jobId: job.jobId,
            runId,
            workerId: world.workerId,
            attempt: 1,
            crashes: 0,
          },
          ...{ nominalAtMs: BASE_MS, claimedAtMs: BASE_MS, retry, cancelRequested: false },
          ...tenant,
        },
      ]);
      expect(await world.storage.leases.leasedBy([world.workerId])).toMatchObject([tenant]);
    });

    it('answers in order, with nothing where nothing is held at that epoch', async () => {
      const { world } = stage;
      const { runs } = await world.claim(await waiting(2));
      const [first, second] = runs;
      const found = await world.storage.leases.leased([
        second!,
        { ...first!, epoch: 2 },
        { leaseId: newId<LeaseId>(), position: 0, epoch: 1 },
        { ...first!, position: 7 },
        first!,
      ]);
      expect(found.map((held) => held?.runId)).toEqual([
        second!.runId,
        undefined,
        undefined,
        undefined,
        first!.runId,
      ]);
      await world.settle(first!);
      expect(await world.storage.leases.leased([first!])).toEqual([undefined]);
      expect(await world.storage.leases.leased([])).toEqual([]);
    });

    it('shows a cancel that was asked for, once or twice, and of no other run', async () => {
      const { world } = stage;
      const [alive, waits] = await waiting(2);
      const { runs } = await world.claim([alive!]);
      for (const verdict of ['asked', 'asked_before'])
        expect(await world.storage.jobs.cancelRun(alive!.runId, BASE_MS)).toBe(verdict);
      expect((await world.storage.leases.leased(runs))[0]?.cancelRequested).toBe(true);
      const later = await world.claim([waits!]);
      expect((await world.storage.leases.leased(later.runs))[0]?.cancelRequested).toBe(false);
    });

    it('a cancel for one run of a lease leaves its neighbours alone', async () => {
      const { world } = stage;
      const { runs } = await world.claim(await waiting(3));
      await world.storage.jobs.cancelRun(runs[1]!.runId, BASE_MS);
      const found = await world.storage.leases.leased(runs);
      expect(found.map((held) => held?.cancelRequested)).toEqual([false, true, false]);
    });

    it('leasedBy answers everything of the workers asked for, over all their leases', async () => {
      const { world } = stage;
      const runs = await waiting(5);
      const [second, third] = [newId<WorkerId>(), newId<WorkerId>()];
      await world.claim(runs.slice(0, 2));
      await world.claim(runs.slice(2, 3));
      await world.claim(runs.slice(3, 4), { workerId: second });
      await world.claim(runs.slice(4), { workerId: third });
      const idsOf = async (workers: WorkerId[]) =>
        (await world.storage.leases.leasedBy(workers)).map((held) => held.runId).toSorted();
      expect(await idsOf([world.workerId])).toEqual(
        runs
          .slice(0, 3)
          .map((run) => run.runId)
          .toSorted(),
      );
      expect(await idsOf([world.workerId, second])).toEqual(
        runs
          .slice(0, 4)
          .map((run) => run.runId)
          .toSorted(),
      );
      expect(await idsOf([newId<WorkerId>()])).toEqual([]);
      expect(await idsOf([])).toEqual([]);
    });

    it('hazard 13: an ended run is gone from the leases at once', async () => {
      const { world } = stage;
      const job = await world.recurring({ job: { maxConcurrency: 5 } });
      for (let i = 0; i < 3; i += 1) await world.storage.jobs.enqueue(job.jobId, manualRun());
      const { runs } = await world.claim(await world.pendingRuns(job), { nowMs: BASE_MS + 3 });
      expect(await world.living(job.jobId)).toHaveLength(3);
      await world.settle(runs[1]!);
      expect((await world.living(job.jobId)).toSorted()).toEqual([runs[0]!.runId, runs[2]!.runId].toSorted());
    });
  });
}

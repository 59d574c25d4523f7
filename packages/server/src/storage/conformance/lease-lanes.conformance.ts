/** Lanes: what may start, claimed from the storage in the order it became claimable, by the statement that finds it. */
import type { Job, LeaseId, RunId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { LANE_START, type LaneKey, laneOf } from '../lane.ts';
import { CLAIM_BYTES_MAX, type LanePick } from '../lease-store.ts';
import { newId, sampleJob } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage } from './storage-under-test.ts';
import { manualRun, onceRun, useStorageWorld } from './storage-world.ts';

const LARGE_BYTES = 200 * 1024;

export function describeLeaseLanes(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  /** Jobs of one lane, due at these instants. */
  async function laneOfJobs(instants: readonly number[], over: Partial<Job> = {}) {
    const { world } = stage;
    const [first] = [sampleJob(over)];
    const runs: { runId: RunId; atMs: number }[] = [];
    for (const atMs of instants) {
      const job = { ...sampleJob(over), shard: first!.shard };
      const run = onceRun(BASE_MS + atMs);
      await world.house(job);
      await world.storage.jobs.insert([{ job, first: { kind: 'run', run }, idempotency: undefined }]);
      runs.push({ runId: run.runId, atMs });
    }
    const inOrder = runs.toSorted((a, b) => a.atMs - b.atMs || (a.runId < b.runId ? -1 : 1));
    return { lane: laneOf(first!), ids: inOrder.map(({ runId }) => runId) };
  }

  const pickOf = (lane: LaneKey, over: Partial<LanePick> = {}): LanePick => ({
    ...{ lane, after: LANE_START, runsMax: 100 },
    ...over,
  });
  const claim = (lanes: readonly LanePick[], { runsMax = 100, nowMs = BASE_MS + HOUR_MS } = {}) =>
    stage.world.storage.leases.claim({
      ...{ leaseId: newId<LeaseId>(), workerId: stage.world.workerId, nowMs },
      pick: { lanes, runsMax },
    });
  const idsOf = (runs: readonly { runId: RunId }[]) => runs.map(({ runId }) => runId).toSorted();

  describe('claiming from lanes', () => {
    it('takes the first runs of a lane, and tells where it stopped', async () => {
      const { lane, ids } = await laneOfJobs([5, 3, 3, 9, 1]);
      const first = await claim([pickOf(lane, { runsMax: 3 })]);
      expect(idsOf(first.runs)).toEqual(ids.slice(0, 3).toSorted());
      expect(first.scans).toEqual([
        { found: 3, last: { laneAtMs: BASE_MS + 3, runId: ids[2] }, nextAtMs: undefined },
      ]);
      const rest = await claim([pickOf(lane, { after: first.scans[0]!.last! })]);
      expect(idsOf(rest.runs)).toEqual(ids.slice(3).toSorted());
    });

    it('of a lane that is read to its end, tells when the next run may be claimed', async () => {
      const { lane, ids } = await laneOfJobs([1, 50, 70]);
      const { runs, scans } = await claim([pickOf(lane)], { nowMs: BASE_MS + 10 });
      expect(idsOf(runs)).toEqual(ids.slice(0, 1));
      expect(scans[0]).toMatchObject({ found: 1, nextAtMs: BASE_MS + 50 });
      expect((await claim([pickOf(lane)], { nowMs: BASE_MS + 60 })).scans[0]?.nextAtMs).toBe(BASE_MS + 70);
      expect((await claim([pickOf(lane)], { nowMs: BASE_MS + 80 })).scans[0]?.nextAtMs).toBeUndefined();
    });

    it('what lies behind the mark is left alone', async () => {
      const { lane, ids } = await laneOfJobs([1, 2, 3]);
      const after = { laneAtMs: BASE_MS + 1, runId: ids[0]! };
      expect(idsOf((await claim([pickOf(lane, { after })])).runs)).toEqual(ids.slice(1).toSorted());
    });

    it('lanes are taken in the order given, each up to its own number, all up to the total', async () => {
      const one = await laneOfJobs([1, 2, 3], { priority: 'low' });
      const two = await laneOfJobs([1, 2, 3], { priority: 'high' });
      const three = await laneOfJobs([1, 2, 3], { priority: 'medium' });
      const lanes = [
        pickOf(two.lane, { runsMax: 2 }),
        pickOf(one.lane, { runsMax: 2 }),
        pickOf(three.lane, { runsMax: 2 }),
      ];
      const { runs, scans } = await claim(lanes, { runsMax: 3 });
      expect(idsOf(runs)).toEqual([...two.ids.slice(0, 2), one.ids[0]!].toSorted());
      expect(scans.map(({ found }) => found)).toEqual([2, 1, 0]);
    });

    it('priority, handler and tenant make lanes of their own', async () => {
      const shapes: Partial<Job>[] = [
        {},
        { priority: 'high' },
        { handler: 'other' },
        { userId: 'somebody' },
        { namespace: 'elsewhere' },
        { namespace: 'elsewhere', userId: 'somebody' },
      ];
      const lanes = [];
      for (const shape of shapes) lanes.push(await laneOfJobs([1], shape));
      for (const { lane, ids } of lanes) expect(idsOf((await claim([pickOf(lane)])).runs)).toEqual(ids);
    });

    it('hazard 12: claims of one lane that race share its runs out, each run once', async () => {
      const { lane, ids } = await laneOfJobs(Array.from({ length: 30 }, (_, i) => i));
      const batches = await Promise.all(
        Array.from({ length: 6 }, () => claim([pickOf(lane, { runsMax: 10 })])),
      );
      const taken = batches.flatMap(({ runs }) => runs);
      expect(new Set(taken.map(({ runId }) => runId)).size).toBe(taken.length);
      const rest = await claim([pickOf(lane)]);
      expect(idsOf([...taken, ...rest.runs])).toEqual(ids.toSorted());
    });

    it('what is held, asks, waits or has waited too long is not in a lane', async () => {
      const { world } = stage;
      const { job: paused } = await world.oneOff();
      await world.pause(paused.jobId);
      const limited = await world.recurring({ job: { priority: 'high' } });
      await world.fire(limited);
      await world.storage.jobs.enqueue(limited.jobId, manualRun());
      const { job: late } = await world.oneOff({ job: { startTimeoutMs: 1, priority: 'low' } });
      for (const job of [paused, late]) expect((await claim([pickOf(laneOf(job))])).runs).toEqual([]);
      expect((await claim([pickOf(laneOf(limited))])).runs).toMatchObject([{ limited: true }]);
    });

    it('are bounded by what their payloads have together: the runs after that are left, in their order, for the next', async () => {
      const { world } = stage;
      // What takes up little in a database is counted in full, too.
      const payload = JSON.stringify({ text: 'x'.repeat(LARGE_BYTES) });
      const perClaim = Math.floor(CLAIM_BYTES_MAX / LARGE_BYTES);
      const instants = Array.from({ length: perClaim + 3 }, (_, i) => i + 2);
      const { lane, ids } = await laneOfJobs(instants, { shard: 1, payload });
      const [small] = (await laneOfJobs([1], { shard: 1 })).ids;
      const first = await claim([pickOf(lane)]);
      expect(idsOf(first.runs)).toEqual([small!, ...ids.slice(0, perClaim)].toSorted());
      expect(first).toMatchObject({ isCut: true, scans: [{ found: perClaim + 1 }] });
      expect(first.runs.every((run) => run.runId === small || run.payload.length > LARGE_BYTES)).toBe(true);
      const second = await claim([pickOf(lane, { after: first.scans[0]!.last! })]);
      expect(idsOf(second.runs)).toEqual(ids.slice(perClaim).toSorted());
      expect(second.isCut).toBe(false);
      // What a person asked for has a payload of its own; a small one of their own is not counted.
      const asked = await world.recurring({ job: { shard: 1, maxConcurrency: 100, payload } });
      const ask = (own: string) =>
        world.storage.jobs.enqueue(asked.jobId, { ...manualRun(), request: { payload: own } });
      for (let i = 0; i < perClaim; i += 1) await ask('{}');
      for (let i = 0; i < perClaim + 1; i += 1) await ask(payload);
      await world.admit(asked);
      const third = await claim([pickOf(laneOf(asked))]);
      expect([third.isCut, third.runs.filter((run) => run.payload.length > LARGE_BYTES).length]).toEqual([
        true,
        perClaim,
      ]);
    });

    it('an edit moves a run into its new lane, as from then on', async () => {
      const { world } = stage;
      const { job, runId } = await world.oneOff();
      const nowMs = BASE_MS + HOUR_MS;
      await world.change(job.jobId, { priority: 'high', handler: 'other' }, { kind: 'keep' }, nowMs);
      const lane = laneOf({ ...job, priority: 'high', handler: 'other' });
      const heads = await world.storage.leases.lanes({ after: undefined, limit: 10 });
      expect(heads).toEqual([{ ...lane, laneAtMs: nowMs, runId }]);
    });
  });

  describe('the list of lanes', () => {
    it('answers the first run of each, in order, page by page', async () => {
      const { world } = stage;
      const made = [];
      for (const userId of ['a', 'b', 'c', 'd', 'e']) made.push(await laneOfJobs([7, 2, 4], { userId }));
      const all = await world.storage.leases.lanes({ after: undefined, limit: 100 });
      expect(all.map(({ runId }) => runId).toSorted()).toEqual(made.map(({ ids }) => ids[0]!).toSorted());
      expect(new Set(all.map(({ laneAtMs }) => laneAtMs))).toEqual(new Set([BASE_MS + 2]));
      const first = await world.storage.leases.lanes({ after: undefined, limit: 3 });
      const second = await world.storage.leases.lanes({ after: first.at(-1), limit: 3 });
      expect([...first, ...second]).toEqual(all);
      expect(await world.storage.leases.lanes({ after: all.at(-1), limit: 3 })).toEqual([]);
    });

    it('a lane without open runs is none', async () => {
      const { lane } = await laneOfJobs([1]);
      await claim([pickOf(lane)]);
      expect(await stage.world.storage.leases.lanes({ after: undefined, limit: 10 })).toEqual([]);
    });
  });
}

/** Looking ahead: rows in the order of their places, lane by lane. */
import { type Job, PRIORITIES } from '@carillon/domain';
import { expect, it } from 'vitest';
import type { Lane, PlacedRow } from '../schedule-store.ts';
import { BASE_MS, FAR_MS, HOUR_MS, type MakeStorage } from './storage-under-test.ts';
import { LANE_START, manualRun, useStorageWorld } from './storage-world.ts';

export function describeScheduleRead(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  /** One job with runs at these instants, and its lane. */
  async function laneWith(instants: readonly number[]): Promise<{ job: Job; lane: Lane }> {
    const job = await stage.world.recurring({ atMs: BASE_MS + HOUR_MS });
    for (const atMs of instants) await stage.world.storage.jobs.enqueue(job.jobId, manualRun(atMs));
    return { job, lane: { shard: job.shard, priority: job.priority, after: LANE_START } };
  }

  const read = (lanes: readonly Lane[], limitPerLane = 1_000, untilMs = FAR_MS) =>
    stage.world.storage.schedule.read(lanes, { untilMs, limitPerLane });
  const placesOf = (rows: readonly PlacedRow[]) =>
    rows.map(({ place }) => `${place.fireAtMs}/${place.runId}`);

  it('rows of a lane come in the order of instant and id, cursors among them', async () => {
    const instants = [5, 3, 3, 9, 1, 3, 7_200_000].map((ms) => BASE_MS + ms);
    const { lane } = await laneWith(instants);
    const rows = await read([lane]);
    expect(rows).toHaveLength(8);
    expect(placesOf(rows)).toEqual(placesOf(rows).toSorted());
    expect(rows.map(({ row }) => row.kind).lastIndexOf('cursor')).toBe(6);
    for (const { row, place } of rows) {
      expect(place.fireAtMs).toBe(row.fireAtMs);
      if (row.kind === 'run') expect(place.runId).toBe(row.runId);
    }
  });

  it('reading on from the last place misses nothing and repeats nothing', async () => {
    const { lane } = await laneWith([4, 2, 2, 2, 2, 1, 8].map((ms) => BASE_MS + ms));
    const whole = await read([lane]);
    const pieces: PlacedRow[] = [];
    for (let after = LANE_START; pieces.length <= whole.length; ) {
      const piece = await read([{ ...lane, after }], 2);
      if (piece.length === 0) break;
      pieces.push(...piece);
      after = piece.at(-1)!.place;
    }
    expect(pieces).toEqual(whole);
  });

  it('reads up to the instant and no further, at most the limit from each lane', async () => {
    const { lane } = await laneWith([1, 2, 3].map((ms) => BASE_MS + ms));
    expect(await read([lane], 1_000, BASE_MS + 2)).toHaveLength(2);
    expect(await read([lane], 1_000, BASE_MS)).toEqual([]);
    const limited = await read([lane], 2);
    expect(placesOf(limited)).toEqual(placesOf(await read([lane])).slice(0, 2));
  });

  it('each lane is read from its own place, with its own limit, and no other lane leaks in', async () => {
    const { world } = stage;
    const jobs = await Promise.all(PRIORITIES.map((priority) => world.recurring({ job: { priority } })));
    for (const job of jobs) {
      for (let i = 1; i <= 3; i += 1) await world.storage.jobs.enqueue(job.jobId, manualRun(BASE_MS + i));
    }
    const lanes = jobs.map((job) => ({ shard: job.shard, priority: job.priority, after: LANE_START }));
    const rows = await read(lanes, 3);
    for (const job of jobs) {
      const own = rows.filter(({ row }) => row.shard === job.shard && row.priority === job.priority);
      expect(own.map(({ row }) => row.fireAtMs - BASE_MS)).toEqual([0, 1, 2]);
      expect(new Set(own.map(({ row }) => row.jobId))).toEqual(new Set([job.jobId]));
    }
    const further = await read(
      [{ ...lanes[0]!, after: { fireAtMs: BASE_MS + 1, runId: LANE_START.runId } }, lanes[1]!],
      1,
    );
    expect(further.map(({ row }) => [row.jobId, row.fireAtMs - BASE_MS])).toEqual([
      [jobs[0]!.jobId, 1],
      [jobs[1]!.jobId, 0],
    ]);
    expect(await read([])).toEqual([]);
  });

  it('a lane of many jobs keeps its order', async () => {
    const { world } = stage;
    const jobs = await Promise.all(
      Array.from({ length: 300 }, (_, i) => world.recurring({ atMs: BASE_MS + ((i * 7_919) % 300) })),
    );
    const byShard = Map.groupBy(jobs, (job) => job.shard);
    const lanes = [...byShard.keys()].map(
      (shard): Lane => ({ shard, priority: 'medium', after: LANE_START }),
    );
    const rows = await read(lanes);
    expect(rows).toHaveLength(300);
    for (const shard of byShard.keys()) {
      const places = placesOf(rows.filter(({ row }) => row.shard === shard));
      expect(places).toEqual(places.toSorted());
    }
  });
}

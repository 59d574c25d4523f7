/** Looking ahead: cursors, and runs that ask for a slot, in the order of instants, shard by shard. */
import type { Job } from '@carillon/domain';
import { expect, it } from 'vitest';
import type { Cursor } from '../due.ts';
import type { ShardPosition } from '../schedule-store.ts';
import { BASE_MS, FAR_MS, HOUR_MS, type MakeStorage } from './storage-under-test.ts';
import { ALL_SHARDS, manualRun, shardStart, useStorageWorld } from './storage-world.ts';

export function describeScheduleRead(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  const read = (places: readonly ShardPosition[], limitPerShard = 1_000, untilMs = FAR_MS) =>
    stage.world.storage.schedule.readCursors(places, { untilMs, limitPerShard });
  const keyOf = ({ fireAtMs, jobId }: Cursor) => `${fireAtMs}/${jobId}`;

  async function crons(instants: readonly number[]): Promise<Job[]> {
    const jobs: Job[] = [];
    for (const atMs of instants) jobs.push(await stage.world.recurring({ atMs: BASE_MS + atMs }));
    return jobs;
  }

  it('cursors of a shard come in the order of instant and id', async () => {
    const jobs = await crons(Array.from({ length: 200 }, (_, i) => (i * 7_919) % 20));
    const cursors = await read(ALL_SHARDS.map(shardStart));
    expect(cursors.map(({ jobId }) => jobId).toSorted()).toEqual(jobs.map(({ jobId }) => jobId).toSorted());
    for (const shard of ALL_SHARDS) {
      const keys = cursors.filter((cursor) => cursor.shard === shard).map(keyOf);
      expect(keys).toEqual(keys.toSorted());
    }
  });

  it('reading on from the last place misses nothing and repeats nothing', async () => {
    await crons(Array.from({ length: 120 }, (_, i) => i % 3));
    const pieces: Cursor[] = [];
    let places = ALL_SHARDS.map(shardStart);
    for (let rounds = 0; rounds < 200; rounds += 1) {
      const piece = await read(places, 2);
      if (piece.length === 0) break;
      pieces.push(...piece);
      places = places.map((place) => {
        const last = piece.filter(({ shard }) => shard === place.shard).at(-1);
        return last ? { shard: place.shard, afterMs: last.fireAtMs, afterId: last.jobId } : place;
      });
    }
    const whole = await read(ALL_SHARDS.map(shardStart));
    expect(pieces.map(keyOf).toSorted()).toEqual(whole.map(keyOf).toSorted());
  });

  it('reads up to the instant and no further', async () => {
    const [job] = await crons([5]);
    expect(await read([shardStart(job!.shard)], 10, BASE_MS + 4)).toEqual([]);
    expect(await read([shardStart(job!.shard)], 10, BASE_MS + 5)).toHaveLength(1);
    expect(await read([])).toEqual([]);
  });

  it('runs that ask for a slot are read by their instants, until they have one', async () => {
    const { world } = stage;
    const job = await world.recurring({ atMs: BASE_MS + HOUR_MS });
    const [later, sooner] = [manualRun(BASE_MS + 9), manualRun(BASE_MS + 4)];
    for (const run of [later, sooner]) await world.storage.jobs.enqueue(job.jobId, run);
    const planned = () =>
      world.storage.schedule.readPlanned([shardStart(job.shard)], { untilMs: FAR_MS, limitPerShard: 10 });
    const { jobId, shard } = job;
    expect(await planned()).toEqual([
      { jobId, runId: sooner.runId, shard, fireAtMs: BASE_MS + 4 },
      { jobId, runId: later.runId, shard, fireAtMs: BASE_MS + 9 },
    ]);
    await world.admit(job, { nowMs: BASE_MS + 4 });
    expect((await planned()).map(({ runId }) => runId)).toEqual([later.runId]);
  });
}

import type { Job } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import { onceRun } from '../storage/conformance/storage-world.ts';
import type { DueRow } from '../storage/due.ts';
import type { ScheduleStore } from '../storage/schedule-store.ts';
import { type Breakage, breakable, RoleStage } from '../testing/role-stage.fixture.ts';
import { LookAhead } from './look-ahead.ts';

const WINDOW_MS = 5 * MINUTE_MS;

let stage: RoleStage;
let store: ScheduleStore;
let breakage: Breakage;
let ahead: LookAhead;

beforeEach(async () => {
  stage = await RoleStage.set();
  ({ port: store, breakage } = breakable<ScheduleStore>(stage.storage.schedule));
  ahead = look();
});

function look(over: { rowsMax?: number } = {}): LookAhead {
  const created = new LookAhead({ store, windowMs: WINDOW_MS, rowsMax: 50_000, ...over });
  created.own(stage.world.guard.epochs);
  return created;
}

/** One-offs due at the instants, all in one lane. */
async function oneLane(instants: readonly number[]): Promise<void> {
  const shard = 7;
  const jobs = instants.map((atMs) => ({
    job: sampleJob({ shard }),
    first: { kind: 'run' as const, run: onceRun(atMs) },
    idempotency: undefined,
  }));
  await stage.storage.jobs.insert(jobs);
}

/** Reads until there is no more to read. */
async function readAll(nowMs = BASE_MS): Promise<void> {
  while ((await ahead.readAhead(nowMs)) === 'more');
}

const due = (nowMs: number, max = 10_000): DueRow[] => ahead.takeDue(nowMs, () => max);
const instantsOf = (rows: readonly DueRow[]) => rows.map((row) => row.fireAtMs - BASE_MS);
const rowOf = async (job: Job): Promise<DueRow> => (await stage.world.pending(job))[0]!.row;

describe('looking ahead', () => {
  test('holds what falls into the window, and gives it out at its instant', async () => {
    await oneLane([10, 20, WINDOW_MS + 1].map((ms) => BASE_MS + ms));
    await readAll();
    expect(ahead.size).toBe(2);
    expect(ahead.nextFireAtMs()).toBe(BASE_MS + 10);
    expect(due(BASE_MS + 9)).toEqual([]);
    expect(instantsOf(due(BASE_MS + 10))).toEqual([10]);
    expect(instantsOf(due(BASE_MS + 100))).toEqual([20]);
    expect(ahead.nextFireAtMs()).toBeUndefined();
  });

  test('reads on where it stopped, as the window moves', async () => {
    await oneLane([BASE_MS + WINDOW_MS + 1_000]);
    await readAll();
    expect(ahead.size).toBe(0);
    await readAll(BASE_MS + 1_000);
    expect(ahead.size).toBe(1);
  });

  test('takes a lane of any length in bites, each row once (hazard 24)', async () => {
    await oneLane(Array.from({ length: 1_000 }, (_, i) => BASE_MS + 1_000 + (i % 3)));
    await readAll();
    expect(ahead.size).toBe(1_000);
    const rows = due(BASE_MS + 2_000);
    expect(new Set(rows.map((row) => row.kind === 'run' && row.runId)).size).toBe(1_000);
    expect(breakage.calls.read).toBeGreaterThanOrEqual(8);
  });

  test('gives out no more than is asked for', async () => {
    await oneLane(Array.from({ length: 10 }, () => BASE_MS));
    await readAll();
    expect(due(BASE_MS, 3)).toHaveLength(3);
    expect(ahead.size).toBe(7);
  });

  test('holds no row twice, however often it is read, swept or offered', async () => {
    const { job } = await stage.world.oneOff({ atMs: BASE_MS + 1_000 });
    await readAll();
    ahead.restart();
    await readAll();
    ahead.offer(await rowOf(job), BASE_MS);
    await ahead.reread(new Set([job.shard]), BASE_MS);
    expect(ahead.size).toBe(1);
  });
});

describe('a full memory', () => {
  test('reads no further until rows have left (hazard 24)', async () => {
    ahead = look({ rowsMax: 100 });
    await oneLane(Array.from({ length: 400 }, (_, i) => BASE_MS + 1_000 + i));
    await readAll();
    expect(ahead.size).toBeLessThanOrEqual(100 + 128);
    expect(await ahead.readAhead(BASE_MS)).toBe('full');
    const seen = new Set<number>();
    for (let nowMs = BASE_MS + 1_000; nowMs < BASE_MS + 2_000; nowMs += 50) {
      for (const row of due(nowMs)) seen.add(row.fireAtMs);
      await readAll(nowMs);
    }
    expect(seen.size).toBe(400);
  });

  test('of rows for later does not keep out what is due now', async () => {
    ahead = look({ rowsMax: 10 });
    await oneLane(Array.from({ length: 50 }, () => BASE_MS + MINUTE_MS));
    await readAll();
    const { job } = await stage.world.oneOff({ atMs: BASE_MS + 1_000, job: { priority: 'low' } });
    ahead.restart();
    await readAll(BASE_MS + 1_000);
    expect(due(BASE_MS + 1_000).map((row) => row.jobId)).toEqual([job.jobId]);
  });
});

describe('a row that appears behind the reading place', () => {
  test('is taken from a hint', async () => {
    await readAll();
    const { job } = await stage.world.oneOff({ atMs: BASE_MS + 5 });
    ahead.offer(await rowOf(job), BASE_MS);
    expect(due(BASE_MS + 5)).toHaveLength(1);
  });

  test('is found by the sweep when the hint was lost', async () => {
    await readAll();
    const { job } = await stage.world.oneOff({ atMs: BASE_MS + 5 });
    await ahead.sweep(BASE_MS + 1_000);
    expect(due(BASE_MS + 1_000).map((row) => row.jobId)).toEqual([job.jobId]);
  });

  test('is found by a second look at its shard, when the hint told no more than that', async () => {
    await readAll();
    const { job } = await stage.world.oneOff({ atMs: BASE_MS + MINUTE_MS });
    await ahead.reread(new Set([(job.shard + 1) % 64]), BASE_MS);
    expect(ahead.size).toBe(0);
    await ahead.reread(new Set([job.shard]), BASE_MS);
    expect(ahead.size).toBe(1);
  });

  test('is found by starting over, whatever else failed', async () => {
    await readAll();
    await stage.world.oneOff({ atMs: BASE_MS - MINUTE_MS });
    await ahead.sweep(BASE_MS);
    expect(ahead.size).toBe(0);
    ahead.restart();
    await readAll();
    expect(due(BASE_MS)).toHaveLength(1);
  });
});

describe('a hint about a row that reading will come to', () => {
  test('is not needed, and not held', async () => {
    await readAll();
    const { job } = await stage.world.oneOff({ atMs: BASE_MS + WINDOW_MS + MINUTE_MS });
    ahead.offer(await rowOf(job), BASE_MS);
    expect(ahead.size).toBe(0);
  });
});

describe('ownership', () => {
  test('of no shard means to hold and read nothing', async () => {
    await oneLane([BASE_MS]);
    await readAll();
    ahead.own(new Map());
    expect(ahead.size).toBe(0);
    await readAll();
    expect(ahead.size).toBe(0);
  });

  test('that changed hands in between means to read from the start (hazard 10)', async () => {
    await oneLane([BASE_MS]);
    await readAll();
    expect(due(BASE_MS)).toHaveLength(1);
    ahead.own(new Map([...stage.world.guard.epochs].map(([shard, epoch]) => [shard, epoch + 1])));
    await readAll();
    expect(due(BASE_MS)).toHaveLength(1);
  });

  test('that stayed means to go on', async () => {
    await oneLane([BASE_MS]);
    await readAll();
    due(BASE_MS);
    ahead.own(new Map(stage.world.guard.epochs));
    await readAll();
    expect(ahead.size).toBe(0);
  });
});

describe('rows that could not be passed on', () => {
  test('are put back, and given out again', async () => {
    await oneLane([BASE_MS, BASE_MS + 1]);
    await readAll();
    const rows = due(BASE_MS + 1);
    ahead.putBack(rows);
    expect(due(BASE_MS + 1)).toHaveLength(2);
  });

  test('are dropped when their shard is gone', async () => {
    await oneLane([BASE_MS]);
    await readAll();
    const rows = due(BASE_MS);
    ahead.own(new Map());
    ahead.putBack(rows);
    expect(ahead.size).toBe(0);
  });
});

test('a read that fails loses nothing: the next one begins at the same place', async () => {
  await oneLane([BASE_MS]);
  breakage.down = true;
  await expect(ahead.readAhead(BASE_MS)).rejects.toThrow();
  breakage.down = false;
  await readAll();
  expect(ahead.size).toBe(1);
});

test('memory is bounded: a far row offered when it is full is left to be read once there is room', async () => {
  await oneLane(Array.from({ length: 12 }, () => BASE_MS + 1_000));
  const small = new LookAhead({ store: stage.world.storage.schedule, windowMs: WINDOW_MS, rowsMax: 12 });
  small.own(stage.world.guard.epochs);
  while ((await small.readAhead(BASE_MS)) === 'more');
  const { job } = await stage.world.oneOff({ atMs: BASE_MS + 40_000 });
  const near = await stage.world.oneOff({ atMs: BASE_MS + 2_000 });
  expect(small.offer(await rowOf(job), BASE_MS)).toBe(true);
  expect(small.offer(await rowOf(near.job), BASE_MS)).toBe(false);
  expect(small.size).toBe(13);
  small.takeDue(BASE_MS + 3_000, () => 20);
  while ((await small.readAhead(BASE_MS + 3_000)) === 'more');
  expect(small.takeDue(BASE_MS + 40_000, () => 20).map((row) => row.jobId)).toContain(job.jobId);
});

import { beforeEach, describe, expect, test } from 'vitest';
import type { ReadWindow, ShardPosition } from '../storage/schedule-store.ts';
import { LookAhead } from './look-ahead.ts';

interface Row {
  readonly id: string;
  readonly shard: number;
  readonly fireAtMs: number;
}

const BASE_MS = 1_000_000;
const WINDOW_MS = 300_000;
const PER_SHARD = 10;

/** Shards 1 and 2 in order of instant and id, as a storage has them. */
let rows: Row[];
let reads: { positions: readonly ShardPosition[]; window: ReadWindow }[];
/** Called after the rows were read and before the answer arrives. */
let beforeAnswer: () => Promise<void> | void;
let ahead: LookAhead<Row>;

beforeEach(() => {
  rows = [];
  reads = [];
  beforeAnswer = () => {};
  ahead = new LookAhead<Row>({
    read,
    keyOf: ({ id, fireAtMs }) => `${id}@${fireAtMs}`,
    idOf: ({ id }) => id,
    windowMs: WINDOW_MS,
    rowsPerShard: PER_SHARD,
  });
  ahead.own(
    new Map([
      [1, 1],
      [2, 1],
    ]),
  );
});

async function read(positions: readonly ShardPosition[], window: ReadWindow): Promise<Row[]> {
  reads.push({ positions, window });
  const found = positions.flatMap(({ shard, afterMs, afterId }) =>
    rows
      .filter((row) => row.shard === shard && row.fireAtMs <= window.untilMs)
      .filter((row) => row.fireAtMs > afterMs || (row.fireAtMs === afterMs && row.id > afterId))
      .sort((a, b) => a.fireAtMs - b.fireAtMs || (a.id < b.id ? -1 : 1))
      .slice(0, window.limitPerShard),
  );
  await beforeAnswer();
  return found;
}

let made = 0;
/** Rows that fire so long after the beginning; later ones have larger ids. */
function insert(instants: readonly number[], shard = 1): Row[] {
  const added = instants.map((ms) => {
    made += 1;
    const id = `00000000-0000-7000-8000-${made.toString(16).padStart(12, '0')}`;
    return { id, shard, fireAtMs: BASE_MS + ms };
  });
  rows.push(...added);
  return added;
}

async function readAll(ms = 0): Promise<void> {
  for (let i = 0; i < 1_000; i += 1) if (!(await ahead.readAhead(BASE_MS + ms))) return;
  expect.fail('reading never ends');
}

/** Takes what is due and handles it: it is no longer in the storage. */
function take(ms: number, max = 10_000): Row[] {
  const taken = ahead.takeDue(BASE_MS + ms, max);
  rows = rows.filter((row) => !taken.includes(row));
  return taken;
}

/** Takes and reads until there is nothing due. */
async function takeAll(ms: number): Promise<Row[]> {
  const all: Row[] = [];
  for (let i = 0; i < 1_000; i += 1) {
    await readAll(ms);
    const taken = take(ms);
    if (taken.length === 0) return all;
    all.push(...taken);
  }
  return expect.fail('there is always something due');
}

const instantsOf = (taken: readonly Row[]) => taken.map(({ fireAtMs }) => fireAtMs - BASE_MS);
const times = (count: number, ms: number) => Array.from({ length: count }, () => ms);

describe('looking ahead', () => {
  test('holds what falls into the window, and gives it out at its instant', async () => {
    insert([10, 20, WINDOW_MS + 1]);
    await readAll();
    expect(ahead.size).toBe(2);
    expect(ahead.nextAtMs()).toBe(BASE_MS + 10);
    expect(take(9)).toEqual([]);
    expect(instantsOf(take(10))).toEqual([10]);
    expect(instantsOf(take(100))).toEqual([20]);
    expect(ahead.nextAtMs()).toBeUndefined();
  });

  test('reads on as the window moves, once half of it has passed', async () => {
    insert([WINDOW_MS + 1_000]);
    await readAll();
    const { length } = reads;
    await readAll(WINDOW_MS / 2);
    expect(reads).toHaveLength(length);
    await readAll(WINDOW_MS / 2 + 1);
    expect(reads).toHaveLength(length + 1);
    expect(ahead.size).toBe(1);
  });

  test('gives out the earliest of all shards first, and no more than is asked for', async () => {
    insert([3, 1], 1);
    insert([2, 4], 2);
    await readAll();
    expect(instantsOf(take(10, 3))).toEqual([1, 2, 3]);
    expect(ahead.size).toBe(1);
  });

  test('holds no row twice, however often it is read, swept or put back', async () => {
    const [row] = insert([1_000]);
    await readAll();
    ahead.restart();
    await readAll();
    ahead.touch(1, BASE_MS + 1_000);
    await readAll();
    await ahead.sweep(BASE_MS);
    ahead.putBack([row!]);
    expect(ahead.size).toBe(1);
  });
});

describe('the bound of a shard', () => {
  test('is read no further until rows have left (hazard 24)', async () => {
    insert(Array.from({ length: 100 }, (_, i) => 1_000 + i));
    await readAll();
    expect(ahead.size).toBe(PER_SHARD);
    const seen: number[] = [];
    for (let ms = 1_000; ms < 1_200; ms += 5) {
      seen.push(...instantsOf(take(ms)));
      await readAll(ms);
      expect(ahead.size).toBeLessThanOrEqual(2 * PER_SHARD);
    }
    expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => 1_000 + i));
  });

  test('holds for many rows of one instant, each once (hazard 24)', async () => {
    insert(times(95, 1_000));
    expect(new Set(await takeAll(1_000)).size).toBe(95);
    expect(rows).toEqual([]);
  });

  test('is its own: a shard with a long backlog stands before no other', async () => {
    insert(times(1_000, 0), 1);
    const [other] = insert([5], 2);
    await ahead.readAhead(BASE_MS);
    expect(take(5)).toContain(other);
  });

  test('holds though hints bring any number of rows; the latest are read again in time', async () => {
    for (let i = 0; i < 50; i += 1) {
      const ms = 100_000 - i * 1_000;
      insert([ms]);
      ahead.touch(1, BASE_MS + ms);
      await readAll();
      expect(ahead.size).toBeLessThanOrEqual(2 * PER_SHARD);
    }
    const seen = new Set<Row>();
    for (let ms = 0; ms <= 100_000; ms += 500) for (const row of await takeAll(ms)) seen.add(row);
    expect(seen.size).toBe(50);
  });

  test('full of rows for later does not keep a herd waiting that came through a hint', async () => {
    insert(times(PER_SHARD, 60_000));
    await readAll();
    insert(times(95, 10_000));
    ahead.touch(1, BASE_MS + 10_000);
    await readAll();
    expect(await takeAll(10_000)).toHaveLength(95);
  });

  test('full of rows for later does not keep out what is due now', async () => {
    insert(times(5 * PER_SHARD, 60_000));
    await readAll();
    const [row] = insert([0]);
    ahead.restart();
    expect(await takeAll(0)).toEqual([row]);
  });
});

describe('a row that appears behind the reading position', () => {
  test('is read after a hint', async () => {
    await readAll();
    insert([5]);
    ahead.touch(1, BASE_MS + 5);
    await readAll();
    expect(take(5)).toHaveLength(1);
  });

  test('of the instant of the position is read after a hint, whatever its id', async () => {
    const [first, ...others] = insert(times(PER_SHARD + 1, 5));
    rows = others;
    await readAll();
    rows.push(first!);
    ahead.touch(1, BASE_MS + 5);
    expect(await takeAll(5)).toContain(first);
  });

  test('is not looked for in other shards', async () => {
    await readAll();
    ahead.touch(2, BASE_MS + 5);
    ahead.touch(3, BASE_MS + 5);
    await readAll();
    expect(reads.at(-1)!.positions.map(({ shard }) => shard)).toEqual([2]);
  });

  test('is found by the sweep when the hint was lost', async () => {
    await readAll();
    const [row] = insert([5]);
    await ahead.sweep(BASE_MS + 1_000);
    expect(take(1_000)).toEqual([row]);
  });

  test('is found by the sweep a little before its instant', async () => {
    await readAll();
    insert([60_000]);
    await ahead.sweep(BASE_MS + 57_000);
    expect(ahead.size).toBe(0);
    await ahead.sweep(BASE_MS + 58_000);
    expect(ahead.size).toBe(1);
  });

  test('is found by the first sweep that succeeds, however long they failed or far the clock was set (hazards 7, 28)', async () => {
    await readAll();
    await ahead.sweep(BASE_MS);
    const lost = insert(Array.from({ length: PER_SHARD * 3 }, (_, i) => 1_000 + i));
    beforeAnswer = () => Promise.reject(new Error('away'));
    await expect(ahead.sweep(BASE_MS + 10_000)).rejects.toThrow('away');
    beforeAnswer = () => {};
    await ahead.sweep(BASE_MS + 3_600_000);
    expect(await takeAll(3_600_000)).toEqual(lost);
  });

  test('is found by starting over, whatever else failed', async () => {
    await readAll();
    const [row] = insert([-60_000]);
    await ahead.sweep(BASE_MS);
    expect(ahead.size).toBe(0);
    ahead.restart();
    await readAll();
    expect(take(0)).toEqual([row]);
  });
});

describe('a hint about a row that reading will come to', () => {
  test('costs no read', async () => {
    await readAll();
    const { length } = reads;
    insert([WINDOW_MS + 60_000]);
    ahead.touch(1, BASE_MS + WINDOW_MS + 60_000);
    await readAll();
    expect(reads).toHaveLength(length);
  });
});

describe('while a read is under way', () => {
  test('a hint about a row behind the position is not lost', async () => {
    await readAll();
    beforeAnswer = () => {
      beforeAnswer = () => {};
      insert([50]);
      ahead.touch(1, BASE_MS + 50);
    };
    ahead.touch(1, BASE_MS + 100);
    await readAll();
    expect(ahead.size).toBe(1);
  });

  test('a hint about a row that the read passes by is not lost', async () => {
    beforeAnswer = () => {
      beforeAnswer = () => {};
      insert([50]);
      ahead.touch(1, BASE_MS + 50);
    };
    await readAll();
    expect(ahead.size).toBe(1);
  });

  test('starting over is not lost', async () => {
    beforeAnswer = () => {
      beforeAnswer = () => {};
      insert([-60_000]);
      ahead.restart();
    };
    await readAll();
    expect(ahead.size).toBe(1);
  });

  test('a shard that goes and comes back is read from the start', async () => {
    const other = new Map([[2, 1]]);
    beforeAnswer = () => {
      beforeAnswer = () => {};
      ahead.own(other);
      insert([-60_000]);
      ahead.own(new Map([...other, [1, 2]]));
    };
    await readAll();
    expect(ahead.size).toBe(1);
  });

  test('rows of a shard that is lost are not held', async () => {
    insert([5]);
    beforeAnswer = () => ahead.own(new Map());
    await readAll();
    expect(ahead.size).toBe(0);
  });
});

describe('ownership', () => {
  test('of no shard means to hold and read nothing', async () => {
    insert([0]);
    await readAll();
    ahead.own(new Map());
    expect(ahead.size).toBe(0);
    const { length } = reads;
    await readAll();
    await ahead.sweep(BASE_MS);
    expect(reads).toHaveLength(length);
  });

  test('that changed hands in between means to read from the start (hazard 10)', async () => {
    insert([0]);
    await readAll();
    expect(ahead.takeDue(BASE_MS, 10)).toHaveLength(1);
    ahead.own(new Map([[1, 2]]));
    await readAll();
    expect(ahead.takeDue(BASE_MS, 10)).toHaveLength(1);
  });

  test('that stayed means to go on', async () => {
    insert([0]);
    await readAll();
    ahead.takeDue(BASE_MS, 10);
    ahead.own(
      new Map([
        [1, 1],
        [2, 1],
      ]),
    );
    await readAll();
    expect(ahead.size).toBe(0);
  });
});

describe('rows that could not be handled', () => {
  test('are put back, and given out again', async () => {
    insert([0, 1]);
    await readAll();
    ahead.putBack(ahead.takeDue(BASE_MS + 1, 10));
    expect(instantsOf(take(1))).toEqual([0, 1]);
  });

  test('are dropped when their shard is gone', async () => {
    insert([0]);
    await readAll();
    const due = ahead.takeDue(BASE_MS, 10);
    ahead.own(new Map());
    ahead.putBack(due);
    expect(ahead.size).toBe(0);
  });
});

test('a read that fails loses nothing: the next one begins at the same position', async () => {
  insert([0]);
  beforeAnswer = () => Promise.reject(new Error('the storage is down'));
  await expect(ahead.readAhead(BASE_MS)).rejects.toThrow();
  beforeAnswer = () => {};
  await readAll();
  expect(ahead.size).toBe(1);
});

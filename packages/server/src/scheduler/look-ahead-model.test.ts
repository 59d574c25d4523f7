import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReadWindow, ShardPosition } from '../storage/schedule-store.ts';
import { LookAhead } from './look-ahead.ts';

interface Row {
  readonly id: string;
  readonly shard: number;
  readonly fireAtMs: number;
}

type Change =
  | {
      readonly kind: 'insert';
      readonly shard: number;
      readonly inMs: number;
      readonly id: number;
      readonly isTold: boolean;
    }
  | { readonly kind: 'own'; readonly shards: readonly number[]; readonly isNew: boolean }
  | { readonly kind: 'restart' };

type Step =
  | Change
  | { readonly kind: 'advance'; readonly byMs: number }
  | { readonly kind: 'take'; readonly max: number; readonly fails: boolean }
  | { readonly kind: 'sweep' }
  /** While the read is under way, the changes happen, after it saw the rows or before. */
  | { readonly kind: 'read'; readonly meanwhile: readonly Change[]; readonly fails: boolean };

const SHARDS = [0, 1, 2];

/** Looks ahead over a storage of a few rows; what was taken leaves the storage, as what was fired does. */
class Model {
  readonly taken: Row[] = [];
  readonly ahead = new LookAhead<Row>({
    read: (positions, window) => this.#read(positions, window),
    keyOf: ({ id, fireAtMs }) => `${id}@${fireAtMs}`,
    idOf: ({ id }) => id,
    windowMs: 40,
    rowsPerShard: 3,
  });
  rows: Row[] = [];
  inserted = 0;
  nowMs = 1_000_000;
  #epoch = 1;
  #owned = new Map<number, number>();
  #meanwhile: readonly Change[] = [];
  #fails = false;

  constructor() {
    this.change({ kind: 'own', shards: SHARDS, isNew: true });
  }

  async play(step: Step): Promise<void> {
    if (step.kind === 'advance') this.nowMs += step.byMs;
    else if (step.kind === 'take') this.take(step);
    else if (step.kind === 'sweep') await this.ahead.sweep(this.nowMs);
    else if (step.kind === 'read') {
      this.#meanwhile = step.meanwhile;
      this.#fails = step.fails;
      await this.ahead.readAhead(this.nowMs).catch(() => {});
      this.#meanwhile = [];
      this.#fails = false;
    } else this.change(step);
  }

  change(change: Change): void {
    if (change.kind === 'restart') this.ahead.restart();
    else if (change.kind === 'own') {
      if (change.isNew) this.#epoch += 1;
      this.#owned = new Map(change.shards.map((shard) => [shard, this.#owned.get(shard) ?? this.#epoch]));
      this.ahead.own(this.#owned);
    } else {
      const { shard, inMs, id, isTold } = change;
      const row = { shard, id: id.toString(16).padStart(8, '0'), fireAtMs: this.nowMs + inMs };
      if (this.rows.some((other) => other.id === row.id) || this.taken.some((other) => other.id === row.id))
        return;
      this.rows.push(row);
      this.inserted += 1;
      if (isTold) this.ahead.touch(shard, row.fireAtMs);
    }
  }

  /** Answers how many there were. */
  take({ max, fails }: { max: number; fails: boolean }): number {
    const due = this.ahead.takeDue(this.nowMs, max);
    if (fails) {
      this.ahead.putBack(due);
      return 0;
    }
    this.taken.push(...due);
    this.rows = this.rows.filter((row) => !due.includes(row));
    return due.length;
  }

  /** Reads and takes until nothing is due. */
  async finish(): Promise<void> {
    for (let isOver = false; !isOver; ) {
      for (let reads = 0; await this.ahead.readAhead(this.nowMs); reads += 1)
        expect(reads).toBeLessThan(1_000);
      isOver = this.take({ max: 4, fails: false }) === 0;
    }
  }

  async #read(positions: readonly ShardPosition[], { untilMs, limitPerShard }: ReadWindow): Promise<Row[]> {
    const found = positions.flatMap(({ shard, afterMs, afterId }) =>
      this.rows
        .filter((row) => row.shard === shard && row.fireAtMs <= untilMs)
        .filter((row) => row.fireAtMs > afterMs || (row.fireAtMs === afterMs && row.id > afterId))
        .sort((a, b) => a.fireAtMs - b.fireAtMs || (a.id < b.id ? -1 : 1))
        .slice(0, limitPerShard),
    );
    for (const change of this.#meanwhile) this.change(change);
    if (this.#fails) throw new Error('the answer was lost');
    return found;
  }
}

const insert: fc.Arbitrary<Change> = fc.record({
  kind: fc.constant('insert'),
  shard: fc.constantFrom(...SHARDS),
  /** Before now: committed late. */
  inMs: fc.integer({ min: -10, max: 60 }),
  id: fc.integer({ min: 1, max: 2 ** 31 }),
  isTold: fc.boolean(),
});
const own: fc.Arbitrary<Change> = fc.record({
  kind: fc.constant('own'),
  shards: fc.subarray(SHARDS),
  isNew: fc.boolean(),
});
const restart: fc.Arbitrary<Change> = fc.record({ kind: fc.constant('restart') });
const change = fc.oneof({ weight: 6, arbitrary: insert }, own, restart);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: change },
  fc.record({ kind: fc.constant('advance' as const), byMs: fc.nat(30) }),
  fc.record({ kind: fc.constant('take' as const), max: fc.nat(5), fails: fc.boolean() }),
  fc.record({ kind: fc.constant('sweep' as const) }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      meanwhile: fc.array(change, { maxLength: 3 }),
      fails: fc.boolean(),
    }),
  },
);
const steps = fc.array(step, { maxLength: 60 });

describe('whatever is inserted, read, taken and owned in whatever order', () => {
  test('every row that is due is taken once, after sweeps', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const model = new Model();
        for (const entry of all) await model.play(entry);
        model.change({ kind: 'own', shards: SHARDS, isNew: true });
        model.nowMs += 100;
        await model.finish();
        // A sweep brings a few of each shard at a time.
        for (let left = Infinity; model.rows.length < left; ) {
          left = model.rows.length;
          await model.ahead.sweep(model.nowMs);
          await model.finish();
        }
        expect(model.rows).toEqual([]);
        expect(model.taken).toHaveLength(model.inserted);
      }),
      { numRuns: 1_000 },
    );
  });

  test('every row that is due is taken once without a sweep, when none of the hints was lost', async () => {
    const told = (entry: Step): Step => {
      if (entry.kind === 'insert') return { ...entry, isTold: true };
      return entry.kind === 'read'
        ? { ...entry, meanwhile: entry.meanwhile.map((one) => told(one) as Change) }
        : entry;
    };
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const model = new Model();
        for (const entry of all) await model.play(told(entry));
        model.change({ kind: 'own', shards: SHARDS, isNew: true });
        model.nowMs += 100;
        await model.finish();
        expect(model.rows).toEqual([]);
        expect(model.taken).toHaveLength(model.inserted);
      }),
      { numRuns: 1_000 },
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodeId } from '../ids.ts';
import { SHARD_COUNT } from '../job/job.ts';
import { ownerOf, shardsOfNode } from './rendezvous.ts';

const nodes = fc.uniqueArray(fc.uuid({ version: 7 }), { minLength: 1, maxLength: 12 }) as fc.Arbitrary<
  NodeId[]
>;
const ALL = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
const ownersOf = (living: readonly NodeId[]) => ALL.map((shard) => ownerOf(shard, living));

describe('shards', () => {
  test('each has exactly one owner among the living', () => {
    fc.assert(
      fc.property(nodes, (living) => {
        const owned = living.flatMap((nodeId) => shardsOfNode(nodeId, living));
        expect(owned.toSorted((a, b) => a - b)).toEqual(ALL);
      }),
    );
  });

  test('go to the same node whoever computes it, in whatever order the nodes are known', () => {
    fc.assert(
      fc.property(
        nodes.chain((living) =>
          fc.tuple(fc.constant(living), fc.shuffledSubarray(living, { minLength: living.length })),
        ),
        ([living, shuffled]) => {
          expect(ownersOf(shuffled)).toEqual(ownersOf(living));
        },
      ),
    );
  });

  test('move only from a node that leaves', () => {
    fc.assert(
      fc.property(nodes, (living) => {
        const [gone, ...left] = living;
        const before = ownersOf(living);
        const after = ownersOf(left);
        for (const shard of ALL) if (before[shard] !== gone) expect(after[shard]).toBe(before[shard]);
      }),
    );
  });

  test('move only to a node that comes', () => {
    fc.assert(
      fc.property(nodes, fc.uuid({ version: 7 }), (living, id) => {
        const newcomer = id as NodeId;
        const before = ownersOf(living);
        const after = ownersOf([...living, newcomer]);
        for (const shard of ALL) if (after[shard] !== newcomer) expect(after[shard]).toBe(before[shard]);
      }),
    );
  });

  test('all belong to a node that is alone, and to nobody when there is none', () => {
    const only = 'only' as NodeId;
    expect(shardsOfNode(only, [only])).toEqual(ALL);
    expect(ownerOf(0, [])).toBeUndefined();
    expect(shardsOfNode(only, [])).toEqual([]);
  });

  test('are shared out within reason: no node of a few is idle, none has more than half as much again as two shares', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.uuid({ version: 4 }), { minLength: 2, maxLength: 4 }), (ids) => {
        const living = ids as NodeId[];
        const share = SHARD_COUNT / living.length;
        for (const nodeId of living) {
          const count = shardsOfNode(nodeId, living).length;
          expect(count).toBeGreaterThan(0);
          expect(count).toBeLessThan(share * 2.5);
        }
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  test('on average are shared out evenly', () => {
    const counts = Array.from({ length: 200 }, (_, i) => {
      const living = [0, 1, 2, 3].map((n) => `node-${i}-${n}` as NodeId);
      return shardsOfNode(living[0]!, living).length;
    });
    const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
    expect(mean).toBeGreaterThan(14);
    expect(mean).toBeLessThan(18);
  });
});

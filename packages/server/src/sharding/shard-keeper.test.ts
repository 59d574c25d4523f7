import { type NodeId, SHARD_COUNT, shardsOfNode } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import type { MemberStore } from '../storage/member-store.ts';
import { type Breakage, breakable, RoleStage } from '../testing/role-stage.fixture.ts';
import { ShardKeeper } from './shard-keeper.ts';

const TTL_MS = 10_000;
const A = '00000000-0000-7000-8000-00000000000a' as NodeId;
const B = '00000000-0000-7000-8000-00000000000b' as NodeId;

let stage: RoleStage;
let members: MemberStore;
let breakage: Breakage;
let replaced: string[];

beforeEach(() => {
  // Not prepared: there, a node of the stage's own holds every shard.
  stage = new RoleStage();
  ({ port: members, breakage } = breakable<MemberStore>(stage.storage.members));
  replaced = [];
});

function keeper(nodeId: NodeId, over: { incarnation?: number; members?: MemberStore } = {}): ShardKeeper {
  return new ShardKeeper({
    ...stage.common,
    nodeId,
    incarnation: 1,
    address: 'here',
    members,
    ttlMs: TTL_MS,
    onReplaced: () => replaced.push(nodeId),
    ...over,
  });
}

const sizeOf = (owner: ShardKeeper) => owner.guard().epochs.size;

describe('a node', () => {
  test('that is alone takes every shard', async () => {
    const a = keeper(A);
    expect(sizeOf(a)).toBe(0);
    await a.runOnce();
    expect(sizeOf(a)).toBe(SHARD_COUNT);
    expect(a.guard().nodeId).toBe(A);
  });

  test('shares with another that comes: each has what is its own, and nothing has two owners', async () => {
    const [a, b] = [keeper(A), keeper(B)];
    await a.runOnce();
    await b.runOnce();
    expect(sizeOf(b)).toBe(0);
    await a.runOnce();
    await b.runOnce();
    expect([...a.guard().epochs.keys()].sort()).toEqual(shardsOfNode(A, [A, B]).sort());
    expect([...b.guard().epochs.keys()].sort()).toEqual(shardsOfNode(B, [A, B]).sort());
  });

  test('inherits from one that fell silent, with new epochs', async () => {
    const [a, b] = [keeper(A), keeper(B)];
    await a.runOnce();
    const before = a.guard().epochs;
    stage.clock.advance(TTL_MS + 1);
    await b.runOnce();
    expect(sizeOf(b)).toBe(SHARD_COUNT);
    for (const [shard, epoch] of b.guard().epochs) expect(epoch).toBeGreaterThan(before.get(shard)!);
  });

  test('that comes back after others took its shards knows with its next beat (hazard 14)', async () => {
    const [a, b] = [keeper(A), keeper(B)];
    await a.runOnce();
    stage.clock.advance(TTL_MS + 1);
    await b.runOnce();
    await a.runOnce();
    expect(sizeOf(a)).toBe(0);
    await b.runOnce();
    await a.runOnce();
    const all = [...a.guard().epochs.keys(), ...b.guard().epochs.keys()];
    expect(new Set(all).size).toBe(all.length);
  });

  test('keeps its epochs from beat to beat: nothing changed hands', async () => {
    const a = keeper(A);
    await a.runOnce();
    const before = new Map(a.guard().epochs);
    stage.clock.advance(TTL_MS / 4);
    await a.runOnce();
    expect(new Map(a.guard().epochs)).toEqual(before);
  });
});

describe('trust in the lease', () => {
  test('ends with the lease when no beat is answered (hazard 10)', async () => {
    const a = keeper(A);
    await a.runOnce();
    breakage.down = true;
    stage.clock.advance(TTL_MS - 1);
    await expect(a.runOnce()).rejects.toThrow();
    expect(sizeOf(a)).toBe(SHARD_COUNT);
    stage.clock.advance(1);
    expect(sizeOf(a)).toBe(0);
  });

  test('returns with the next answer', async () => {
    const a = keeper(A);
    await a.runOnce();
    stage.clock.advance(TTL_MS * 3);
    expect(sizeOf(a)).toBe(0);
    await a.runOnce();
    expect(sizeOf(a)).toBe(SHARD_COUNT);
  });

  test('counts from when the beat was sent: a slow answer never lengthens it (hazard 10)', async () => {
    const slow = new Proxy(members, {
      get: (target, name) =>
        name === 'beatNode'
          ? async (beat: Parameters<MemberStore['beatNode']>[0]) => {
              const answer = await target.beatNode(beat);
              stage.clock.advance(6_000);
              return answer;
            }
          : Reflect.get(target, name),
    });
    const a = keeper(A, { members: slow });
    await a.runOnce();
    expect(sizeOf(a)).toBe(SHARD_COUNT);
    stage.clock.advance(TTL_MS - 6_000);
    expect(sizeOf(a)).toBe(0);
  });

  test('does not depend on the wall clock (hazard 7)', async () => {
    const a = keeper(A);
    await a.runOnce();
    stage.clock.step(-3_600_000);
    expect(sizeOf(a)).toBe(SHARD_COUNT);
    stage.clock.step(7_200_000);
    expect(sizeOf(a)).toBe(SHARD_COUNT);
  });
});

describe('a newer process of the same node', () => {
  test('takes the shards at once, and the older one is told to end', async () => {
    const older = keeper(A);
    await older.runOnce();
    const newer = keeper(A, { incarnation: 2 });
    await newer.runOnce();
    expect(sizeOf(newer)).toBe(SHARD_COUNT);
    expect(replaced).toEqual([]);
    await older.runOnce();
    expect(replaced).toEqual([A]);
    expect(sizeOf(older)).toBe(0);
  });
});

describe('stopping', () => {
  test('lets go of everything, so that others need not wait for the leases to run out', async () => {
    const [a, b] = [keeper(A), keeper(B)];
    await a.runOnce();
    await a.stop();
    expect(sizeOf(a)).toBe(0);
    await b.runOnce();
    expect(sizeOf(b)).toBe(SHARD_COUNT);
  });

  test('without a storage is not an error: the leases run out by themselves', async () => {
    const a = keeper(A);
    await a.runOnce();
    breakage.down = true;
    await a.stop();
    expect(sizeOf(a)).toBe(0);
  });
});

test('listeners hear of shards gained and lost, and of nothing else', async () => {
  const a = keeper(A);
  let changes = 0;
  a.onChange(() => {
    changes += 1;
  });
  await a.runOnce();
  await a.runOnce();
  expect(changes).toBe(1);
  await keeper(B).runOnce();
  await a.runOnce();
  expect(changes).toBe(2);
});

test('started, it beats four times in the life of a lease', async () => {
  const a = keeper(A);
  a.start();
  await stage.advance(0);
  for (let beats = 1; beats <= 8; beats += 1) {
    expect(breakage.calls.beatNode).toBe(beats);
    await stage.advance(TTL_MS / 4);
  }
  await a.stop();
});

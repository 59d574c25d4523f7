import { type BootId, type NodeId, SHARD_COUNT, shardsOfNode } from '@carillon/domain';
import { silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import type { MemberStore } from '../storage/member-store.ts';
import { type Breakage, breakable, RoleStage } from '../testing/role-stage.fixture.ts';
import { joinNode } from './join-node.ts';
import { ShardKeeper } from './shard-keeper.ts';

const TTL_MS = 10_000;
const A = '00000000-0000-7000-8000-00000000000a' as NodeId;
const B = '00000000-0000-7000-8000-00000000000b' as NodeId;
const [FIRST_BOOT, SECOND_BOOT] = ['boot-1' as BootId, 'boot-2' as BootId];

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

interface Over {
  readonly incarnation?: number;
  readonly bootId?: BootId;
  readonly members?: MemberStore;
}

function keeper(nodeId: NodeId, over: Over = {}): ShardKeeper {
  return new ShardKeeper({
    ...stage.common,
    nodeId,
    incarnation: 1,
    bootId: FIRST_BOOT,
    address: 'here',
    members,
    signals: stage.signals,
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

const SECOND = { incarnation: 2, bootId: SECOND_BOOT };

/** As a process does when it starts; answers the node id that it is to run under. */
const join = (over: { incarnation: number; bootId: BootId }, endedBoots: readonly BootId[] = []) =>
  joinNode({
    ...{ ...over, nodeId: A, members, endedBoots, address: 'here', ttlMs: TTL_MS, log: silentLog },
    newNodeId: async () => B,
  });

describe('a newer process of the same node', () => {
  test('takes the shards at once, and the older one is told to end', async () => {
    const older = keeper(A);
    await older.runOnce();
    expect(await join(SECOND, [FIRST_BOOT])).toBe(A);
    const newer = keeper(A, SECOND);
    await newer.runOnce();
    expect(sizeOf(newer)).toBe(SHARD_COUNT);
    expect(replaced).toEqual([]);
    await older.runOnce();
    expect(replaced).toEqual([A]);
    expect(sizeOf(older)).toBe(0);
  });

  test('loses nothing to the older one that stood still between its beat and taking shards', async () => {
    const stalled = new Proxy(members, {
      get: (target, name) =>
        name === 'beatNode'
          ? async (beat: Parameters<MemberStore['beatNode']>[0]) => {
              const answer = await target.beatNode(beat);
              if (beat.bootId === FIRST_BOOT) {
                await join(SECOND, [FIRST_BOOT]);
                await newer.runOnce();
              }
              return answer;
            }
          : Reflect.get(target, name),
    });
    const newer = keeper(A, SECOND);
    const older = keeper(A, { members: stalled });
    await older.runOnce();
    expect([sizeOf(older), sizeOf(newer)]).toEqual([0, SHARD_COUNT]);
    await newer.runOnce();
    expect(sizeOf(newer)).toBe(SHARD_COUNT);
  });
});

describe('hazard 44: a process on a copied data folder', () => {
  test.each([1, 2, 7])(
    'becomes a node of its own while the other lives, as incarnation %d',
    async (incarnation) => {
      const original = keeper(A);
      await original.runOnce();
      const over = { incarnation, bootId: SECOND_BOOT };
      expect(await join(over)).toBe(B);
      const clone = keeper(B, over);
      for (let beats = 0; beats < 8; beats += 1) {
        for (const one of [original, clone]) await one.runOnce();
        stage.clock.advance(TTL_MS / 4);
      }
      expect(replaced).toEqual([]);
      expect(sizeOf(original) + sizeOf(clone)).toBe(SHARD_COUNT);
      expect(sizeOf(original)).toBe(shardsOfNode(A, [A, B]).length);
    },
  );

  test('goes on as the node when the other is silent and older; should that one come back, it ends, once', async () => {
    const original = keeper(A);
    await original.runOnce();
    stage.clock.advance(TTL_MS);
    expect(await join(SECOND)).toBe(A);
    const clone = keeper(A, SECOND);
    await clone.runOnce();
    await original.runOnce();
    expect(replaced).toEqual([A]);
    // Started again on its own folder it knows that its first process ended, and not that the copy did.
    expect(await join({ incarnation: 2, bootId: 'boot-3' as BootId }, [FIRST_BOOT])).toBe(B);
    await clone.runOnce();
    expect(sizeOf(clone)).toBe(shardsOfNode(A, [A, B]).length);
    expect(replaced).toEqual([A]);
  });

  test('gets the same answer when it has to ask again', async () => {
    await keeper(A).runOnce();
    breakage.deaf = true;
    await expect(join(SECOND, [FIRST_BOOT])).rejects.toThrow();
    breakage.deaf = false;
    expect(await join(SECOND, [FIRST_BOOT])).toBe(A);
  });

  test('that leaves takes nothing of the other along', async () => {
    const original = keeper(A);
    await original.runOnce();
    await keeper(A, SECOND).stop();
    await original.runOnce();
    expect(replaced).toEqual([]);
    expect(sizeOf(original)).toBe(SHARD_COUNT);
  });
});

describe('a shard that it owns without knowing it', () => {
  /** The storage, one call of which is lost. */
  function losing(name: keyof MemberStore, how: 'down' | 'deaf', nth = 1): MemberStore {
    let calls = 0;
    return new Proxy(members, {
      get: (target, called) => {
        const method = Reflect.get(target, called) as (...args: unknown[]) => Promise<unknown>;
        return (...args: unknown[]) => {
          if (called === name) calls += 1;
          breakage[how] = called === name && calls === nth;
          return method(...args).finally(() => {
            breakage[how] = false;
          });
        };
      },
    });
  }

  test.each(['down', 'deaf'] as const)('because it could not let it go (%s) is let go later', async (how) => {
    const [a, b] = [keeper(A, { members: losing('keepShards', how, 2) }), keeper(B)];
    await a.runOnce();
    await b.runOnce();
    await expect(a.runOnce()).rejects.toThrow();
    await a.runOnce();
    await b.runOnce();
    expect(sizeOf(a) + sizeOf(b)).toBe(SHARD_COUNT);
  });

  test('because the answer was lost is let go when another is to have it', async () => {
    const [a, b] = [keeper(A, { members: losing('acquireShards', 'deaf') }), keeper(B)];
    await expect(a.runOnce()).rejects.toThrow();
    await b.runOnce();
    await a.runOnce();
    await b.runOnce();
    expect([sizeOf(a), sizeOf(b)]).toEqual([A, B].map((node) => shardsOfNode(node, [A, B]).length));
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

test('who comes, leaves or lets go says so, and others act at once, not with their next beat', async () => {
  const [a, b] = [keeper(A), keeper(B)];
  a.start();
  await stage.advance(TTL_MS / 4);
  expect(sizeOf(a)).toBe(SHARD_COUNT);
  b.start();
  await stage.advance(1);
  expect(sizeOf(a) + sizeOf(b)).toBe(SHARD_COUNT);
  expect(sizeOf(b)).toBe(shardsOfNode(B, [A, B]).length);
  await b.stop();
  await stage.advance(1);
  expect(sizeOf(a)).toBe(SHARD_COUNT);
  await a.stop();
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

/** The promises of MemberStore: who is alive, who owns which shard at which epoch, and which workers are given up. */

import type { BootId, NodeId } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import type { NodeBeat, PublishedPeer } from '../member-store.ts';
import { describeWorkerLists } from './member-lists.conformance.ts';
import { describeWorkers } from './member-workers.conformance.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, DAY_MS, type MakeStorage, SECOND_MS } from './storage-under-test.ts';
import { ALL_SHARDS, useStorageWorld } from './storage-world.ts';

export function describeMemberStore(makeStorage: MakeStorage): void {
  describe('member store: nodes', () => describeNodes(makeStorage));
  describe('member store: shards', () => describeShards(makeStorage));
  describe('member store: workers', () => describeWorkers(makeStorage));
  describe('member store: lists of workers', () => describeWorkerLists(makeStorage));
}

function describeNodes(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  const TTL_MS = 15 * SECOND_MS;

  const beat = (nodeId: NodeId, over: Partial<NodeBeat> = {}) =>
    stage.world.storage.members.beatNode({
      ...{ nodeId, incarnation: 1, bootId: stage.world.bootId, address: '127.0.0.1:1' },
      ...{ nowMs: BASE_MS, ttlMs: TTL_MS, ...over },
    });
  const [FIRST, SECOND, THIRD] = [newId<BootId>(), newId<BootId>(), newId<BootId>()];
  const first = { incarnation: 1, bootId: FIRST };
  const second = { incarnation: 2, bootId: SECOND };

  it('hazard 7: the storage has a clock of its own that does not go backwards', async () => {
    const { members } = stage.world.storage;
    let lastMs = await members.serverTimeMs();
    expect(Number.isFinite(lastMs)).toBe(true);
    for (let i = 0; i < 5; i += 1) {
      stage.under.clock?.advance(10);
      const nowMs = await members.serverTimeMs();
      expect(nowMs).toBeGreaterThanOrEqual(lastMs);
      lastMs = nowMs;
    }
  });

  it('a node that beats is alive, and sees the others that do', async () => {
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    expect(await beat(one)).toEqual({ alive: true, nodes: [one] });
    const answer = await beat(other, { nowMs: BASE_MS + SECOND_MS });
    expect(answer.alive).toBe(true);
    expect(answer.nodes.toSorted()).toEqual([one, other].toSorted());
  });

  it('the addresses of all nodes can be read, each once, until they leave', async () => {
    const { members } = stage.world.storage;
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    await beat(one);
    await beat(newId<NodeId>());
    await beat(other, { address: 'http://10.0.0.7:7420' });
    const addresses = async (afterMs: number) => (await members.publishedAddresses(afterMs)).toSorted();
    expect(await addresses(BASE_MS)).toEqual(['127.0.0.1:1', 'http://10.0.0.7:7420']);
    expect(await addresses(BASE_MS + TTL_MS)).toEqual([]);
    await members.leaveNode(other, stage.world.bootId);
    expect(await addresses(BASE_MS)).toEqual(['127.0.0.1:1']);
  });

  it('a process that is no node says where it is reached, and is never taken for one', async () => {
    const { members } = stage.world.storage;
    const [bootId, later, node] = [newId<BootId>(), newId<BootId>(), newId<NodeId>()];
    const publish = (boot: BootId, addresses: string[], nowMs: number) =>
      members.publishAddresses({
        ...{ bootId: boot, addresses },
        ...{ untilMs: nowMs + TTL_MS, forgetBeforeMs: nowMs - TTL_MS },
      });
    const addresses = async (afterMs: number) => (await members.publishedAddresses(afterMs)).toSorted();
    await publish(bootId, ['http://10.0.0.1:1'], BASE_MS);
    await publish(bootId, ['http://10.0.0.1:1', 'http://[fd00::1]:1'], BASE_MS);
    await publish(later, [], BASE_MS);
    expect(await addresses(BASE_MS)).toEqual(['http://10.0.0.1:1', 'http://[fd00::1]:1']);
    expect(await addresses(BASE_MS + TTL_MS)).toEqual([]);
    // By clocks of any time.
    for (const nowMs of [0, BASE_MS]) expect((await beat(node, { nowMs })).nodes).toEqual([node]);
    await members.leaveNode(node, stage.world.bootId);
    await publish(later, ['http://10.0.0.2:1'], BASE_MS + 3 * TTL_MS);
    expect(await addresses(0)).toEqual(['http://10.0.0.2:1']);
    await members.withdrawAddresses(later);
    expect(await addresses(0)).toEqual([]);
  });

  it('a process says how other servers reach it; the one that lasts longest comes first', async () => {
    const { members } = stage.world.storage;
    const [former, present, other] = [newId<BootId>(), newId<BootId>(), newId<BootId>()];
    const peer = (port: number) => ({
      ...{ nodeId: newId<NodeId>(), urls: [`https://10.0.0.1:${port}`], publicKey: 'abc=' },
      certificate: '00:FF',
    });
    const [one, two] = [peer(1), { ...peer(2), certificate: undefined }];
    const publish = (bootId: BootId, untilMs: number, given?: PublishedPeer) =>
      members.publishAddresses({ bootId, addresses: [], untilMs, forgetBeforeMs: 0, peer: given });
    await publish(former, BASE_MS, one);
    await publish(present, BASE_MS + 1, two);
    await publish(other, BASE_MS + 2);
    expect(await members.publishedPeers()).toEqual([
      { ...two, bootId: present, untilMs: BASE_MS + 1 },
      { ...one, bootId: former, untilMs: BASE_MS },
    ]);
    await publish(former, BASE_MS + 3, two);
    expect((await members.publishedPeers()).map(({ bootId, urls }) => [bootId, urls])).toEqual([
      [former, two.urls],
      [present, two.urls],
    ]);
    await members.withdrawAddresses(former);
    expect((await members.publishedPeers()).map(({ bootId }) => bootId)).toEqual([present]);
  });

  it('a node silent for its time to live is dead, and alive again with its next beat', async () => {
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    await beat(one);
    expect((await beat(other, { nowMs: BASE_MS + TTL_MS - 1 })).nodes).toContain(one);
    expect((await beat(other, { nowMs: BASE_MS + TTL_MS })).nodes).toEqual([other]);
    expect((await beat(one, { nowMs: BASE_MS + TTL_MS })).nodes).toContain(one);
  });

  it('hazard 7: a node heard by a clock that has been set back since does not live for ever', async () => {
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    await beat(one);
    expect((await beat(other, { nowMs: BASE_MS - TTL_MS })).nodes).toContain(one);
    expect((await beat(other, { nowMs: BASE_MS - TTL_MS - 1 })).nodes).toEqual([other]);
  });

  it('hazard 14: once the next process of the node has joined, the one before is told that it is not alive', async () => {
    const nodeId = newId<NodeId>();
    await beat(nodeId, first);
    expect((await beat(nodeId, { ...second, joining: { ended: [THIRD, FIRST] } })).alive).toBe(true);
    expect((await beat(nodeId, { ...first, nowMs: BASE_MS + 5 })).alive).toBe(false);
    expect((await beat(nodeId, { ...second, nowMs: BASE_MS + 6 })).alive).toBe(true);
    expect((await beat(nodeId, { ...first, nowMs: BASE_MS + 2 * TTL_MS })).alive).toBe(false);
  });

  it.each([1, 2, 9])(
    'hazard 44: a process does not get the node id of another that may live, as incarnation %d',
    async (incarnation) => {
      const nodeId = newId<NodeId>();
      await beat(nodeId, first);
      const clone = { incarnation, bootId: SECOND };
      for (const nowMs of [BASE_MS, BASE_MS + TTL_MS - 1, BASE_MS - TTL_MS]) {
        expect((await beat(nodeId, { ...clone, nowMs, joining: { ended: [THIRD] } })).alive).toBe(false);
        expect((await beat(nodeId, { ...clone, nowMs })).alive).toBe(false);
      }
      expect((await beat(nodeId, first)).alive).toBe(true);
    },
  );

  it.each([BASE_MS + TTL_MS, BASE_MS - TTL_MS - 1])(
    'hazard 44: of a silent node only a later incarnation gets the id, and only when it joins (at %d)',
    async (nowMs) => {
      const nodeId = newId<NodeId>();
      await beat(nodeId, first);
      const joining = { ended: [] };
      expect((await beat(nodeId, { incarnation: 1, bootId: SECOND, nowMs, joining })).alive).toBe(false);
      expect((await beat(nodeId, { ...second, nowMs })).alive).toBe(false);
      expect((await beat(nodeId, { ...second, nowMs, joining })).alive).toBe(true);
      expect((await beat(nodeId, { ...first, nowMs })).alive).toBe(false);
    },
  );

  it('hazard 44: of processes that join at once under one node id, exactly one gets it', async () => {
    const nodeId = newId<NodeId>();
    const boots = Array.from({ length: 5 }, () => newId<BootId>());
    const answers = await Promise.all(
      boots.map((bootId, i) => beat(nodeId, { incarnation: i, bootId, joining: { ended: [] } })),
    );
    expect(answers.filter(({ alive }) => alive)).toHaveLength(1);
  });

  it('hazard 44: a process whose node id is another’s by now takes no shards under it', async () => {
    const { world } = stage;
    await beat(world.nodeId, first);
    const acquire = (bootId: BootId) =>
      world.storage.members.acquireShards({
        ...{ nodeId: world.nodeId, bootId, shards: [1], nowMs: BASE_MS, ttlMs: TTL_MS },
      });
    expect(await acquire(SECOND)).toEqual(new Map());
    expect((await acquire(FIRST)).size).toBe(1);
  });

  it('a process that is not the node’s does not keep it alive', async () => {
    const [nodeId, other] = [newId<NodeId>(), newId<NodeId>()];
    await beat(nodeId, second);
    await beat(nodeId, { ...first, nowMs: BASE_MS + TTL_MS - 1 });
    expect((await beat(other, { nowMs: BASE_MS + TTL_MS })).nodes).toEqual([other]);
  });

  it('a node that leaves is gone at once; another process cannot take it along', async () => {
    const [nodeId, other] = [newId<NodeId>(), newId<NodeId>()];
    const { members } = stage.world.storage;
    await beat(nodeId, second);
    await members.leaveNode(nodeId, FIRST);
    expect((await beat(other)).nodes).toContain(nodeId);
    await members.leaveNode(nodeId, SECOND);
    expect((await beat(other)).nodes).toEqual([other]);
    await members.leaveNode(newId<NodeId>(), FIRST);
  });
}

function describeShards(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  /** Starts from shards that nobody owns. */
  async function free(): Promise<void> {
    await stage.world.storage.members.releaseShards(stage.world.guard);
  }

  const beat = (nodeId: NodeId, { nowMs, ttlMs }: { nowMs: number; ttlMs: number }) =>
    stage.world.storage.members.beatNode({
      ...{ nodeId, incarnation: 1, bootId: stage.world.bootId, address: 'here', nowMs, ttlMs },
    });

  /** As nodes do it: a beat first. */
  const acquire = async (
    nodeId: NodeId,
    over: { shards?: readonly number[]; nowMs?: number; ttlMs?: number } = {},
  ) => {
    const { shards = ALL_SHARDS, nowMs = BASE_MS, ttlMs = SECOND_MS } = over;
    await beat(nodeId, { nowMs, ttlMs });
    const { bootId, storage } = stage.world;
    return storage.members.acquireShards({ nodeId, bootId, shards, nowMs, ttlMs });
  };

  const ownerOf = async (shard: number) =>
    (await stage.world.storage.members.shards()).find((owner) => owner.shard === shard);

  it('all shards are there, each once, free after a release with their epoch kept', async () => {
    await free();
    const shards = await stage.world.storage.members.shards();
    expect(shards.map((owner) => owner.shard).toSorted((a, b) => a - b)).toEqual(ALL_SHARDS);
    for (const owner of shards) {
      expect(owner.nodeId).toBeUndefined();
      expect(owner.epoch).toBe(stage.world.guard.epochs.get(owner.shard));
    }
  });

  it('a free shard is taken with a new epoch, until the given instant', async () => {
    await free();
    const nodeId = newId<NodeId>();
    const before = (await ownerOf(3))!.epoch;
    expect(await acquire(nodeId, { shards: [3, 5] })).toEqual(
      new Map([3, 5].map((shard) => [shard, before + 1])),
    );
    expect(await ownerOf(3)).toEqual({
      shard: 3,
      nodeId,
      epoch: before + 1,
      expiresAtMs: BASE_MS + SECOND_MS,
    });
    expect((await ownerOf(4))?.nodeId).toBeUndefined();
    expect(await acquire(nodeId, { shards: [] })).toEqual(new Map());
  });

  it('hazard 7: what was taken by a clock that has been set back since has expired', async () => {
    await free();
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    const epoch = (await acquire(one, { shards: [7] })).get(7)!;
    expect(await acquire(other, { shards: [7], nowMs: BASE_MS - SECOND_MS })).toEqual(new Map());
    expect(await acquire(other, { shards: [7], nowMs: BASE_MS - SECOND_MS - 1 })).toEqual(
      new Map([[7, epoch + 1]]),
    );
  });

  it('hazard 10: what another owns is not taken before it expired, and then with a higher epoch', async () => {
    await free();
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    const epoch = (await acquire(one, { shards: [7] })).get(7)!;
    expect(await acquire(other, { shards: [7], nowMs: BASE_MS + SECOND_MS - 1 })).toEqual(new Map());
    expect((await ownerOf(7))?.nodeId).toBe(one);
    expect(await acquire(other, { shards: [7], nowMs: BASE_MS + SECOND_MS })).toEqual(
      new Map([[7, epoch + 1]]),
    );
    expect((await ownerOf(7))?.nodeId).toBe(other);
  });

  it('a node takes its own shards again at once, with a new epoch: its older self is fenced off', async () => {
    await free();
    const nodeId = newId<NodeId>();
    const first = await acquire(nodeId, { shards: [1] });
    const second = await acquire(nodeId, { shards: [1] });
    expect(second.get(1)).toBe(first.get(1)! + 1);
    const { members } = stage.world.storage;
    const { bootId } = stage.world;
    expect(await members.keepShards({ nodeId, bootId, epochs: second })).toEqual(new Set([1]));
    expect(await members.keepShards({ nodeId, bootId, epochs: first })).toEqual(new Set());
  });

  it('hazard 10: a beat renews only what is still owned at its epoch', async () => {
    await free();
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    const { members } = stage.world.storage;
    const epochs = await acquire(one, { shards: [1, 2] });
    await acquire(other, { shards: [2], nowMs: BASE_MS + SECOND_MS });
    await beat(one, { nowMs: BASE_MS + 2 * SECOND_MS, ttlMs: SECOND_MS });
    const { bootId } = stage.world;
    expect(await members.keepShards({ nodeId: one, bootId, epochs })).toEqual(new Set([1]));
    expect((await ownerOf(1))?.expiresAtMs).toBe(BASE_MS + 3 * SECOND_MS);
    expect(await ownerOf(2)).toMatchObject({ nodeId: other, expiresAtMs: BASE_MS + 2 * SECOND_MS });
    expect(await acquire(other, { shards: [1], nowMs: BASE_MS + 3 * SECOND_MS - 1 })).toEqual(new Map());
  });

  it('what a node owns without knowing it becomes free when it keeps the rest, unless another process is the node', async () => {
    await free();
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    const { members } = stage.world.storage;
    const { bootId } = stage.world;
    const epochs = await acquire(one, { shards: [1, 2, 3] });
    const others = await acquire(other, { shards: [5] });
    const keep = { nodeId: one, epochs: new Map([...epochs].filter(([shard]) => shard === 1)) };
    expect(await members.keepShards({ ...keep, bootId: newId<BootId>() })).toEqual(new Set([1]));
    expect((await ownerOf(2))?.nodeId).toBe(one);
    expect(await members.keepShards({ ...keep, bootId })).toEqual(new Set([1]));
    expect((await members.shards()).filter(({ nodeId }) => nodeId === one)).toHaveLength(1);
    expect((await ownerOf(2))?.epoch).toBe(epochs.get(2));
    expect(await ownerOf(5)).toMatchObject({ nodeId: other, epoch: others.get(5) });
    expect(await members.keepShards({ ...keep, bootId, epochs: new Map() })).toEqual(new Set());
    expect((await ownerOf(1))?.nodeId).toBeUndefined();
  });

  it('what a node left behind that is gone is free at once', async () => {
    await free();
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    const epochs = await acquire(one, { shards: [4] });
    await stage.world.storage.members.leaveNode(one, stage.world.bootId);
    expect(await ownerOf(4)).toMatchObject({ nodeId: one, expiresAtMs: 0 });
    expect(await acquire(other, { shards: [4] })).toEqual(new Map([[4, epochs.get(4)! + 1]]));
  });

  it('an ex-owner releases nothing that is another’s by now', async () => {
    await free();
    const [one, other] = [newId<NodeId>(), newId<NodeId>()];
    const epochs = await acquire(one, { shards: [9] });
    await acquire(other, { shards: [9], nowMs: BASE_MS + DAY_MS });
    await stage.world.storage.members.releaseShards({ nodeId: one, epochs });
    expect((await ownerOf(9))?.nodeId).toBe(other);
  });

  it('hazard 10: of nodes that race for a shard, exactly one gets it', async () => {
    await free();
    const nodes = Array.from({ length: 5 }, () => newId<NodeId>());
    const answers = await Promise.all(nodes.map((nodeId) => acquire(nodeId)));
    for (const shard of ALL_SHARDS) expect(answers.filter((epochs) => epochs.has(shard))).toHaveLength(1);
    for (const owner of await stage.world.storage.members.shards()) {
      const winner = nodes[answers.findIndex((epochs) => epochs.has(owner.shard))];
      expect(owner.nodeId).toBe(winner);
    }
  });
}

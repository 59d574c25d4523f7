/** Workers: registered, heard of by heartbeat, given up after silence, forgotten when nothing of theirs is left. */
import type { BootId, LeaseId, NodeId, WorkerId } from '@carillon/domain';
import { expect, it } from 'vitest';
import { LOST_KEPT_MS } from '../member-store.ts';
import { ENTRY } from './audit-store.conformance.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, HOUR_MS, type MakeStorage, SECOND_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

const LIVING = { alive: true, draining: false };
const DEAD = { alive: false, draining: false };

export function describeWorkers(make: MakeStorage): void {
  const stage = useStorageWorld(make);
  it('a worker that was given up is remembered with what it held, for an hour; one that left is not', async () => {
    const { world } = stage;
    const { members } = world.storage;
    const [gone, left] = [newId<WorkerId>(), newId<WorkerId>()];
    for (const workerId of [gone, left]) await world.register(workerId);
    const runs = [(await world.oneOff()).job, (await world.oneOff()).job];
    for (const job of runs) await world.claimOne(job, { workerId: gone });
    await members.forgetWorkers([left]);
    const lostAt = (nowMs: number) => members.listWorkers({ alive: false, limit: 10, nowMs });
    expect(await lostAt(BASE_MS)).toEqual([]);
    await world.markDead(gone, BASE_MS + 5);
    // Again changes nothing: it is dead already.
    await world.markDead(gone, BASE_MS + 500);
    const [lost, ...others] = await lostAt(BASE_MS + 500);
    expect(others).toEqual([]);
    expect(lost).toMatchObject({
      ...{ workerId: gone, lostAtMs: BASE_MS + 5, held: 2, slots: 10, handlers: ['http'], labels: {} },
      heldRuns: runs.map(({ jobId }) => jobId as string).toSorted(),
    });
    for (const held of await world.storage.leases.leasedBy([gone])) await world.settle(held as never);
    await members.forgetWorkers([gone]);
    expect((await members.workers()).map(({ workerId }) => workerId)).not.toContain(gone);
    expect(await lostAt(BASE_MS + 500)).toHaveLength(1);
    expect(await lostAt(BASE_MS + 5 + LOST_KEPT_MS)).toEqual([]);
    // The next one that is lost takes the place of those that are too old.
    await world.markDead(world.workerId, BASE_MS + 10 + LOST_KEPT_MS);
    const later = await lostAt(BASE_MS + 10 + LOST_KEPT_MS);
    expect(later.map(({ workerId }) => workerId)).toEqual([world.workerId]);
  });

  const nobody = { ended: [], nowMs: BASE_MS };

  const beat = (workerId: WorkerId, nowMs = BASE_MS) =>
    stage.world.storage.members.beatWorker(workerId, nowMs);

  /** As those who look at all workers see it, and as people do. */
  const find = async (workerId: WorkerId) => {
    const { members } = stage.world.storage;
    const state = (await members.workers()).find((worker) => worker.workerId === workerId);
    return state && { ...(await members.findWorker(workerId, BASE_MS)), ...state };
  };

  const remote = () => ({
    ...{ workerId: newId<WorkerId>(), nodeId: newId<NodeId>(), incarnation: 0, bootId: newId<BootId>() },
    ...{ session: 1, slots: 8, handlers: ['http'] },
  });

  it('a registered worker is listed as it registered, alive', async () => {
    const { members } = stage.world.storage;
    const handlers = ['http', 'odd, "name"', 'NULL', '{x}'];
    const record = {
      workerId: newId<WorkerId>(),
      nodeId: newId<NodeId>(),
      incarnation: 3,
      bootId: newId<BootId>(),
      session: 0,
      slots: 8,
      handlers,
    };
    await members.registerWorker(record, BASE_MS + 5);
    expect(await find(record.workerId)).toEqual({
      ...{ ...record, name: undefined, language: undefined, version: undefined, labels: {} },
      ...{ draining: false, stuck: 0, lastSeenMs: BASE_MS + 5, alive: true },
      ...{ lostAtMs: undefined, held: 0, heldRuns: [] },
    });
    await members.registerWorker({ ...record, slots: 2, handlers: [] }, BASE_MS + 6);
    expect(await find(record.workerId)).toMatchObject({ slots: 2, handlers: [], lastSeenMs: BASE_MS + 6 });
  });

  it('a worker that registers with another node, by a later stream, has that one as its home', async () => {
    const { members } = stage.world.storage;
    const record = remote();
    expect(await members.registerWorker(record, BASE_MS)).toBe('registered');
    const moved = { ...record, nodeId: newId<NodeId>(), session: 2 };
    expect(await members.registerWorker(moved, BASE_MS + 1)).toBe('registered');
    expect(await find(record.workerId)).toMatchObject({ ...moved, lastSeenMs: BASE_MS + 1, alive: true });
  });

  it('hazard 44: an id belongs to one process, and to the latest of its streams, until it is forgotten', async () => {
    const { members } = stage.world.storage;
    const record = { ...remote(), session: 2 };
    await members.registerWorker(record, BASE_MS);
    const other = { ...record, bootId: newId<BootId>(), session: 3, slots: 9 };
    for (const late of [other, { ...record, session: 1, slots: 9 }])
      expect(await members.registerWorker(late, BASE_MS + 1)).toBe('taken');
    expect(await find(record.workerId)).toMatchObject({ ...record, lastSeenMs: BASE_MS, alive: true });
    await stage.world.markDead(record.workerId);
    expect(await members.registerWorker(other, BASE_MS + 2)).toBe('taken');
    expect(await members.registerWorker({ ...record, session: 3 }, BASE_MS + 2)).toBe('dead');
    await members.forgetWorkers([record.workerId]);
    expect(await members.registerWorker(other, BASE_MS + 3)).toBe('registered');
  });

  it('what a worker says of itself is listed, and said anew when it registers at another node', async () => {
    const { members } = stage.world.storage;
    const record = {
      ...{ ...remote(), name: 'gpu-3 "left"', language: 'python', version: '1.4.0' },
      labels: { gpu: 'a100', 'odd key': '{"x"}' },
    };
    await members.registerWorker(record, BASE_MS);
    expect(await find(record.workerId)).toMatchObject({ ...record, draining: false });
    const moved = { ...record, nodeId: newId<NodeId>(), version: '1.5.0', labels: {} };
    await members.registerWorker(moved, BASE_MS + 1);
    expect(await find(record.workerId)).toMatchObject(moved);
  });

  it('a beat tells that the worker was there, and how many handlers have not returned', async () => {
    const { world } = stage;
    expect(await beat(world.workerId, BASE_MS + SECOND_MS)).toEqual(LIVING);
    expect(await find(world.workerId)).toMatchObject({ lastSeenMs: BASE_MS + SECOND_MS, stuck: 0 });
    await world.storage.members.beatWorker(world.workerId, BASE_MS, { stuck: 3 });
    expect(await find(world.workerId)).toMatchObject({ lastSeenMs: BASE_MS, stuck: 3 });
  });

  it('hazard 22: a worker learns from its next beat that it is to drain, and that it is not any more', async () => {
    const { world } = stage;
    const { members, audit } = world.storage;
    expect(await members.drainWorker(world.workerId, true, ENTRY)).toBe(true);
    expect(await audit.list({ limit: 9 })).toHaveLength(1);
    expect(await beat(world.workerId)).toEqual({ alive: true, draining: true });
    expect(await find(world.workerId)).toMatchObject({ draining: true, alive: true });
    expect(await members.drainWorker(world.workerId, false)).toBe(true);
    expect(await beat(world.workerId)).toEqual(LIVING);
  });

  it('hazard 22: a worker that registers again still drains, also under a new id', async () => {
    const { world } = stage;
    const { members } = world.storage;
    await members.drainWorker(world.workerId, true);
    const { nodeId, bootId } = world;
    const record = {
      workerId: world.workerId,
      nodeId,
      bootId,
      incarnation: 1,
      session: 0,
      slots: 10,
      handlers: ['http'],
    };
    await members.registerWorker(record, BASE_MS + 1);
    expect(await beat(world.workerId)).toEqual({ alive: true, draining: true });
    const next = { ...record, workerId: newId<WorkerId>() };
    await members.registerWorker({ ...next, draining: true }, BASE_MS);
    expect(await beat(next.workerId)).toEqual({ alive: true, draining: true });
  });

  it('only a living worker can be asked to drain', async () => {
    const { world } = stage;
    const { members } = world.storage;
    expect(await members.drainWorker(newId<WorkerId>(), true, ENTRY)).toBe(false);
    expect(await world.storage.audit.list({ limit: 9 })).toEqual([]);
    await world.markDead(world.workerId);
    expect(await members.drainWorker(world.workerId, true)).toBe(false);
    expect((await find(world.workerId))?.draining).toBe(false);
  });

  it('an unknown worker is told that it is not alive', async () => {
    const workerId = newId<WorkerId>();
    expect(await beat(workerId)).toEqual(DEAD);
    expect(await find(workerId)).toBeUndefined();
  });

  it('hazard 14: a worker silent for too long is marked dead, and learns it from its next heartbeat', async () => {
    const { world } = stage;
    const { members } = world.storage;
    const lively = newId<WorkerId>();
    await world.register(lively, { nowMs: BASE_MS + SECOND_MS });
    const heard = { workerId: world.workerId, lastSeenMs: BASE_MS };
    expect(await members.markDead({ silent: [heard], ...nobody })).toEqual([world.workerId]);
    expect((await find(world.workerId))?.alive).toBe(false);
    expect(await beat(world.workerId, BASE_MS + HOUR_MS)).toEqual(DEAD);
    expect((await find(world.workerId))?.alive).toBe(false);
    expect(await beat(lively)).toEqual(LIVING);
  });

  it('hazard 14: a worker that was heard after it was found silent is not marked dead', async () => {
    const { world } = stage;
    const heard = { workerId: world.workerId, lastSeenMs: BASE_MS };
    await beat(world.workerId, BASE_MS + SECOND_MS);
    expect(await world.storage.members.markDead({ silent: [heard], ...nobody })).toEqual([]);
    expect(await beat(world.workerId)).toEqual(LIVING);
  });

  it('hazard 7: a beat after the clock was set back is a new one', async () => {
    const { world } = stage;
    await beat(world.workerId, BASE_MS - HOUR_MS);
    expect((await find(world.workerId))?.lastSeenMs).toBe(BASE_MS - HOUR_MS);
  });

  it('workers of processes that have ended are marked dead, however lately they were heard of, and no others of the node', async () => {
    const { world } = stage;
    const [older, newer, clone] = [newId<WorkerId>(), newId<WorkerId>(), newId<WorkerId>()];
    const nodeId = newId<NodeId>();
    const ended = [newId<BootId>(), newId<BootId>()];
    await world.register(older, { nodeId, incarnation: 1, bootId: ended[1]! });
    await world.register(newer, { nodeId, incarnation: 2, bootId: newId() });
    await world.register(clone, { nodeId, incarnation: 1, bootId: newId() });
    expect(await world.storage.members.markDead({ silent: [], ended, nowMs: BASE_MS })).toEqual([older]);
    for (const living of [newer, clone]) expect((await find(living))?.alive).toBe(true);
  });

  it('hazard 13: the dead are named again until they are forgotten, which waits for what they hold', async () => {
    const { world } = stage;
    const { members, leases } = world.storage;
    const { job } = await world.oneOff();
    const run = await world.claimOne(job);
    const markDead = () => world.markDead(world.workerId);
    expect(await markDead()).toEqual([world.workerId]);
    await members.forgetWorkers([world.workerId]);
    expect(await markDead()).toEqual([world.workerId]);
    expect((await leases.leasedBy(await markDead())).map((held) => held.runId)).toEqual([run.runId]);
    await world.settle(run);
    expect(await markDead()).toEqual([world.workerId]);
    await members.forgetWorkers([world.workerId]);
    expect(await markDead()).toEqual([]);
    expect(await find(world.workerId)).toBeUndefined();
  });

  it('a worker that leaves in good order is forgotten at once', async () => {
    const { world } = stage;
    await world.storage.members.forgetWorkers([world.workerId, newId<WorkerId>()]);
    expect(await find(world.workerId)).toBeUndefined();
    await world.storage.members.forgetWorkers([]);
  });

  it('hazard 14: a worker that left on one stream is forgotten, but not when a later stream of it came meanwhile', async () => {
    const { members } = stage.world.storage;
    const record = remote();
    await members.registerWorker(record, BASE_MS);
    const moved = { ...record, nodeId: newId<NodeId>(), session: 2 };
    await members.registerWorker(moved, BASE_MS + 1);
    await members.forgetLeft(record);
    await members.forgetLeft({ ...moved, bootId: newId<BootId>() });
    expect(await beat(record.workerId)).toEqual(LIVING);
    await members.forgetLeft(moved);
    expect(await find(record.workerId)).toBeUndefined();
  });

  it('hazard 13: a worker that left is not forgotten while it holds something', async () => {
    const { world } = stage;
    const { members } = world.storage;
    const left = (await find(world.workerId))!;
    const run = await world.claimOne((await world.oneOff()).job);
    await members.forgetLeft(left);
    expect(await beat(world.workerId)).toEqual(LIVING);
    await world.settle(run);
    await members.forgetLeft(left);
    expect(await find(world.workerId)).toBeUndefined();
  });

  it('a beat restores the session that the storage has lost, and never an older one (hazard 43)', async () => {
    const { members } = stage.world.storage;
    const record = { ...remote(), session: 4 };
    await members.registerWorker(record, BASE_MS);
    const session = async () =>
      (await members.workers()).find(({ workerId }) => workerId === record.workerId)?.session;
    await members.beatWorker(record.workerId, BASE_MS + 1, { session: 3 });
    expect(await session()).toBe(4);
    await members.beatWorker(record.workerId, BASE_MS + 2, { session: 6 });
    expect(await session()).toBe(6);
    await members.beatWorker(record.workerId, BASE_MS + 3);
    expect(await session()).toBe(6);
    expect(await members.registerWorker({ ...record, session: 5 }, BASE_MS + 4)).toBe('taken');
  });

  it('several beats are recorded as each would be; those of the dead and of strangers are left out', async () => {
    const { members } = stage.world.storage;
    const [one, two, dead] = [remote(), remote(), remote()];
    for (const record of [one, two, dead]) await members.registerWorker({ ...record, session: 4 }, BASE_MS);
    await members.drainWorker(two.workerId, true);
    await stage.world.markDead(dead.workerId);
    const beats = [
      { workerId: one.workerId, stuck: 3, session: 6 },
      { workerId: two.workerId, session: 2 },
      { workerId: dead.workerId },
      { workerId: newId<WorkerId>() },
    ];
    expect(await members.beatWorkers(beats, BASE_MS + 5)).toEqual(
      new Map([
        [one.workerId, { alive: true, draining: false }],
        [two.workerId, { alive: true, draining: true }],
      ]),
    );
    const states = new Map((await members.workers()).map((worker) => [worker.workerId, worker]));
    expect(states.get(one.workerId)).toMatchObject({ lastSeenMs: BASE_MS + 5, stuck: 3, session: 6 });
    expect(states.get(two.workerId)).toMatchObject({ lastSeenMs: BASE_MS + 5, stuck: 0, session: 4 });
    expect(states.get(dead.workerId)).toMatchObject({ lastSeenMs: BASE_MS, alive: false });
  });

  const unreceived = async (fromMs: number, untilMs?: number, holding: readonly LeaseId[] = []) => {
    const { workerId, storage } = stage.world;
    const span = untilMs === undefined ? { fromMs } : { fromMs, untilMs };
    return storage.members.unreceivedRuns({ workerId, session: 0, holding, ...span });
  };

  it('hazard 14: a home that the worker has left is told of no lease that never arrived', async () => {
    const { members } = stage.world.storage;
    const record = remote();
    await members.registerWorker(record, BASE_MS);
    await stage.world.claimOne((await stage.world.oneOff()).job, { workerId: record.workerId });
    const askedBy = (session: number) =>
      members.unreceivedRuns({ workerId: record.workerId, session, holding: [], fromMs: 0 });
    expect(await askedBy(1)).toHaveLength(1);
    await members.registerWorker({ ...record, nodeId: newId<NodeId>(), session: 2 }, BASE_MS);
    expect(await askedBy(1)).toEqual([]);
    expect(await askedBy(2)).toHaveLength(1);
  });

  it('leases that never reached the worker are named by when they were claimed', async () => {
    const { world } = stage;
    const claim = async (nowMs: number, workerId = world.workerId) =>
      (await world.claimOne((await world.oneOff()).job, { nowMs, workerId })).leaseId;
    const [held, lost, alsoLost] = [await claim(BASE_MS), await claim(BASE_MS), await claim(BASE_MS + 5)];
    const fresh = await claim(BASE_MS + 10);
    await claim(BASE_MS, newId<WorkerId>());
    const named = async (fromMs: number, untilMs?: number) =>
      (await unreceived(fromMs, untilMs, [held])).map(({ leaseId }) => leaseId).toSorted();
    expect(await named(0, BASE_MS + 10)).toEqual([lost, alsoLost].toSorted());
    expect(await named(BASE_MS, BASE_MS + 11)).toEqual([lost, alsoLost, fresh].toSorted());
    expect(await named(BASE_MS + 1, BASE_MS + 10)).toEqual([alsoLost]);
    expect(await named(0, BASE_MS)).toEqual([]);
    expect(await named(BASE_MS + 6)).toEqual([fresh]);
  });

  it('of a lease that never arrived every run is named, as it is reported, until it is settled', async () => {
    const { world } = stage;
    const runs = [];
    for (let i = 0; i < 2; i += 1) runs.push(...(await world.pendingRuns((await world.oneOff()).job)));
    const batch = await world.claim(runs);
    const all = await unreceived(0);
    expect(all.toSorted((a, b) => a.position - b.position)).toEqual(
      batch.runs.map(({ leaseId, position, epoch, jobId, runId }) => ({
        ...{ leaseId, position, epoch, jobId, runId, claimedAtMs: BASE_MS },
      })),
    );
    await world.settle(batch.runs[0]!);
    expect((await unreceived(0)).map(({ runId }) => runId)).toEqual([batch.runs[1]!.runId]);
    await world.settle(batch.runs[1]!);
    expect(await unreceived(0)).toEqual([]);
  });

  it('hazard 18: a wish to cancel is named again as long as the run is held, and for no other lease', async () => {
    const { members, jobs } = stage.world.storage;
    const { world } = stage;
    const { job, runId } = await world.oneOff();
    const run = await world.claimOne(job);
    const other = await world.claimOne((await world.oneOff()).job);
    await jobs.cancelRun(runId, BASE_MS);
    const both = [other.leaseId, run.leaseId];
    const wanted = [{ leaseId: run.leaseId, runId }];
    for (let i = 0; i < 3; i += 1) expect(await members.cancelledRuns(both)).toEqual(wanted);
    expect(await members.cancelledRuns([other.leaseId])).toEqual([]);
    expect(await members.cancelledRuns([])).toEqual([]);
    await world.settle(run);
    expect(await members.cancelledRuns(both)).toEqual([]);
  });
}

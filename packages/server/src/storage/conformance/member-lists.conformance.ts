/** Workers as people see them: by page, also those that were lost, within bounds; and what they offer to which namespaces. */
import type { BootId, NodeId, WorkerId } from '@carillon/domain';
import { expect, it } from 'vitest';
import { LOST_SHARE_MAX, type WorkerPage } from '../member-store.ts';
import { newId } from './sample-job.ts';
import { BASE_MS, type MakeStorage, SECOND_MS } from './storage-under-test.ts';
import { useStorageWorld } from './storage-world.ts';

export function describeWorkerLists(make: MakeStorage): void {
  const stage = useStorageWorld(make);

  const remote = () => ({
    ...{ workerId: newId<WorkerId>(), nodeId: newId<NodeId>(), incarnation: 0, bootId: newId<BootId>() },
    ...{ session: 1, slots: 8, handlers: ['http'] },
  });

  /** So many workers with a key are given up at once, later by a second than those before. */
  const lose = async (
    count: number,
    { key, namespaces, at }: { key: string; namespaces?: string[]; at: number },
  ) => {
    const { members } = stage.world.storage;
    const heard = Array.from({ length: count }, () => ({
      ...{ workerId: `${newId()}@${key}` as WorkerId, lastSeenMs: BASE_MS },
    }));
    for (const { workerId } of heard)
      await members.registerWorker({ ...remote(), workerId, ...(namespaces && { namespaces }) }, BASE_MS);
    const nowMs = BASE_MS + at * SECOND_MS;
    await members.markDead({ silent: heard, ended: [], nowMs });
    await members.forgetWorkers(heard.map(({ workerId }) => workerId));
    return nowMs;
  };

  it('lost workers of one key, and of one namespace, are known up to a number: they drive out none of others', async () => {
    const { members } = stage.world.storage;
    await lose(3, { key: 'victim', namespaces: ['beta'], at: 1 });
    await lose(2, { key: 'servers', at: 2 });
    // The keys of one namespace together, and also beside another one.
    await lose(LOST_SHARE_MAX - 10, { key: 'first', namespaces: ['alpha'], at: 3 });
    await lose(LOST_SHARE_MAX - 20, { key: 'second', namespaces: ['gamma', 'alpha'], at: 4 });
    const nowMs = await lose(LOST_SHARE_MAX + 5, { key: 'all', at: 5 });
    const known = await members.listWorkers({ alive: false, limit: 1_000, nowMs });
    const ofKey = (key: string) => known.filter(({ workerId }) => workerId.endsWith(`@${key}`)).length;
    expect(
      Object.fromEntries(['victim', 'servers', 'first', 'second', 'all'].map((key) => [key, ofKey(key)])),
    ).toEqual({
      ...{ victim: 3, servers: 2, first: 20, second: LOST_SHARE_MAX - 20, all: LOST_SHARE_MAX },
    });
  });

  it('workers are listed by pages in the order of their ids, the lost ones among them, and filtered before they are counted', async () => {
    const { members } = stage.world.storage;
    const nowMs = await lose(2, { key: 'lost', at: 1 });
    const labels = { zone: 'eu', 'odd key': '{"x"}' };
    for (const name of ['Alpha', 'beta', undefined])
      await members.registerWorker({ ...remote(), name, labels }, BASE_MS);
    const list = async (over: Partial<WorkerPage> = {}) =>
      (await members.listWorkers({ limit: 100, nowMs, ...over })).map(({ workerId }) => workerId);
    const all = await list();
    expect(all).toEqual(all.toSorted());
    expect(all).toHaveLength(6);
    expect([
      ...(await list({ limit: 2 })),
      ...(await list({ after: all[1], limit: 3 })),
      ...(await list({ after: all[4] })),
    ]).toEqual(all);
    expect(await list({ alive: false })).toHaveLength(2);
    expect(await list({ alive: true, limit: 3 })).toHaveLength(3);
    expect(await list({ labels: { 'odd key': '{"x"}' } })).toHaveLength(3);
    expect(await list({ labels: { zone: 'eu', other: 'x' } })).toEqual([]);
    const offering = { ...remote(), handlers: ['mail', 'odd{"}'] };
    await members.registerWorker({ ...offering, name: 'gamma' }, BASE_MS);
    expect(await list({ handler: 'odd{"}' })).toHaveLength(1);
    expect(await list({ handler: 'odd' })).toEqual([]);
    expect(await list({ text: 'alpha' })).toHaveLength(1);
    expect(await list({ text: all[3]!.slice(2) })).toEqual([all[3]]);
    expect(await list({ text: '%' })).toEqual([]);
    expect(await members.findWorker(all[0]!, nowMs)).toMatchObject({ workerId: all[0] });
    expect(await members.findWorker('nobody', nowMs)).toBeUndefined();
  });

  it('a worker that is bound to namespaces offers to these alone, and another one to all', async () => {
    const { members } = stage.world.storage;
    const [bound, free, dead] = [remote(), remote(), remote()];
    const labels = { zone: 'eu' };
    await members.registerWorker(
      { ...bound, handlers: ['merge', 'b'], namespaces: ['beta', 'odd "}'], labels },
      BASE_MS,
    );
    await members.registerWorker({ ...free, handlers: ['b', 'c'] }, BASE_MS);
    await members.registerWorker({ ...dead, handlers: ['d'], session: 1 }, BASE_MS);
    await stage.world.markDead(dead.workerId);
    const offers = async (namespaces?: readonly string[], over: { after?: string; limit?: number } = {}) =>
      (await members.offers({ namespaces, limit: 10, ...over }))
        .filter(({ handler }) => handler !== 'http')
        .map(({ handler, workers }) => [handler, workers]);
    expect(await offers()).toEqual([
      ['b', 2],
      ['c', 1],
      ['merge', 1],
    ]);
    expect(await offers(['alpha'])).toEqual([
      ['b', 1],
      ['c', 1],
    ]);
    expect(await offers(['alpha', 'odd "}'])).toEqual([
      ['b', 2],
      ['c', 1],
      ['merge', 1],
    ]);
    expect(await offers([])).toEqual([
      ['b', 1],
      ['c', 1],
    ]);
    expect(await offers(undefined, { after: 'b', limit: 1 })).toEqual([['c', 1]]);
    const offering = async (handler: string, namespaces?: string[]) =>
      (await members.workersOffering(handler, namespaces)).map(({ workerId }) => workerId);
    expect(await offering('merge')).toEqual([bound.workerId]);
    expect(await offering('merge', ['alpha'])).toEqual([]);
    expect(await offering('b', ['beta'])).toEqual([bound.workerId, free.workerId].toSorted());
    expect(await offering('d')).toEqual([]);
    expect(await members.workersOffering('merge')).toMatchObject([
      { labels, slots: 8, session: 1, draining: false },
    ]);
    // Its key is of another namespace by its next stream.
    await members.registerWorker(
      { ...bound, handlers: ['merge'], namespaces: ['alpha'], session: 2 },
      BASE_MS,
    );
    expect(await offering('merge', ['alpha'])).toEqual([bound.workerId]);
    expect(await offering('merge', ['beta'])).toEqual([]);
  });
}

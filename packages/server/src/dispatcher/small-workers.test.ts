/** A worker with few slots beside one with many. */
import { expect, test } from 'vitest';
import { StorageBacklog } from '../backlog/storage-backlog.ts';
import type { ClaimRequest, LeaseStore } from '../storage/lease-store.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { TestWorker } from '../testing/test-worker.fixture.ts';
import { Dispatcher } from './dispatcher.ts';

test('what only it offers does not wait for claims of the other', async () => {
  const stage = await RoleStage.set();
  const { signals, common, link, storage, world } = stage;
  const { members } = storage;
  const small = new TestWorker({ slots: 8, handlers: ['rare'] });
  const large = new TestWorker({ workerId: world.workerId, slots: 1_000 });
  /** Claims of the large one are not answered. */
  const leases: Pick<LeaseStore, 'claim' | 'lanes'> = {
    lanes: (page) => storage.leases.lanes(page),
    claim: (request: ClaimRequest) =>
      request.workerId === small.workerId ? storage.leases.claim(request) : new Promise(() => undefined),
  };
  const backlog = new StorageBacklog({ ...common, leases, signals });
  const dispatcher = new Dispatcher({
    ...common,
    backlog,
    leases,
    link,
    members,
    signals,
    nodeId: world.nodeId,
  });
  await world.register(small.workerId);
  for (const worker of [large, small]) link.attach(worker);
  const bring = async (count: number, handler?: string) => {
    const { jobs } = await stage.oneOffs(count, handler === undefined ? {} : { job: { handler } });
    stage.announce(jobs);
    for (let i = 0; i < 3; i += 1) {
      await dispatcher.runOnce();
      await turns();
    }
  };
  await bring(500);
  await bring(1, 'rare');
  expect(small.runs).toHaveLength(1);
});

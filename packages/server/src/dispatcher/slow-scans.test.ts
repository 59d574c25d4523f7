/** The dispatcher while scans over the lanes are slow or fail. */
import { expect, test } from 'vitest';
import { StorageBacklog } from '../backlog/storage-backlog.ts';
import type { LeaseStore } from '../storage/lease-store.ts';
import { StorageTimeout } from '../storage/storage.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { TestWorker } from '../testing/test-worker.fixture.ts';
import { Dispatcher } from './dispatcher.ts';

const STATEMENT_TIMEOUT_MS = 30_000;

/** A dispatcher whose scans over all lanes take so long. */
async function withSlowLooks(lanes: LeaseStore['lanes'], stage: RoleStage) {
  const { signals, common, link, storage, world } = stage;
  const backlog = new StorageBacklog({
    ...common,
    leases: { lanes, claim: (request) => storage.leases.claim(request) },
    signals,
  });
  const dispatcher = new Dispatcher({
    ...common,
    backlog,
    leases: storage.leases,
    link,
    members: storage.members,
    signals,
    nodeId: world.nodeId,
  });
  const worker = new TestWorker({ workerId: world.workerId });
  link.attach(worker);
  await turns();
  return { dispatcher, worker };
}

test('a look over the lanes that takes too long does not keep announced runs from being claimed', async () => {
  const stage = await RoleStage.set();
  const { dispatcher, worker } = await withSlowLooks(async () => {
    // Dead rows that an old snapshot keeps: the statement runs into its time limit each time.
    stage.clock.advance(STATEMENT_TIMEOUT_MS);
    throw new StorageTimeout('canceling statement due to statement timeout');
  }, stage);
  await dispatcher.runOnce().catch(() => undefined);
  const { jobs } = await stage.oneOffs(1);
  stage.announce(jobs);
  for (let pass = 0; pass < 20; pass += 1) {
    await dispatcher.runOnce().catch(() => undefined);
    await turns();
    stage.clock.advance(100);
  }
  expect(worker.handed.flatMap((batch) => batch.runs)).toHaveLength(1);
});

test('announced runs are claimed while a scan over the lanes is under way', async () => {
  const stage = await RoleStage.set();
  const gates: PromiseWithResolvers<void>[] = [];
  const { dispatcher, worker } = await withSlowLooks(async (page) => {
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    await gate.promise;
    return stage.storage.leases.lanes(page);
  }, stage);
  dispatcher.start();
  await turns();
  const { jobs } = await stage.oneOffs(1);
  stage.announce(jobs);
  for (let pass = 0; pass < 20; pass += 1) await stage.advance(100);
  const handed = worker.handed.flatMap((batch) => batch.runs).length;
  for (const gate of gates) gate.resolve();
  await dispatcher.stop();
  expect(handed).toBe(1);
});

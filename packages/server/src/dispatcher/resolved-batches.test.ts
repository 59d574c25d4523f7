import type { ClaimedBatch } from '@carillon/domain';
import { expect, test } from 'vitest';
import { StorageBacklog } from '../backlog/storage-backlog.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { TestWorker } from '../testing/test-worker.fixture.ts';
import { Dispatcher } from './dispatcher.ts';

test('a batch that needs something of others is handed over when it has it; meanwhile its slots stay reserved', async () => {
  const { signals, common, link, storage, world } = await RoleStage.set();
  const gate = Promise.withResolvers<void>();
  const { leases, members } = storage;
  const dispatcher = new Dispatcher({
    ...{ ...common, leases, link, members, signals, nodeId: world.nodeId },
    backlog: new StorageBacklog({ ...common, leases, signals }),
    resolver: {
      concerns: () => true,
      resolve: async (batch: ClaimedBatch) => {
        await gate.promise;
        return { ...batch, runs: batch.runs.map((run) => ({ ...run, payload: '{"resolved":true}' })) };
      },
    },
  });
  const worker = new TestWorker({ workerId: world.workerId });
  link.attach(worker);
  await turns();
  const free = link.workers()[0]!.freeSlots;
  await world.oneOff({});
  await dispatcher.runOnce();
  await turns();
  expect(worker.handed).toEqual([]);
  expect(link.workers()[0]!.freeSlots).toBeLessThan(free);
  gate.resolve();
  await turns();
  const payloads = worker.handed.flatMap(({ runs }) => runs).map(({ payload }) => payload);
  expect(payloads).toEqual(['{"resolved":true}']);
});

test.each([
  ['is cancelled meanwhile is handed over as one that has ended: no handler is called for it', true],
  ['is said to be cancelled meanwhile, and is not, is handed over as it is', false],
])('a run that %s (hazard 18)', async (_, isCancelled) => {
  const { signals, common, link, storage, world, clock } = await RoleStage.set();
  const gate = Promise.withResolvers<void>();
  const { leases, members } = storage;
  const dispatcher = new Dispatcher({
    ...{ ...common, leases, link, members, signals, nodeId: world.nodeId },
    backlog: new StorageBacklog({ ...common, leases, signals }),
    resolver: {
      concerns: () => true,
      resolve: async (batch: ClaimedBatch) => {
        await gate.promise;
        return batch;
      },
    },
  });
  const worker = new TestWorker({ workerId: world.workerId });
  link.attach(worker);
  await turns();
  const { runId } = await world.oneOff({});
  await dispatcher.runOnce();
  await turns();
  if (isCancelled) await storage.jobs.cancelRun(runId, clock.now());
  signals.send('cancel-requested', { runIds: [runId] });
  gate.resolve();
  await turns();
  const [run] = worker.handed.flatMap(({ runs }) => runs);
  expect([run?.runId, run?.failure?.kind]).toEqual([runId, isCancelled ? 'CANCELLED' : undefined]);
});

test('a batch whose needs cannot be had frees its own slots, not those of another claim', async () => {
  const { signals, common, link, storage, world } = await RoleStage.set();
  const { leases, members } = storage;
  const dispatcher = new Dispatcher({
    ...{ ...common, leases, link, members, signals, nodeId: world.nodeId },
    backlog: new StorageBacklog({ ...common, leases, signals }),
    resolver: {
      concerns: () => true,
      resolve: async () => {
        throw new Error('the vault is down');
      },
    },
  });
  const worker = new TestWorker({ workerId: world.workerId });
  link.attach(worker);
  await turns();
  const free = link.workers()[0]!.freeSlots;
  link.reserve(world.workerId, 1);
  await world.oneOff({});
  await dispatcher.runOnce();
  await turns();
  expect(await leases.leasedBy([world.workerId])).toHaveLength(1);
  expect(link.workers()[0]!.freeSlots).toBe(free - 1);
});

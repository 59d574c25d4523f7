/** Workers that serve some namespaces, beside one that serves all. */
import type { Job, RunId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { StorageBacklog } from '../backlog/storage-backlog.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { TestWorker } from '../testing/test-worker.fixture.ts';
import { Dispatcher } from './dispatcher.ts';

test('workers get only runs of the namespaces that they serve, and what nobody may run keeps nobody busy', async () => {
  const stage = await RoleStage.set();
  const { signals, common, link, storage, world } = stage;
  const { leases, members } = storage;
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
  const attach = async (over: ConstructorParameters<typeof TestWorker>[0]) => {
    const worker = new TestWorker(over);
    await world.register(worker.workerId);
    link.attach(worker);
    return worker;
  };
  const bring = async (count: number, job: Partial<Job>): Promise<RunId[]> => {
    const { jobs, runIds } = await stage.oneOffs(count, { job });
    stage.announce(jobs);
    return runIds.toSorted();
  };
  const passes = async () => {
    let waitMs = 0;
    for (let i = 0; i < 50; i += 1) {
      waitMs = await dispatcher.runOnce();
      await turns();
      stage.clock.advance(10);
    }
    return waitMs;
  };

  const media = await attach({ slots: 20, namespaces: ['media'] });
  const billing = await attach({ slots: 5, namespaces: ['billing', 'media'] });
  const bills = await bring(5, { namespace: 'billing', priority: 'high' });
  const pictures = await bring(10, { namespace: 'media' });
  const others = await bring(3, { namespace: 'elsewhere' });
  expect(await passes()).toBeGreaterThan(0);
  expect([billing.runs.toSorted(), media.runs.toSorted()]).toEqual([bills, pictures]);

  const all = await attach({ slots: 10 });
  await passes();
  expect(all.runs.toSorted()).toEqual(others);
});

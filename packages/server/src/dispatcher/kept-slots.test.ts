/** DISP-8: runs that take very long, of one namespace, beside those of others. */
import type { Job } from '@carillon/domain';
import { beforeEach, expect, test } from 'vitest';
import { StorageBacklog } from '../backlog/storage-backlog.ts';
import { namespaceKey } from '../storage/lane.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { TestWorker } from '../testing/test-worker.fixture.ts';
import { Dispatcher } from './dispatcher.ts';

let stage: RoleStage;
let dispatcher: Dispatcher;
let namespaces: string[];

beforeEach(async () => {
  stage = await RoleStage.set();
  namespaces = ['a', 'b'];
  const { signals, common, link, storage, world } = stage;
  const { leases, members } = storage;
  dispatcher = new Dispatcher({
    ...{ ...common, leases, link, members, signals, nodeId: world.nodeId },
    backlog: new StorageBacklog({ ...common, leases, signals }),
    accounts: {
      namespaces: async () => namespaces.map((name) => ({ name, description: '', createdAtMs: 0 })),
    },
  });
});

/** Its runs never end. */
async function attach(over: ConstructorParameters<typeof TestWorker>[0]): Promise<TestWorker> {
  const worker = new TestWorker(over);
  await stage.world.register(worker.workerId);
  stage.link.attach(worker);
  return worker;
}

async function bring(count: number, job: Partial<Job>): Promise<void> {
  stage.announce((await stage.oneOffs(count, { job })).jobs);
  await passes();
}

/** Answers how long the last one wants to wait. */
async function passes(): Promise<number> {
  let waitMs = 0;
  for (let i = 0; i < 40; i += 1) {
    waitMs = await dispatcher.runOnce();
    await turns();
    stage.clock.advance(10);
  }
  return waitMs;
}

const held = (worker: TestWorker) =>
  Object.fromEntries(
    ['a', 'b', 'c', 'd'].map((name) => [name, worker.heldBy().get(namespaceKey(name)) ?? 0]),
  );

test('a namespace that takes all it can get leaves slots to another, and that one to the next', async () => {
  const worker = await attach({ slots: 128 });
  await bring(300, { namespace: 'a', priority: 'high' });
  expect(held(worker)).toMatchObject({ a: 120 });
  await bring(50, { namespace: 'b', priority: 'low' });
  expect(held(worker)).toMatchObject({ a: 120, b: 4 });
  await bring(50, { namespace: 'c' });
  await bring(50, { namespace: 'd' });
  expect(held(worker)).toEqual({ a: 120, b: 4, c: 2, d: 1 });
  // What waits keeps nobody busy.
  expect(await passes()).toBeGreaterThan(0);
});

test('a namespace gets all slots where there is no other, or the worker is its own, or has few', async () => {
  namespaces = ['a'];
  const alone = await attach({ slots: 64 });
  await bring(100, { namespace: 'a' });
  expect(held(alone)).toMatchObject({ a: 64 });
  namespaces = ['a', 'b'];
  stage.clock.advance(5_000);
  await passes();
  const own = await attach({ slots: 32, namespaces: ['a'] });
  await bring(20, { namespace: 'a' });
  expect(held(own)).toMatchObject({ a: 32 });
  const few = await attach({ slots: 8 });
  await bring(20, { namespace: 'a' });
  expect(held(few)).toMatchObject({ a: 8 });
});

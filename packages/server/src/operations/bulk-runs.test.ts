/** What a request in bulk costs: one read for what it names, and a bounded amount of work beside that of others. */
import { randomUUID } from 'node:crypto';
import type { JobId, RunId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { OperationsFixture } from './operations.fixture.ts';
import { BulkLanes, mapInParallel } from './support/in-parallel.ts';

/** A fixture whose calls to the stores of jobs and runs are counted by name. */
function counted() {
  const calls = new Map<string, number>();
  const counting = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]) => {
          calls.set(String(name), (calls.get(String(name)) ?? 0) + 1);
          return member.apply(target, given);
        };
      },
    });
  class CountedFixture extends OperationsFixture {
    protected override makeStorage() {
      const storage = super.makeStorage();
      return Object.assign(Object.create(storage) as typeof storage, {
        jobs: counting(storage.jobs),
        runs: counting(storage.runs),
      });
    }
  }
  return { fixture: new CountedFixture(), calls };
}

const ids = <Id extends string>(count: number) => Array.from({ length: count }, () => randomUUID() as Id);

test('a thousand runs that are not there cost one read', async () => {
  const { fixture, calls } = counted();
  for (const action of ['cancel', 'rerun'] as const)
    for (const dryRun of [true, false]) {
      calls.clear();
      const of = { runIds: ids<RunId>(1_000) };
      const report = await fixture.operations.bulkRuns({ action, of, dryRun });
      expect(report).toMatchObject({ matched: 0, changed: 0, refused: 1_000 });
      expect(Object.fromEntries(calls)).toEqual({ latest: 1 });
    }
});

test('a thousand jobs that are not there cost one read', async () => {
  const { fixture, calls } = counted();
  for (const action of ['pause', 'resume', 'cancel'] as const)
    for (const dryRun of [true, false]) {
      calls.clear();
      const report = await fixture.operations.bulkJobs({ action, of: { jobIds: ids<JobId>(1_000) }, dryRun });
      expect(report).toMatchObject({ matched: 0, changed: 0, refused: 1_000 });
      expect(Object.fromEntries(calls)).toEqual({ owners: 1 });
    }
});

test('runs that are cancelled cost one read together, and a write each', async () => {
  const { fixture, calls } = counted();
  const { jobId } = await fixture.operations.createJob({ name: 'job', frequency: 'daily' });
  const runIds: RunId[] = [];
  for (let i = 0; i < 20; i += 1) runIds.push((await fixture.operations.runJobNow(jobId)).runId);
  calls.clear();
  const report = await fixture.operations.bulkRuns({ action: 'cancel', of: { runIds }, dryRun: false });
  expect(report).toMatchObject({ matched: 20, changed: 20 });
  expect(Object.fromEntries(calls)).toEqual({ latest: 1, cancelRun: 20 });
});

test('the items of a filter are read at once, too', async () => {
  const { fixture, calls } = counted();
  const { jobId } = await fixture.operations.createJob({ name: 'job', frequency: 'daily' });
  for (let i = 0; i < 5; i += 1) {
    await fixture.operations.runJobNow(jobId);
    await fixture.settle(await fixture.claimDue(), {
      status: 'FAILED',
      error: 'no',
      next: { kind: 'finish' },
    });
  }
  calls.clear();
  const of = { selection: { jobId } };
  const report = await fixture.operations.bulkRuns({ action: 'rerun', of, dryRun: true });
  expect(report).toMatchObject({ matched: 5, refused: 0 });
  expect(Object.fromEntries(calls)).toEqual({ get: 1, list: 1, latest: 1 });
});

test('items are charged before anything is read, and a refused charge does nothing', async () => {
  const { fixture, calls } = counted();
  const charged: number[] = [];
  const charge = (items: number) => {
    charged.push(items);
    throw new Error('too much');
  };
  const runIds = ids<RunId>(3);
  const runs = fixture.operations.bulkRuns({
    ...{ action: 'cancel', of: { runIds: [...runIds, ...runIds] }, dryRun: false },
    charge,
  });
  await expect(runs).rejects.toThrow('too much');
  const jobs = fixture.operations.bulkJobs({
    ...{ action: 'pause', of: { jobIds: ids<JobId>(2) }, dryRun: true },
    charge,
  });
  await expect(jobs).rejects.toThrow('too much');
  expect(charged).toEqual([3, 2]);
  expect(calls.size).toBe(0);
});

test('bulk requests share four lanes, and take turns in them', async () => {
  const lanes = new BulkLanes();
  const order: string[] = [];
  let running = 0;
  let most = 0;
  const request = (name: string, items: number) =>
    mapInParallel(
      Array.from({ length: items }, (_, i) => i),
      (item) =>
        lanes.run(async () => {
          running += 1;
          most = Math.max(most, running);
          await Promise.resolve();
          running -= 1;
          order.push(name);
          if (item === 1 && name === 'failing') throw new Error('no');
        }),
    );
  const large = request('large', 100);
  const failing = request('failing', 2).catch(() => undefined);
  await Promise.all([large, failing, request('small', 4)]);
  expect(most).toBe(4);
  expect(order.filter((name) => name === 'large')).toHaveLength(100);
  // It did not wait for all of the large one.
  expect(order.lastIndexOf('small')).toBeLessThan(30);
});

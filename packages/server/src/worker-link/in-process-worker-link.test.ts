import type { ClaimedBatch, LeaseId, WorkerId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { batchOf } from '../../../worker/src/claimed-run.fixture.ts';
import { InProcessWorkerLink } from './in-process-worker-link.ts';
import type { LocalWorker } from './worker-link.ts';

const WORKER = 'worker-1' as WorkerId;

function workerOf(slots: number): LocalWorker {
  let runningCount = 0;
  return {
    workerId: WORKER,
    slots,
    handlers: ['test'],
    unrecordedLeft: 1_000,
    unrecordedCount: 2,
    heldBy: () => new Map(),
    get runningCount() {
      return runningCount;
    },
    accept({ runs }: ClaimedBatch) {
      runningCount += runs.length;
    },
  };
}

const freeSlots = (link: InProcessWorkerLink) => link.workers().map((worker) => worker.freeSlots);
const batch = (runs: number) => batchOf(...Array.from({ length: runs }, () => ({ leaseId: 'l' as LeaseId })));

test.each(['attached again', 'detached and attached again'])(
  'DISP-2: a worker that is %s during a claim is not given more runs than it has slots',
  (how) => {
    const link = new InProcessWorkerLink();
    const connected = workerOf(4);
    link.attach(connected);
    link.reserve(WORKER, 4);
    if (how !== 'attached again') link.detach(connected);
    const connectedAgain = workerOf(4);
    link.attach(connectedAgain);
    expect(freeSlots(link)).toEqual([0]);
    link.hand(batch(4));
    expect(connectedAgain.runningCount).toBe(4);
    expect(freeSlots(link)).toEqual([0]);
  },
);

test('the end of an older connection takes nothing from the newer one of the same worker', () => {
  const link = new InProcessWorkerLink();
  const older = workerOf(4);
  link.attach(older);
  link.attach(workerOf(8));
  link.detach(older);
  expect(freeSlots(link)).toEqual([8]);
});

test('a claim that ends after the worker connected again frees its slots once', () => {
  const link = new InProcessWorkerLink();
  const connected = workerOf(4);
  link.attach(connected);
  link.reserve(WORKER, 3);
  link.detach(connected);
  link.attach(workerOf(8));
  link.unreserve(WORKER, 3);
  expect(freeSlots(link)).toEqual([8]);
  // A batch that nothing was reserved for: its slots are in use, and no further ones are free.
  link.hand(batch(2));
  link.unreserve(WORKER, 2);
  expect(freeSlots(link)).toEqual([6]);
});

test('whoever waits for the claims of a worker is told, also when the worker has left meanwhile', async () => {
  const link = new InProcessWorkerLink();
  const connected = workerOf(4);
  link.attach(connected);
  link.reserve(WORKER, 4);
  const unreserved = link.whenUnreserved(WORKER);
  link.detach(connected);
  link.hand(batch(4));
  await unreserved;
});

test('tells what all workers do together, wherever they run (hazard 39)', () => {
  const link = new InProcessWorkerLink();
  expect(link.counts()).toEqual({ workers: 0, slots: 0, running: 0, unrecorded: 0 });
  const other = { ...workerOf(8), workerId: 'worker-2' as WorkerId, runningCount: 5 };
  for (const worker of [workerOf(4), other]) link.attach(worker);
  expect(link.counts()).toEqual({ workers: 2, slots: 12, running: 5, unrecorded: 4 });
  link.detach(other);
  expect(link.counts()).toEqual({ workers: 1, slots: 4, running: 0, unrecorded: 2 });
});

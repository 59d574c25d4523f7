import type { ClaimedBatch, LeaseId, WorkerId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { newId } from '../storage/conformance/sample-job.ts';
import { RemoteLeases } from './remote-leases.ts';

const workerId = newId<WorkerId>();
const leaseId = newId<LeaseId>();
const ref = { leaseId, position: 0, epoch: 1 };

function assigned(): RemoteLeases {
  const leases = new RemoteLeases({ leases: { leasedBy: async () => [] }, workerId });
  const run = { position: 0, epoch: 1, jobId: newId(), runId: newId() };
  leases.assigned({ leaseId, workerId, claimedAtMs: 0, runs: [run] } as unknown as ClaimedBatch);
  return leases;
}

test('a run speaks until its end was told: after that its log would be opened again, and stay open', () => {
  const leases = assigned();
  expect(leases.speaks(ref)).toMatchObject(ref);
  expect(leases.ends(ref)).toMatchObject({ hasSpoken: true });
  // Its end is being recorded: it is held, and has no more to say.
  expect(leases.held(ref)).toMatchObject(ref);
  expect(leases.speaks(ref)).toBeUndefined();
  leases.settled(ref);
  expect(leases.held(ref)).toBeUndefined();
});

test('a run of another epoch is not the one that was assigned', () => {
  const leases = assigned();
  expect(leases.speaks({ ...ref, epoch: 2 })).toBeUndefined();
  expect(leases.ends({ ...ref, epoch: 2 })).toBeUndefined();
});

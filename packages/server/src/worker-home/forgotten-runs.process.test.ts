/** A worker that beats, and does not name a run that it was sent and has not ended: the run goes to others (LEASE-16). */
import type { LeaseId } from '@carillon/domain';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { type RawStream, RawStreams } from './raw-stream.fixture.ts';
import { RemoteLeases } from './remote-leases.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };

let home: WorkerHomeFixture;
let streams: RawStreams;
let stream: RawStream;
beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  streams = new RawStreams((await home.listen()).address);
  stream = await streams.connected();
  await eventually(() => home.workerId(), SOON);
});
afterEach(async () => {
  streams.close();
  await home.close();
});

const answers = () => stream.heard.flatMap(({ beatAnswer }) => (beatAnswer ? [beatAnswer] : []));

/** One beat after the other, each when the one before is answered. */
async function beatUntil(check: () => Promise<void>): Promise<void> {
  let sequence = 0;
  await eventually(async () => {
    if (answers().length >= sequence) {
      sequence += 1;
      stream.say({ beat: { sequence, heldLeases: [] } });
    }
    await check();
  }, SOON);
}

test('is given to others, and the worker is told to stop it', async () => {
  const { jobs, batch } = await home.hand('quick');
  await beatUntil(async () => expect(await home.statuses(jobs[0]!)).toEqual(['QUEUED', 'RETURNED']));
  await beatUntil(async () =>
    expect(answers().flatMap(({ unknownLeases }) => unknownLeases)).toContain(batch.leaseId),
  );
  expect(home.warnings).toContain('a worker has forgotten runs: giving them back');
});

test('ends as cancelled, if somebody cancelled it', async () => {
  const { jobs, batch } = await home.hand('quick');
  await home.storage.jobs.cancelRun(batch.runs[0]!.runId, home.clock.now());
  await beatUntil(async () => expect(await home.statuses(jobs[0]!)).toEqual(['CANCELLED']));
});

test('a lease is missing after several beats and some time, if it was sent and is not named in between', () => {
  const workerId = home.workerId();
  const leases = new RemoteLeases({ leases: home.storage.leases, workerId });
  const leaseId = newId<LeaseId>();
  const run = { position: 0, epoch: 1, jobId: newId(), runId: newId() };
  leases.assigned({ leaseId, workerId, claimedAtMs: 0, runs: [run] } as never);
  const isSent = leases.sends(leaseId);
  const beat = (at: number, named: readonly string[] = []) => leases.missing(named, { at, beatMs: 5_000 });
  // It waits behind what the worker does not read.
  for (let at = 0; at <= 60_000; at += 3_000) expect(beat(at)).toEqual([]);
  isSent();
  expect(beat(63_000)).toEqual([]);
  expect(beat(66_000)).toEqual([]);
  expect(beat(69_000, [leaseId])).toEqual([]);
  expect(beat(72_000)).toEqual([]);
  expect(beat(73_000)).toEqual([]);
  // Three beats, but in quick succession.
  expect(beat(74_000)).toEqual([]);
  expect(beat(77_000)).toEqual([leaseId]);
  expect(leases.takeUnnamed(new Map(), [leaseId])).toHaveLength(1);
  // Once.
  expect(beat(80_000)).toEqual([]);
});

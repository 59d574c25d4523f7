/**
 * A failover that lost the last second also lost the number of a worker's newest stream (hazard 43). The stream goes on, and its home
 * still finds what was claimed for the worker and never reached it (LEASE-11).
 */
import type { WorkerId } from '@carillon/domain';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { RawStreams } from './raw-stream.fixture.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };

let home: WorkerHomeFixture;
let streams: RawStreams;
beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  streams = new RawStreams((await home.listen()).address);
});
afterEach(async () => {
  streams.close();
  await home.close();
});

test('a claim whose answer was lost is given back, though the storage has forgotten the stream', async () => {
  const identity = { workerId: newId(), bootId: newId() };
  const { members } = home.storage;
  const find = async () =>
    (await members.workers()).find(({ workerId }) => workerId.startsWith(identity.workerId));
  const first = await streams.connected({ ...identity, session: 1 });
  await eventually(() => home.workerId(), SOON);
  first.close();
  await eventually(() => expect(home.link.workers()).toEqual([]), SOON);
  const before = await find();
  const stream = await streams.connected({ ...identity, session: 2 });
  const workerId = (await eventually(() => home.workerId(), SOON)) as WorkerId;
  // The promoted database has the row as it was before the second hello.
  await members.forgetWorkers([workerId]);
  await members.registerWorker({ ...before!, handlers: ['quick'] }, home.clock.now());
  expect((await find())?.session).toBe(1);
  const { jobs } = await home.claim('quick');
  let sequence = 0;
  await eventually(async () => {
    sequence += 1;
    stream.say({ beat: { sequence } });
    expect(await home.statuses(jobs[0]!)).toEqual(['QUEUED', 'RETURNED']);
  }, SOON);
  expect((await find())?.session).toBe(2);
});

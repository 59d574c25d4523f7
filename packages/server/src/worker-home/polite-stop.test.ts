/**
 * A worker is told to stop (SIGTERM) while its home claims a run for it. The run goes to others at once: it is neither started by a worker
 * that has said its last word, nor kept under the lease of a worker that is gone (LEASE-15).
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { RawStreams } from './raw-stream.fixture.ts';
import { SHAPES, WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };

let home: WorkerHomeFixture;
beforeEach(async () => {
  home = await WorkerHomeFixture.open();
});
afterEach(() => home.close());

/** As the dispatcher does it: reserves, claims, hands over if the worker is still there. */
async function claimUnderWay() {
  const [view] = home.link.workers();
  const { batch, jobs } = await home.claim('effect');
  home.link.reserve(view!.workerId, 1);
  const answer = () => {
    if (home.link.workers().includes(view!)) home.link.hand(batch);
    else home.link.unreserve(view!.workerId, 1);
  };
  return { job: jobs[0]!, workerId: view!.workerId, answer };
}

const isKnown = async (workerId: string) =>
  (await home.storage.members.workers()).some((worker) => worker.workerId === workerId);

for (const shape of SHAPES) {
  test(`${shape}: a claim that is answered when the worker stops is given back`, async () => {
    const effect = vi.fn();
    const stop = await home.start(shape, { effect });
    await eventually(() => home.workerId(), SOON);
    const { job, workerId, answer } = await claimUnderWay();
    const stopped = stop();
    answer();
    await stopped;
    expect(await home.statuses(job)).toEqual(['QUEUED', 'RETURNED']);
    expect(effect).not.toHaveBeenCalled();
    expect(await isKnown(workerId)).toBe(false);
  });
}

test('at the end of a stream: a claim that is answered when the worker has said its last word is given back', async () => {
  const effect = vi.fn();
  const stop = await home.start('at the end of a stream', { effect });
  await eventually(() => home.workerId(), SOON);
  const { job, workerId, answer } = await claimUnderWay();
  const stopped = stop();
  // Its home knows that it leaves, and waits for the claim.
  await eventually(() => expect(home.freeSlots()).toEqual([0]), SOON);
  answer();
  await stopped;
  expect(await home.statuses(job)).toEqual(['QUEUED', 'RETURNED']);
  expect(effect).not.toHaveBeenCalled();
  expect(await isKnown(workerId)).toBe(false);
});

test('what a worker was assigned, and never heard of before its last word, is given back', async () => {
  const streams = new RawStreams((await home.listen()).address);
  const identity = { workerId: newId(), bootId: newId() };
  const stream = await streams.connected({
    ...identity,
    offer: { slots: 4, handlers: [{ name: 'effect' }] },
  });
  const workerId = await eventually(() => home.workerId(), SOON);
  const { jobs } = await home.hand('effect', { count: 3 });
  stream.say({ capacity: { slots: 4, draining: true } });
  stream.say({ leave: true });
  await stream.untilEnded();
  for (const job of jobs) expect(await home.statuses(job)).toEqual(['QUEUED', 'RETURNED']);
  expect(await isKnown(workerId)).toBe(false);
  streams.close();
});

test('so is what was claimed for it and lost on its way', async () => {
  const streams = new RawStreams((await home.listen()).address);
  const stream = await streams.connected();
  const workerId = await eventually(() => home.workerId(), SOON);
  const { jobs } = await home.claim('quick');
  stream.say({ leave: true });
  await stream.untilEnded();
  expect(await home.statuses(jobs[0]!)).toEqual(['QUEUED', 'RETURNED']);
  expect(await isKnown(workerId)).toBe(false);
  streams.close();
});

test('the stream of a worker that takes nothing more may break: it keeps its runs', async () => {
  const streams = new RawStreams((await home.listen()).address);
  const stream = await streams.connected();
  const workerId = await eventually(() => home.workerId(), SOON);
  const { jobs } = await home.hand('quick');
  stream.say({ capacity: { slots: 4, draining: true } });
  await eventually(() => expect(home.freeSlots()).toEqual([0]), SOON);
  stream.close();
  await eventually(() => expect(home.link.workers()).toEqual([]), SOON);
  expect(await home.statuses(jobs[0]!)).toEqual(['CLAIMED']);
  expect(await isKnown(workerId)).toBe(true);
  streams.close();
});

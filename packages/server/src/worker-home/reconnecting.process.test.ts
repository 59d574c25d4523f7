/**
 * A worker that dials again while something is under way: a lease that had arrived in part, a home that still knows its older stream, a
 * drain that was asked for elsewhere, two hellos at once.
 */
import type { ClaimedBatch, Job, WorkerId } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { type RawStream, RawStreams } from './raw-stream.fixture.ts';
import { SILENT_MS, WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };
/** Their streams need no beats while a test lasts. */
const PATIENT_MS = 600_000;

let home: WorkerHomeFixture;
let streams: RawStreams;
let identity: { workerId: string; bootId: string };

beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  streams = await listen();
  identity = { workerId: newId(), bootId: newId() };
});

afterEach(async () => {
  streams.close();
  await home.close();
});

const listen = async (silentMs = PATIENT_MS) => new RawStreams((await home.listen({ silentMs })).address);
const listed = async () =>
  (await home.storage.members.workers()).find(({ workerId }) => workerId.startsWith(identity.workerId));
const attached = () => eventually(() => home.workerId(), SOON);
const detached = () => eventually(() => expect(home.link.workers()).toEqual([]), SOON);
const assigned = (stream: RawStream) => stream.heard.flatMap(({ assigns }) => assigns);
const namedId = () => `${identity.workerId}@server` as WorkerId;

/** Its connection is gone, without a word. */
async function cut(stream: RawStream): Promise<void> {
  stream.close();
  await detached();
}

const statuses = async ({ jobId }: Pick<Job, 'jobId'>) =>
  (await home.world.runsOf(jobId, home.clock.now())).map(({ status }) => status);

/** It waits again, as the attempt that it was. */
const givenBack = ({ jobId }: Pick<Job, 'jobId'>, why: string) =>
  eventually(async () => {
    const [waiting, returned, ...more] = await home.world.runsOf(jobId, home.clock.now());
    expect(more).toEqual([]);
    expect(waiting).toMatchObject({ status: 'QUEUED', attempt: 1 });
    expect(returned).toMatchObject({ attempt: 1, error: expect.stringContaining(why) });
  }, SOON);

const endOf = ({ leaseId, runs }: ClaimedBatch, position: number) => ({
  ended: [
    {
      ...{ leaseId, positions: [position], epochs: [runs[position]!.epoch] },
      ...{ startedAtMs: [1n], endedAtMs: [2n] },
    },
  ],
});

describe('a lease that arrived in part (LEASE-11)', () => {
  test('what the worker does not name of it is given back at once, without an attempt; the rest stays', async () => {
    const first = await streams.connected(identity);
    await attached();
    const { batch } = await home.hand('quick', { count: 3 });
    const { runs } = batch;
    await eventually(() => expect(assigned(first)).toHaveLength(1), SOON);
    await cut(first);
    const next = await streams.connected({
      ...{ ...identity, session: 2, executing: 1 },
      heldRuns: [{ leaseId: batch.leaseId, positions: [1] }],
    });
    expect((await next.welcomed()).unknownLeases).toEqual([]);
    for (const lost of [0, 2]) await givenBack(runs[lost]!, 'the run never reached its worker');
    expect(await statuses(runs[1]!)).toEqual(['CLAIMED']);
    next.say({ ...endOf(batch, 1), slotsFreed: 1n });
    await eventually(async () => expect(await statuses(runs[1]!)).toEqual(['SUCCESS']), SOON);
    expect(home.freeSlots()).toEqual([4]);
  });
});

describe('a home that its worker has left (hazard 14)', () => {
  test('a stream that breaks is not a worker that leaves: the worker stays known', async () => {
    await cut(await streams.connected(identity));
    expect(await listed()).toMatchObject({ alive: true, session: 1 });
    await streams.connected({ ...identity, session: 2 });
    await attached();
  });

  test('a worker that says that it leaves, and ends its stream, is forgotten', async () => {
    const stream = await streams.connected(identity);
    await attached();
    stream.say({ capacity: { draining: true } });
    stream.frames.end();
    await stream.untilEnded();
    await eventually(async () => expect(await listed()).toBeUndefined(), SOON);
  });

  test('the end of its older stream does not make the other home lose it', async () => {
    const older = await streams.connected(identity);
    await attached();
    const elsewhere = await listen();
    const newer = await elsewhere.connected({ ...identity, session: 2 });
    // As a home reads it that stood still: the worker had said on this stream that it leaves.
    older.say({ capacity: { draining: true } });
    older.frames.end();
    await older.untilEnded();
    newer.say({ beat: { sequence: 1 } });
    await eventually(() => expect(newer.heard.at(-1)?.beatAnswer?.sequence).toBe(1), SOON);
    expect(newer.heard.at(-1)?.beatAnswer?.buried).toBe(false);
    expect(await listed()).toMatchObject({ alive: true, session: 2 });
    elsewhere.close();
  });

  test('gives back nothing that the worker was handed by its next home', async () => {
    const homes = [await listen(SILENT_MS), await listen(SILENT_MS)];
    const older = await homes[0]!.connected(identity);
    await attached();
    const newer = await homes[1]!.connected({ ...identity, session: 2 });
    await attached();
    const { batch, jobs } = await home.hand('quick');
    await eventually(() => expect(assigned(newer)).toHaveLength(1), SOON);
    // Both homes search for leases that never arrived, also for this one when it is old enough.
    const { calls } = home.members.breakage;
    let searches: number | undefined;
    let sequence = 0;
    await eventually(() => {
      sequence += 1;
      for (const stream of [older, newer])
        stream.say({ beat: { sequence, heldLeases: stream === newer ? [batch.leaseId] : [] } });
      home.signals.send('cancel-requested', { runIds: [] });
      expect(home.clock.now() - batch.claimedAtMs).toBeGreaterThan(SILENT_MS / 2);
      searches ??= calls.unreceivedRuns ?? 0;
      expect(calls.unreceivedRuns ?? 0).toBeGreaterThanOrEqual(searches + 12);
    }, SOON);
    expect([older.hasEnded, newer.hasEnded]).toEqual([false, false]);
    expect(await home.statuses(jobs[0]!)).toEqual(['CLAIMED']);
    for (const each of homes) each.close();
  });
});

describe('a worker that was asked to drain (hazard 22)', () => {
  const answered = (stream: RawStream, sequence: number) =>
    eventually(() => {
      const answer = stream.heard.find(({ beatAnswer }) => beatAnswer?.sequence === sequence)?.beatAnswer;
      if (!answer) throw new Error(`beat ${sequence} is not answered`);
      return answer;
    }, SOON);

  test('learns it from the answer to its beat, from every welcome, and so that it is over', async () => {
    const stream = await streams.connected(identity);
    expect((await stream.welcomed()).draining).toBe(false);
    await home.storage.members.drainWorker(namedId(), true);
    stream.say({ beat: { sequence: 1 } });
    expect((await answered(stream, 1)).draining).toBe(true);
    const elsewhere = await listen();
    const next = await elsewhere.connected({ ...identity, session: 2 });
    expect((await next.welcomed()).draining).toBe(true);
    await eventually(() => expect(home.freeSlots()).toEqual([0]), SOON);
    await home.storage.members.drainWorker(namedId(), false);
    next.say({ beat: { sequence: 1 } });
    expect((await answered(next, 1)).draining).toBe(false);
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
    elsewhere.close();
  });

  test('drains under a new id too, when it says so', async () => {
    const stream = await streams.connected({ ...identity, askedToDrain: true });
    expect((await stream.welcomed()).draining).toBe(true);
    expect(await listed()).toMatchObject({ draining: true });
    await eventually(() => expect(home.freeSlots()).toEqual([0]), SOON);
  });
});

describe('two hellos of one worker at once', () => {
  /** Holds back answers of the storage, each until the test lets it through. */
  function hold(method: 'registerWorker' | 'beatWorker'): (() => void)[] {
    const { members } = home.storage;
    const call = members[method].bind(members) as (...given: unknown[]) => Promise<unknown>;
    const held: (() => void)[] = [];
    Object.assign(members, {
      [method]: async (...given: unknown[]) => {
        const answer = await call(...given);
        await new Promise<void>((resolve) => held.push(resolve));
        return answer;
      },
    });
    return held;
  }

  test.each(['registerWorker', 'beatWorker'] as const)(
    'the later one counts, also when the answer of %s to the older one comes last; the worker gets work',
    async (method) => {
      const answers = hold(method);
      const older = streams.open();
      older.hello(identity);
      await eventually(() => expect(answers).toHaveLength(1), SOON);
      const newer = streams.open();
      newer.hello({ ...identity, session: 2 });
      await eventually(() => expect(answers).toHaveLength(2), SOON);
      answers[1]!();
      await newer.welcomed();
      await attached();
      answers[0]!();
      await older.untilEnded();
      expect(older.heard.some(({ welcome }) => welcome)).toBe(false);
      const { batch } = await home.hand('quick');
      await eventually(() => expect(assigned(newer)).toHaveLength(1), SOON);
      expect(newer.goodbye).toBeUndefined();
      newer.say({ ...endOf(batch, 0), slotsFreed: 1n });
      await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
    },
  );

  test('an older one whose connection is gone by then takes nothing from the later one', async () => {
    const answers = hold('beatWorker');
    const older = streams.open();
    older.hello(identity);
    await eventually(() => expect(answers).toHaveLength(1), SOON);
    older.close();
    const newer = streams.open();
    newer.hello({ ...identity, session: 2 });
    await eventually(() => expect(answers).toHaveLength(2), SOON);
    for (const answer of answers) answer();
    await newer.welcomed();
    await attached();
    await older.untilEnded();
    await home.hand('quick');
    await eventually(() => expect(assigned(newer)).toHaveLength(1), SOON);
  });

  test('one that the storage could not open leaves nothing behind, and the next is welcome', async () => {
    home.leases.breakage.down = true;
    const failed = streams.open();
    failed.hello({ ...identity, heldRuns: [{ leaseId: newId(), positions: [0] }] });
    await failed.untilEnded();
    expect(failed.goodbye).toMatchObject({ dialAgain: true });
    home.leases.breakage.down = false;
    await streams.connected({ ...identity, session: 2 });
    await attached();
  });
});

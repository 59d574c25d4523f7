/** What no worker can truthfully say ends the stream of who says it, with the reason; the storage and other workers never see it. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { protocol as P } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import type { SaidByBeat } from '../storage/member-store.ts';
import { type RawStream, RawStreams } from './raw-stream.fixture.ts';
import { readHello } from './read-hello.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };
const UINT32_MAX = 2 ** 32 - 1;
const INT32_MAX = 2 ** 31 - 1;
const UINT64_MAX = 2n ** 64n - 1n;

let home: WorkerHomeFixture;
let streams: RawStreams;
let recorded: SaidByBeat[];

/** As a database does whose columns hold 32 bits: one number beyond them fails the statement, and all that it was for. */
function recordAsIntegers(said: readonly SaidByBeat[]): void {
  recorded.push(...said);
  if (said.some(({ stuck = 0, session = 0 }) => Math.max(stuck, session) > INT32_MAX))
    throw new Error('value is out of range for type integer');
}

beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  recorded = [];
  const { members } = home.storage;
  const [beatWorker, beatWorkers] = [members.beatWorker.bind(members), members.beatWorkers.bind(members)];
  members.beatWorker = async (workerId, nowMs, said = {}) => {
    recordAsIntegers([said]);
    return beatWorker(workerId, nowMs, said);
  };
  members.beatWorkers = async (beats, nowMs) => {
    recordAsIntegers(beats);
    return beatWorkers(beats, nowMs);
  };
  streams = new RawStreams((await home.listen()).address);
});

afterEach(async () => {
  streams.close();
  await home.close();
});

const answered = (stream: RawStream) => stream.heard.map(({ beatAnswer }) => beatAnswer?.sequence);

async function ended(stream: RawStream): Promise<P.Goodbye | undefined> {
  await stream.untilEnded();
  return stream.goodbye;
}

test('many workers with a number that no database column holds harm no worker beside them', async () => {
  const liars = await Promise.all(Array.from({ length: 20 }, () => streams.connected()));
  const honest = await streams.connected();
  for (const liar of liars) liar.say({ beat: { sequence: 1, stuck: UINT32_MAX } });
  honest.say({ beat: { sequence: 1, stuck: 1 } });
  await eventually(() => expect(answered(honest)).toContain(1), SOON);
  for (const liar of liars)
    expect(await ended(liar)).toMatchObject({ dialAgain: true, reason: expect.stringContaining('stuck') });
  honest.say({ beat: { sequence: 2 } });
  await eventually(() => expect(answered(honest)).toContain(2), SOON);
  expect(honest.hasEnded).toBe(false);
  expect(recorded.filter(({ stuck = 0 }) => stuck > 1)).toEqual([]);
});

describe('a frame ends the stream with the reason', () => {
  const run = () => ({ leaseId: newId(), position: 0, epoch: 1 });
  const end = (over: MessageInitShape<typeof P.EndedSchema>) => ({
    ended: [
      {
        ...{ leaseId: newId(), positions: [0], epochs: [1], startedAtMs: [1n], endedAtMs: [2n] },
        ...(over as object),
      },
    ],
  });

  test.each<[string, MessageInitShape<typeof P.SessionRequestSchema>, string]>([
    ['stuck handlers', { beat: { sequence: 1, stuck: 10_001 } }, 'stuck'],
    ['a lease of a beat', { beat: { sequence: 1, heldLeases: ['mine'] } }, 'UUID'],
    ['a lease of a start', { started: [{ ...run(), leaseId: 'x'.repeat(1_000_000) }] }, 'UUID'],
    ['a position of a start', { started: [{ ...run(), position: 32_768 }] }, 'position'],
    ['an epoch of a start', { started: [{ ...run(), epoch: INT32_MAX + 1 }] }, 'epoch'],
    ['a lease of ends', end({ leaseId: '' }), 'UUID'],
    ['a position of ends', end({ positions: [UINT32_MAX] }), 'position'],
    ['an epoch of ends', end({ epochs: [UINT32_MAX] }), 'epoch'],
    ['a position of an outcome', end({ outcomes: [{ position: UINT32_MAX }] }), 'position'],
    ['a lease of output', { outputs: [{ ...run(), leaseId: 'A'.repeat(36) }] }, 'UUID'],
    ['a position of progress', { progress: [{ ...run(), position: UINT32_MAX }] }, 'position'],
    ['an epoch of a checkpoint', { checkpoints: [{ ...run(), epoch: UINT32_MAX }] }, 'epoch'],
    ['the offset of a part', { resultParts: [{ ...run(), offset: UINT64_MAX }] }, 'result'],
    ['the length of a result', { resultParts: [{ ...run(), bytesTotal: UINT64_MAX }] }, 'result'],
    ['freed slots', { slotsFreed: UINT64_MAX }, 'slots'],
    ['added slots', { capacity: { slots: UINT32_MAX } }, 'slots'],
  ])('for %s beyond its bounds', async (_, message, reason) => {
    const other = await streams.connected();
    const stream = await streams.connected();
    stream.say(message);
    expect(await ended(stream)).toMatchObject({ dialAgain: true, reason: expect.stringContaining(reason) });
    expect(other.hasEnded).toBe(false);
  });

  test('and not for what lies just within them', async () => {
    const stream = await streams.connected();
    const last = { leaseId: newId(), position: 32_767, epoch: INT32_MAX };
    stream.say({ started: [last], progress: [last], ...end({ positions: [32_767], epochs: [INT32_MAX] }) });
    stream.say({ beat: { sequence: UINT32_MAX, stuck: 10_000, heldLeases: [newId()] } });
    await eventually(() => expect(answered(stream)).toContain(UINT32_MAX), SOON);
    expect(stream.hasEnded).toBe(false);
  });
});

describe('a hello', () => {
  const offer = { slots: 1, handlers: [{ name: 'quick' }] };
  const read = (over: MessageInitShape<typeof P.HelloSchema>) =>
    readHello(
      create(P.SessionRequestSchema, {
        hello: { protocol: 1, workerId: newId(), bootId: newId(), session: 1, offer, ...(over as object) },
      }),
      'key',
    );

  test.each<[string, MessageInitShape<typeof P.HelloSchema>, string]>([
    ['a session', { session: INT32_MAX + 1 }, 'session'],
    ['executing runs', { executing: 10_001 }, 'executing'],
    ['slots', { offer: { ...offer, slots: UINT32_MAX } }, 'slots'],
    ['a position', { heldRuns: [{ leaseId: newId(), positions: [32_768] }] }, 'position'],
  ])('with %s beyond its bounds is refused', (_, over, reason) => {
    expect(() => read(over)).toThrow(reason);
  });

  test('with the largest numbers that can be true is read', () => {
    expect(read({ session: INT32_MAX, executing: 10_000 })).toMatchObject({
      ...{ session: INT32_MAX, executing: 10_000 },
    });
  });

  test.each([1, 400, 10_000])('of a worker with %i slots names as many leases as it can hold', (slots) => {
    const most = Math.max(2_000, 4 * slots);
    const held = (count: number) => ({
      offer: { ...offer, slots },
      heldRuns: Array.from({ length: count }, () => ({ leaseId: newId(), positions: [0] })),
    });
    expect(read(held(most)).heldRuns.size).toBe(most);
    expect(() => read(held(most + 1))).toThrow(`held_runs are at most ${most} entries`);
  });
});

describe('the leases that a beat names', () => {
  const ids = (count: number) => Array.from({ length: count }, () => newId());
  const offer = { slots: 2, handlers: [{ name: 'quick' }] };

  test('beyond what the worker can hold end its stream, before the storage is asked about them', async () => {
    const other = await streams.connected();
    const stream = await streams.connected({ offer });
    const asked = home.leases.breakage.calls.leasedBy ?? 0;
    stream.say({ beat: { sequence: 1, heldLeases: ids(3) } });
    expect(await ended(stream)).toMatchObject({
      dialAgain: true,
      reason: expect.stringContaining('names 3 leases, and can hold at most 2'),
    });
    expect(home.leases.breakage.calls.leasedBy ?? 0).toBe(asked);
    expect(other.hasEnded).toBe(false);
  });

  test('may be all of its hello, all that it was assigned, and one for each slot', async () => {
    const held = ids(5);
    const stream = await streams.connected({
      ...{ offer, heldRuns: held.map((leaseId) => ({ leaseId, positions: [0] })) },
    });
    await eventually(() => home.workerId(), SOON);
    const { batch } = await home.hand('quick');
    await eventually(() => expect(stream.heard.some(({ assigns }) => assigns.length > 0)).toBe(true), SOON);
    const all = [...held, batch.leaseId, ...ids(2)];
    stream.say({ beat: { sequence: 1, heldLeases: all } });
    await eventually(() => expect(answered(stream)).toContain(1), SOON);
    stream.say({ beat: { sequence: 2, heldLeases: [...all, newId()] } });
    expect((await ended(stream))?.reason).toContain('can hold at most 8');
  });

  test('may still be those that this server has settled: the worker may not have heard it', async () => {
    const stream = await streams.connected({ offer: { ...offer, slots: 1 } });
    const settled: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      await eventually(() => home.workerId(), SOON);
      const { batch } = await home.hand('quick');
      const [run] = batch.runs;
      settled.push(batch.leaseId);
      stream.say({
        ended: [
          {
            ...{ leaseId: batch.leaseId, positions: [0], epochs: [run!.epoch] },
            ...{ startedAtMs: [1n], endedAtMs: [2n] },
          },
        ],
        slotsFreed: BigInt(i + 1),
      });
      await eventually(() => expect(stream.settled).toHaveLength(i + 1), SOON);
    }
    stream.say({ beat: { sequence: 1, heldLeases: settled } });
    await eventually(() => expect(answered(stream)).toContain(1), SOON);
    expect(stream.hasEnded).toBe(false);
  });
});

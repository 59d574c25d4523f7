/** What a stream of a worker costs the server when the worker says more than it has reason to. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Caller, Refusal, SERVER, WORKER_SCOPES } from '@carillon/domain';
import { protocol as P, type RunChannel } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { type RawStream, RawStreams } from './raw-stream.fixture.ts';
import { readHello } from './read-hello.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };

let home: WorkerHomeFixture;
let streams: RawStreams;
let saving: number;
let savingMost: number;
let saved: Promise<void>;

const CHANNEL: RunChannel = {
  output: () => undefined,
  progress: () => undefined,
  saveCheckpoint: async () => {
    saving += 1;
    savingMost = Math.max(savingMost, saving);
    await saved;
    saving -= 1;
  },
  close: () => undefined,
};

beforeEach(async () => {
  saving = 0;
  savingMost = 0;
  saved = Promise.resolve();
  home = await WorkerHomeFixture.open({ channel: CHANNEL });
  streams = new RawStreams((await home.listen()).address);
});

afterEach(async () => {
  streams.close();
  await home.close();
});

describe('beats', () => {
  test('are recorded one at a time, and the last of them is answered', async () => {
    const stream = await streams.connected();
    const { members } = home.storage;
    const beatWorker = members.beatWorker.bind(members);
    let recording = 0;
    let most = 0;
    members.beatWorker = async (...given) => {
      recording += 1;
      most = Math.max(most, recording);
      await new Promise((resolve) => setImmediate(resolve));
      const answer = await beatWorker(...given);
      recording -= 1;
      return answer;
    };
    const count = 12;
    for (let sequence = 1; sequence <= count; sequence += 1) stream.say({ beat: { sequence } });
    const answered = () => stream.heard.flatMap(({ beatAnswer }) => beatAnswer?.sequence ?? []);
    await eventually(() => expect(answered().at(-1)).toBe(count), SOON);
    expect(most).toBe(1);
    expect(answered().length).toBeLessThan(count);
    expect(stream.hasEnded).toBe(false);
  });

  test('that cannot be recorded are told once in the log of the server, until one is', async () => {
    const stream = await streams.connected();
    const told = () => home.warnings.filter((warning) => warning.includes('beat of a worker'));
    const { breakage } = home.members;
    const failing = async () => {
      breakage.down = true;
      const before = breakage.calls.beatWorker ?? 0;
      for (let sequence = 1; sequence <= 6; sequence += 1) stream.say({ beat: { sequence } });
      await eventually(() => expect(breakage.calls.beatWorker).toBeGreaterThan(before + 2), SOON);
      breakage.down = false;
    };
    await failing();
    expect(told()).toHaveLength(1);
    stream.say({ beat: { sequence: 100 } });
    const answered = () => stream.heard.map(({ beatAnswer }) => beatAnswer?.sequence);
    await eventually(() => expect(answered()).toContain(100), SOON);
    await failing();
    expect(told()).toHaveLength(2);
  });
});

test('checkpoints on their way to the storage are bounded, and all are answered', async () => {
  const stream = await streams.connected();
  await eventually(() => home.workerId(), SOON);
  const { batch } = await home.hand('quick');
  const { leaseId, runs } = batch;
  const { position, epoch } = runs[0]!;
  let release = () => {};
  saved = new Promise((resolve) => {
    release = resolve;
  });
  const count = 200;
  stream.say({
    checkpoints: Array.from({ length: count }, (_, i) => ({
      ...{ leaseId, position, epoch, sequence: i + 1, value: '1' },
    })),
  });
  await eventually(() => expect(saving).toBeGreaterThan(0), SOON);
  release();
  const answers = () => stream.heard.flatMap(({ checkpointAnswers }) => checkpointAnswers);
  await eventually(() => expect(answers()).toHaveLength(count), SOON);
  expect(savingMost).toBeLessThanOrEqual(16);
});

test('a worker that does not read its stream is given nothing more, and its stream is closed', async () => {
  streams.address = (await home.listen({ streamsMax: 1 })).address;
  const stream = await streams.connected();
  await eventually(() => home.workerId(), SOON);
  stream.stopReading();
  const ended = Array.from({ length: 500 }, () => ({
    ...{ leaseId: newId(), positions: [0], epochs: [1], startedAtMs: [0n], endedAtMs: [0n] },
  }));
  let sequence = 0;
  await eventually(() => {
    sequence += 1;
    stream.say({ beat: { sequence } });
    for (let i = 0; i < 10; i += 1) stream.say({ ended });
    expect(home.warnings).toContain('a worker broke the protocol; its stream was ended');
  }, SOON);
  await eventually(() => expect(home.link.workers()).toEqual([]), SOON);
  // Its place is free, though it never read the goodbye.
  await eventually(async () => {
    const next = streams.open();
    next.hello();
    await eventually(() => expect(next.heard).not.toEqual([]), SOON);
    expect(next.goodbye).toBeUndefined();
  }, SOON);
});

describe('a stream ends', () => {
  const broken = async (stream: RawStream) => {
    await stream.untilEnded();
    return stream.goodbye?.reason;
  };

  test('when a message holds more than a worker has to say', async () => {
    const stream = await streams.connected();
    stream.say({ outputs: Array.from({ length: 100_000 }, () => ({})) });
    await broken(stream);
    expect(home.warnings).toContain('a worker broke the protocol; its stream was ended');
    const greeting = streams.open();
    greeting.hello({ heldRuns: Array.from({ length: 100_000 }, () => ({})) });
    await broken(greeting);
    expect(greeting.heard.some(({ welcome }) => welcome)).toBe(false);
  });

  test('when it says too much of leases that it does not hold, in messages of any size', async () => {
    const [large, small] = [await streams.connected(), await streams.connected()];
    large.say({ progress: Array.from({ length: 20_000 }, () => ({ leaseId: newId() })) });
    for (let i = 0; i < 500; i += 1) small.say({ progress: [{ leaseId: newId() }] });
    for (const stream of [large, small]) expect(await broken(stream)).toContain('not the worker’s');
  });

  test('not when it speaks for a while of what was taken from it', async () => {
    const stream = await streams.connected();
    const leaseId = newId();
    for (let i = 0; i < 500; i += 1) stream.say({ progress: [{ leaseId }] });
    stream.say({ beat: { sequence: 7 } });
    const answered = () => stream.heard.map(({ beatAnswer }) => beatAnswer?.sequence);
    await eventually(() => expect(answered()).toContain(7), SOON);
    expect(stream.hasEnded).toBe(false);
  });
});

describe('a hello', () => {
  const hello = (over: MessageInitShape<typeof P.HelloSchema>) =>
    create(P.SessionRequestSchema, {
      hello: {
        ...{ protocol: 1, workerId: newId(), bootId: newId(), session: 1 },
        offer: { slots: 10_000, handlers: [{ name: 'quick' }] },
        ...(over as object),
      },
    });

  test('that names one lease many times is read in one pass', () => {
    const leaseId = newId();
    const heldRuns = Array.from({ length: 40_000 }, (_, i) => ({
      ...{ leaseId, positions: [i % 30_000, (i % 30_000) + 1] },
    }));
    expect(readHello(hello({ heldRuns }), 'key').heldRuns.get(leaseId)?.size).toBe(30_001);
  });

  test.each([
    ['entries', Array.from({ length: 40_001 }, () => ({ leaseId: newId() }))],
    ['runs', [{ leaseId: newId(), positions: Array.from({ length: 100_001 }, () => 0) }]],
  ])('with too many %s is refused', (_, heldRuns) => {
    expect(() => readHello(hello({ heldRuns }), 'key')).toThrow('held_runs are at most');
  });
});

describe('a key', () => {
  const worker = (namespaces: readonly string[], offers: readonly string[]): Caller => ({
    ...{ kind: 'key', id: 'key-1', name: 'w', userId: undefined, origin: SERVER.origin, offers },
    grants: namespaces.map((namespace) => ({ namespace, role: 'admin', ownOnly: false })),
    scopes: WORKER_SCOPES,
  });

  test('keeps its streams while nobody can tell whether it is still good (hazard 28)', async () => {
    const { address } = await home.listen({ caller: worker(['a'], ['quick']), recogniseMs: 0 });
    streams.address = address;
    const stream = await streams.connected();
    home.refusedNow = new StorageUnavailable('away');
    for (let sequence = 1; sequence <= 3; sequence += 1) {
      stream.say({ beat: { sequence } });
      await eventually(() => expect(stream.heard.at(-1)?.beatAnswer?.sequence).toBe(sequence), SOON);
    }
    expect(stream.hasEnded).toBe(false);
    home.refusedNow = new Refusal('unauthorized', 'The key has expired.');
    stream.say({ beat: { sequence: 4 } });
    await stream.untilEnded();
    expect(stream.goodbye?.reason).toBe('the key is refused: The key has expired.');
  });

  test('that could not be judged is judged at the next beat, not when the next look is due', async () => {
    let aheadMs = 0;
    const clock = { ...home.clock, monotonic: () => home.clock.monotonic() + aheadMs };
    const recogniseMs = 3_600_000;
    const { address } = await home.listen({ caller: worker(['a'], ['quick']), recogniseMs, clock });
    streams.address = address;
    const stream = await streams.connected();
    home.refusedNow = new StorageUnavailable('away');
    aheadMs = recogniseMs;
    // The answer to the second says that the key was looked at with the first.
    for (let sequence = 1; sequence <= 2; sequence += 1) {
      stream.say({ beat: { sequence } });
      await eventually(() => expect(stream.heard.at(-1)?.beatAnswer?.sequence).toBe(sequence), SOON);
    }
    home.refusedNow = new Refusal('unauthorized', 'The key has expired.');
    stream.say({ beat: { sequence: 3 } });
    await stream.untilEnded();
    expect(stream.goodbye?.reason).toBe('the key is refused: The key has expired.');
  });

  test.each([
    ['a namespace', worker(['a'], ['quick'])],
    ['a handler', worker(['a', 'b'], ['other'])],
  ])('that may not serve %s any more has its streams sent away', async (_, less) => {
    const { address } = await home.listen({ caller: worker(['a', 'b'], ['quick']), recogniseMs: 0 });
    streams.address = address;
    const stream = await streams.connected();
    stream.say({ beat: { sequence: 1 } });
    await eventually(() => expect(stream.heard.at(-1)?.beatAnswer?.sequence).toBe(1), SOON);
    expect(stream.hasEnded).toBe(false);
    home.callerNow = less;
    stream.say({ beat: { sequence: 2 } });
    await stream.untilEnded();
    expect(stream.goodbye).toMatchObject({
      dialAgain: true,
      reason: expect.stringContaining('fewer permissions'),
    });
  });

  test.each([
    ['namespace', { makerId: undefined, totalMax: 8, words: 'for the namespace a' }],
    ['maker', { makerId: 'ann', totalMax: 5, words: 'with keys of one person' }],
  ])('shares its place with the other keys of its %s', async (_, { makerId, totalMax, words }) => {
    streams.address = (await home.listen({ streamsMax: 2, totalMax })).address;
    const key = (id: string): Caller => ({
      ...worker(makerId === undefined ? ['a', id] : [id], ['quick']),
      credential: { kind: 'key', id, name: id, makerId, expiresAtMs: undefined },
    });
    const opened = async (now: Caller) => {
      home.callerNow = now;
      const stream = streams.open();
      stream.hello();
      await eventually(() => expect(stream.heard).not.toEqual([]), SOON);
      return stream.goodbye?.reason;
    };
    for (const id of ['one', 'two', 'three']) expect(await opened(key(id))).toBeUndefined();
    expect(await opened(key('four'))).toContain(`3 workers are connected ${words} already`);
    expect(await opened(worker(['elsewhere'], ['quick']))).toBeUndefined();
  });

  test('has a bounded number of streams, and room again when one has ended', async () => {
    streams.address = (await home.listen({ streamsMax: 2 })).address;
    const first = await streams.connected();
    await streams.connected();
    const third = streams.open();
    third.hello();
    await third.untilEnded();
    expect(third.goodbye).toMatchObject({
      dialAgain: true,
      reason: expect.stringContaining('2 workers are connected with this key already'),
    });
    expect(third.goodbye?.afterMs).toBeGreaterThan(0);
    first.close();
    await eventually(async () => {
      const next = streams.open();
      next.hello();
      await eventually(() => expect(next.heard).not.toEqual([]), SOON);
      expect(next.goodbye).toBeUndefined();
    }, SOON);
  });
});

/** What a worker at the end of a stream may say, and what becomes of one that lies, repeats itself or sends garbage. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ClaimedBatch } from '@carillon/domain';
import { protocol as P, type RunChannel, requireCheckpoint } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { type RawStream, RawStreams } from './raw-stream.fixture.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };

let home: WorkerHomeFixture;
let said: string[];
let toldAt: number[];
let streams: RawStreams;

const CHANNEL: RunChannel = {
  output: ({ runId }, { stream, bytes, atMs }) => {
    toldAt.push(atMs);
    said.push(`${runId} ${stream} ${Buffer.from(bytes).toString()}`);
    return undefined;
  },
  progress: ({ runId }, { percent, message }) => void said.push(`${runId} ${percent} ${message}`),
  saveCheckpoint: async ({ runId }, value, sequence) => {
    requireCheckpoint(value);
    said.push(`${runId} saved ${value} as ${sequence}`);
  },
  close: ({ runId }) => void said.push(`${runId} closed`) as undefined,
};

beforeEach(async () => {
  said = [];
  toldAt = [];
  home = await WorkerHomeFixture.open({ channel: CHANNEL });
  streams = new RawStreams((await home.listen()).address);
});

afterEach(async () => {
  streams.close();
  await home.close();
});

const endOf = ({ leaseId, runs }: ClaimedBatch, over: MessageInitShape<typeof P.EndedSchema> = {}) => ({
  ended: [
    {
      leaseId,
      positions: runs.map(({ position }) => position),
      epochs: runs.map(({ epoch }) => epoch),
      startedAtMs: runs.map(() => 1n),
      endedAtMs: runs.map(() => 2n),
      ...over,
    },
  ],
});

const connected: RawStreams['connected'] = (over) => streams.connected(over);

/** A worker with one run. */
async function working(): Promise<{
  stream: RawStream;
  batch: ClaimedBatch;
  status: () => Promise<string[]>;
}> {
  const stream = await connected();
  await eventually(() => home.workerId(), SOON);
  const { batch, jobs } = await home.hand('quick');
  await eventually(() => expect(stream.heard.some(({ assigns }) => assigns.length > 0)).toBe(true), SOON);
  return { stream, batch, status: () => home.statuses(jobs[0]!) };
}

describe('a worker that connects', () => {
  test('is known under its id and its key, so that no other key can be it', async () => {
    const workerId = newId();
    const stream = await connected({ workerId });
    expect((await stream.welcomed()).workerId).toBe(`${workerId}@server`);
  });

  test('needs a key', async () => {
    const stream = streams.open('wrong');
    stream.hello();
    await stream.untilEnded();
    expect(stream.heard).toEqual([]);
  });

  test.each([
    ['no hello', { beat: { sequence: 1 } }],
    ['an id that is none', { hello: { protocol: 1, workerId: 'me', bootId: newId() } }],
    ['an older protocol', { hello: { protocol: 0, workerId: newId(), bootId: newId() } }],
    ['no slots', { hello: { protocol: 1, workerId: newId(), bootId: newId(), offer: { slots: 0 } } }],
  ])('with %s is refused with the reason', async (_, message) => {
    const stream = streams.open();
    stream.say(message);
    await stream.untilEnded();
    expect(stream.goodbye?.reason).toMatch(/./);
    expect(home.link.workers()).toEqual([]);
  });

  test.each([
    ['name', { name: 'gpu\u001b[2J' }],
    ['name', { name: 'x'.repeat(500) }],
    ['version', { version: '1\n2' }],
    ['labels', { offer: { slots: 1, handlers: [{ name: 'quick' }], labels: { gpu: '\u0007' } } }],
  ])('whose %s cannot be shown in a line is refused with what is allowed', async (what, over) => {
    const stream = streams.open();
    stream.hello(over);
    await stream.untilEnded();
    expect(stream.goodbye).toMatchObject({ dialAgain: false });
    expect(stream.goodbye?.reason).toContain(`the ${what} `);
    expect(stream.goodbye?.reason).toMatch(/200 characters.* no control characters/);
    expect(home.link.workers()).toEqual([]);
  });

  test.each([['quick\n'], [''], ['two words'], ['-quick'], ['ä'], ['q'.repeat(101)]])(
    'with the handler %j, which no job can name, is refused for good',
    async (name) => {
      const stream = streams.open();
      stream.hello({ offer: { slots: 1, handlers: [{ name }] } });
      await stream.untilEnded();
      expect(stream.goodbye).toMatchObject({
        ...{ reason: expect.stringContaining('the name of a handler has 1 to 100'), dialAgain: false },
      });
    },
  );

  test('hazard 44: under the id of another process is refused while that one lives', async () => {
    const workerId = newId();
    const first = await connected({ workerId });
    const second = streams.open();
    second.hello({ workerId, session: 9 });
    await second.untilEnded();
    expect(second.goodbye?.reason).toContain('another process');
    expect(first.hasEnded).toBe(false);
  });

  test('again ends its older stream, and keeps its seat', async () => {
    const identity = { workerId: newId(), bootId: newId() };
    const older = await connected(identity);
    await connected({ ...identity, session: 2 });
    await older.untilEnded();
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
    const late = streams.open();
    late.hello({ ...identity, session: 1 });
    await late.untilEnded();
    expect(home.freeSlots()).toEqual([4]);
  });

  test('again elsewhere is told which leases are not its own any more', async () => {
    const identity = { workerId: newId(), bootId: newId() };
    const stream = await connected(identity);
    await eventually(() => home.workerId(), SOON);
    const { batch } = await home.hand('quick');
    stream.close();
    await eventually(() => expect(home.link.workers()).toEqual([]), SOON);
    const other = newId();
    const next = await connected({
      ...{ ...identity, session: 2, executing: 1 },
      heldRuns: [batch.leaseId, other].map((leaseId) => ({ leaseId, positions: [0] })),
    });
    expect((await next.welcomed()).unknownLeases).toEqual([other]);
    await eventually(() => expect(home.freeSlots()).toEqual([3]), SOON);
    next.say({ ...endOf(batch), slotsFreed: 1n });
    await eventually(() => expect(next.settled).toEqual([[0, P.Verdict.UNSPECIFIED]]), SOON);
    await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
  });

  test('says which payloads its handlers take', async () => {
    const parameters = '{"type":"object"}';
    await connected({ offer: { slots: 4, handlers: [{ name: 'quick', parameters }, { name: 'any' }] } });
    await eventually(() => expect(home.described).toEqual([{ name: 'quick', parameters }]), SOON);
  });

  test('is sent to another server when this one stops', async () => {
    const { address: here, close } = await home.listen();
    streams.address = here;
    const stream = await connected();
    await close();
    await stream.untilEnded();
    expect(stream.goodbye).toMatchObject({ dialAgain: true });
  });
});

describe('an end that is told', () => {
  test('is recorded once, however often it is told', async () => {
    const { stream, batch, status } = await working();
    stream.say(endOf(batch));
    stream.say(endOf(batch));
    await eventually(() => expect(stream.settled.length).toBeGreaterThan(0), SOON);
    stream.say(endOf(batch));
    await eventually(() => expect(stream.settled.at(-1)).toEqual([0, P.Verdict.STALE]), SOON);
    expect(await status()).toEqual(['SUCCESS']);
  });

  test('hazard 14: of a run that another worker holds, or of another epoch, is refused', async () => {
    const { batch, stream, status } = await working();
    const liar = await connected();
    liar.say(endOf(batch));
    await eventually(() => expect(liar.settled).toEqual([[0, P.Verdict.STALE]]), SOON);
    stream.say(endOf(batch, { epochs: [7] }));
    await eventually(() => expect(stream.settled).toEqual([[0, P.Verdict.STALE]]), SOON);
    expect(await status()).not.toContain('SUCCESS');
  });

  test('with a result that is not JSON is kept with a note instead', async () => {
    const { stream, batch } = await working();
    stream.say(endOf(batch, { outcomes: [{ position: 0, result: 'not json' }] }));
    await eventually(() => expect(stream.settled).toEqual([[0, P.Verdict.UNSPECIFIED]]), SOON);
    const [view] = await home.world.runsOf(batch.runs[0]!.jobId, home.clock.now());
    expect(view!.result).toContain('not JSON');
  });

  test('in columns of different lengths ends the stream, and nothing else', async () => {
    const { stream, batch, status } = await working();
    const other = await connected();
    stream.say(endOf(batch, { epochs: [] }));
    await stream.untilEnded();
    expect(stream.goodbye?.reason).toContain('columns');
    expect(other.hasEnded).toBe(false);
    expect(await status()).not.toContain('SUCCESS');
  });
});

describe('a run that failed on its way', () => {
  test('is recorded and never handed over; those beside it are', async () => {
    const stream = await connected();
    await eventually(() => home.workerId(), SOON);
    const { batch, jobs } = await home.claim('quick', { count: 3 });
    const failure = { kind: 'FAILED', error: 'there is no secret x any more', retryable: false } as const;
    const runs = batch.runs.map((run) => (run.position === 1 ? { ...run, payload: '{}', failure } : run));
    home.link.reserve(batch.workerId, runs.length);
    home.link.hand({ ...batch, runs });
    const assigned = () => stream.heard.flatMap(({ assigns }) => assigns);
    await eventually(() => expect(assigned()).toHaveLength(2), SOON);
    expect(assigned().map(({ firstPosition, runIds }) => [firstPosition, ...runIds])).toEqual([
      [0, runs[0]!.runId],
      [2, runs[2]!.runId],
    ]);
    const failed = jobs.find(({ jobId }) => jobId === runs[1]!.jobId)!;
    await eventually(async () => expect(await home.statuses(failed)).toEqual(['FAILED']), SOON);
    // Two of its four slots are in use.
    await eventually(() => expect(home.freeSlots()).toEqual([2]), SOON);
  });
});

describe('what a run says', () => {
  const about = ({ leaseId, runs: [run] }: ClaimedBatch) => ({
    leaseId,
    position: run!.position,
    epoch: run!.epoch,
  });

  test('reaches the channel before its end is recorded', async () => {
    const { stream, batch } = await working();
    const run = about(batch);
    const { runId } = batch.runs[0]!;
    stream.say({
      outputs: [{ ...run, bytes: Buffer.from('hello') }],
      progress: [{ ...run, percent: 250, message: 'half' }],
      checkpoints: [{ ...run, sequence: 3, value: '{"at":1}' }],
    });
    stream.say(endOf(batch));
    await eventually(() => expect(stream.settled).toHaveLength(1), SOON);
    expect(said).toEqual([
      `${runId} stdout hello`,
      `${runId} 100 half`,
      `${runId} saved {"at":1} as 3`,
      `${runId} closed`,
    ]);
    const answers = stream.heard.flatMap(({ checkpointAnswers }) => checkpointAnswers);
    expect(answers).toMatchObject([{ sequence: 3, error: '' }]);
    const taken = stream.heard.flatMap(({ outputsTaken }) => outputsTaken.map(({ bytes }) => bytes));
    expect(taken).toEqual([5n]);
  });

  test('is refused where it is larger than it may be, with the limit', async () => {
    const { stream, batch } = await working();
    const run = about(batch);
    const { runId } = batch.runs[0]!;
    stream.say({
      progress: [{ ...run, percent: 7, message: 'x'.repeat(300_000) }],
      checkpoints: [{ ...run, sequence: 1, value: JSON.stringify('ä'.repeat(131_072)) }],
    });
    stream.say(endOf(batch));
    await eventually(() => expect(stream.settled).toHaveLength(1), SOON);
    expect(said).toEqual([
      expect.stringMatching(`${runId} system The message of the progress has 300000 characters; at most 200`),
      `${runId} closed`,
    ]);
    const answers = stream.heard.flatMap(({ checkpointAnswers }) => checkpointAnswers);
    expect(answers).toMatchObject([
      { sequence: 1, error: expect.stringContaining('at most 262144 are kept') },
    ]);
  });

  test('after its end is not kept: its log is closed', async () => {
    const { stream, batch } = await working();
    const run = about(batch);
    stream.say({ outputs: [{ ...run, bytes: Buffer.from('in time') }] });
    stream.say(endOf(batch));
    stream.say({ outputs: [{ ...run, bytes: Buffer.from('late') }] });
    await eventually(() => expect(stream.settled).toHaveLength(1), SOON);
    const { runId } = batch.runs[0]!;
    expect(said).toEqual([`${runId} stdout in time`, `${runId} closed`]);
  });

  test('holds no secret of the run, also when the worker masks none', async () => {
    const stream = await connected();
    await eventually(() => home.workerId(), SOON);
    const { batch } = await home.claim('quick');
    const secrets = ['correct-horse'];
    home.link.reserve(batch.workerId, 1);
    home.link.hand({ ...batch, runs: batch.runs.map((run) => ({ ...run, secrets })) });
    await eventually(() => expect(stream.heard.some(({ assigns }) => assigns.length > 0)).toBe(true), SOON);
    const run = about(batch);
    stream.say({
      outputs: ['it is correct-', 'horse; cor'].map((text) => ({ ...run, bytes: Buffer.from(text) })),
      progress: [{ ...run, percent: 1, message: 'with correct-horse' }],
    });
    stream.say(endOf(batch, { outcomes: [{ position: 0, result: '{"key":"correct-horse"}' }] }));
    await eventually(() => expect(stream.settled).toHaveLength(1), SOON);
    const { runId, jobId } = batch.runs[0]!;
    expect(said).toEqual([
      `${runId} stdout it is `,
      `${runId} stdout ***; `,
      `${runId} 1 with ***`,
      `${runId} stdout cor`,
      `${runId} closed`,
    ]);
    const [view] = await home.world.runsOf(jobId, home.clock.now());
    expect(view!.result).toBe('{"key":"***"}');
  });

  test('has an instant between the claim and now, wherever the clock of the worker is', async () => {
    const { stream, batch } = await working();
    const bytes = Buffer.from('x');
    const instants = [0n, BigInt(Date.UTC(10_000, 0, 1))];
    stream.say({ outputs: instants.map((atMs) => ({ ...about(batch), atMs, bytes })) });
    await eventually(() => expect(toldAt).toHaveLength(2), SOON);
    expect(toldAt[0]).toBe(batch.claimedAtMs);
    expect(toldAt[1]).toBeGreaterThanOrEqual(batch.claimedAtMs);
    expect(toldAt[1]).toBeLessThanOrEqual(home.clock.now());
  });

  test('hazard 14: of a run that the worker does not hold is not kept', async () => {
    const { batch } = await working();
    const liar = await connected();
    const run = about(batch);
    liar.say({
      outputs: [{ ...run, bytes: Buffer.from('forged') }],
      checkpoints: [{ ...run, sequence: 1, value: '1' }],
    });
    await eventually(() => {
      const answers = liar.heard.flatMap(({ checkpointAnswers }) => checkpointAnswers);
      expect(answers.map(({ error }) => error)).toEqual([expect.stringContaining('not this worker')]);
    }, SOON);
    expect(said).toEqual([]);
  });
});

test('more freed slots than there were end the stream', async () => {
  const stream = await connected();
  stream.say({ slotsFreed: 3n });
  await stream.untilEnded();
  expect(stream.goodbye?.reason).toContain('slots');
});

test('a message that is too large ends the stream, and nothing else', async () => {
  const other = await connected();
  const stream = await connected();
  stream.say({ outputs: [{ leaseId: newId(), bytes: new Uint8Array(P.FRAME_BYTES_MAX + 1) }] });
  await stream.untilEnded();
  expect(other.hasEnded).toBe(false);
  await eventually(() => expect(home.freeSlots()).toEqual([4]), SOON);
});

test('a worker gets no more runs than it has slots, and a large lease in parts that a frame can hold', async () => {
  const offer = { slots: 2_000, handlers: [{ name: 'quick' }] };
  const stream = await connected({ offer });
  await eventually(() => home.workerId(), SOON);
  const { batch } = await home.hand('quick', { count: 1_100 });
  await eventually(() => {
    const assigns = stream.heard.flatMap((frame) => frame.assigns);
    expect(assigns.map(({ firstPosition, runIds }) => [firstPosition, runIds.length])).toEqual([
      [0, 500],
      [500, 500],
      [1_000, 100],
    ]);
  }, SOON);
  expect(home.freeSlots()).toEqual([900]);
  stream.say({ ...endOf(batch), slotsFreed: 1_100n });
  await eventually(() => expect(stream.settled).toHaveLength(1_100), SOON);
  await eventually(() => expect(home.freeSlots()).toEqual([2_000]), SOON);
});

import { create, toBinary } from '@bufbuild/protobuf';
import type { JobId, LeaseId, RunId } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import {
  FRAME_BYTES_MAX,
  FrameQueue,
  type Output,
  OutputStream,
  SessionRequestSchema,
} from '../protocol/index.ts';
import type { HeldRun } from '../run-channel.ts';
import { RemoteChannel } from './remote-channel.ts';

const WINDOW = 256 * 1_024;
const MISSING = 'Output is missing here: the connection to the server was lost.\n';
const DROPPED = 'Output is missing here: it came faster than the server took it.\n';
const heldRun = (position: number): HeldRun => ({
  ...{ leaseId: 'lease-1' as LeaseId, position, epoch: 1, jobId: 'job-1' as JobId },
  ...{ runId: `run-${position}` as RunId, claimedAtMs: 0 },
});
const run = heldRun(0);
const other = heldRun(1);
let channel: RemoteChannel;

beforeEach(() => {
  channel = new RemoteChannel({ clock: new ManualClock() });
});

const newFrames = () => new FrameQueue(() => create(SessionRequestSchema));

/** A stream that the server reads from. */
class Stream {
  readonly frames = newFrames();
  readonly outputs: Output[] = [];
  readonly #read: AsyncGenerator<{ outputs: Output[] }> = this.frames.frames();

  /** Until nothing is left; what was taken is granted again. */
  async readAll(): Promise<string> {
    const from = this.outputs.length;
    channel.progress(run, { percent: 1 });
    for (;;) {
      const { value } = await this.#read.next();
      this.outputs.push(...value.outputs);
      const bytes = value.outputs.reduce((sum: number, { bytes }: Output) => sum + bytes.length, 0);
      channel.taken(bytes);
      if (bytes === 0) return textOf(this.outputs.slice(from));
      channel.progress(run, { percent: 1 });
    }
  }
}

const textOf = (outputs: readonly Output[]) =>
  outputs.map(({ bytes }) => Buffer.from(bytes).toString()).join('');

function connect(window = WINDOW): Stream {
  const stream = new Stream();
  channel.attach(stream.frames, { window, resultBytesMax: 0, artifactBytesMax: 0 });
  return stream;
}

function write(text: string, { of = run, stream = 'stdout' as 'stdout' | 'stderr', atMs = 1 } = {}) {
  return channel.output(of, { stream, atMs, bytes: Buffer.from(text) });
}

test.each(['before the stream is there', 'on a stream that is slower'])(
  '400,000 lines of one run, written %s, go up in few messages, in order',
  async (when) => {
    const early = when.startsWith('before') ? undefined : connect();
    const lines = Array.from({ length: 400_000 }, (_, i) => `line ${i}\n`);
    for (const line of lines) void write(line);
    const stream = early ?? connect();
    const text = await stream.readAll();
    expect(text === lines.join('')).toBe(true);
    expect(stream.outputs.length).toBeLessThan(2 * Math.ceil(text.length / 65_536));
  },
);

test('no more is on its way than the server grants, however long a line is', async () => {
  const text = 'x'.repeat(5_000);
  void write(text);
  const stream = connect(100);
  expect(await stream.readAll()).toBe(text);
  expect(stream.outputs.map(({ bytes }) => bytes.length)).toEqual(Array.from({ length: 50 }, () => 100));
  void write(text);
  channel.detach();
  expect(await connect(6_000).readAll()).toBe(text);
});

test('lines of two runs and both streams stay apart, each in its order', async () => {
  for (let i = 0; i < 1_000; i += 1) {
    void write(`a${i}\n`);
    void write(`b${i}\n`, { of: other });
  }
  void write('error\n', { stream: 'stderr' });
  void write('after\n');
  const stream = connect();
  await stream.readAll();
  const texts = (position: number, from: OutputStream) =>
    textOf(stream.outputs.filter((output) => output.position === position && output.stream === from));
  const numbered = (letter: string) => Array.from({ length: 1_000 }, (_, i) => `${letter}${i}\n`).join('');
  expect(texts(0, OutputStream.UNSPECIFIED)).toBe(`${numbered('a')}after\n`);
  expect(texts(0, OutputStream.STDERR)).toBe('error\n');
  expect(texts(1, OutputStream.UNSPECIFIED)).toBe(numbered('b'));
  const ofRun = stream.outputs.filter(({ position }) => position === 0);
  expect(ofRun.map((output) => output.stream)).toEqual([0, OutputStream.STDERR, 0]);
});

test('lines that were written at other times keep their times', async () => {
  void write('first\n', { atMs: 1_000 });
  void write('second\n', { atMs: 61_000 });
  const stream = connect();
  await stream.readAll();
  expect(stream.outputs.map(({ atMs }) => Number(atMs))).toEqual([1_000, 61_000]);
});

test('many small messages that cannot be joined are bounded by their number, and the gap is marked once', async () => {
  for (let i = 0; i < 200_000; i += 1) void write('x\n', { stream: i % 2 === 0 ? 'stdout' : 'stderr' });
  const stream = connect();
  const text = await stream.readAll();
  expect(stream.outputs.length).toBeLessThan(100_000);
  expect(text.endsWith(DROPPED)).toBe(true);
  expect(text.indexOf(DROPPED)).toBe(text.length - DROPPED.length);
});

test('output that no frame has taken when the stream breaks goes up on the next one', async () => {
  connect();
  void write('first\n');
  channel.detach();
  void write('second\n');
  expect(await connect().readAll()).toBe('first\nsecond\n');
});

test('what was on its way when the stream broke is marked as missing, before what follows it', async () => {
  const first = connect();
  void write('on its way\n');
  await first.frames.frames().next();
  void write('waits\n');
  channel.detach();
  expect(await connect().readAll()).toBe(`${MISSING}waits\n`);
});

test('a mark that was on its way when the next stream broke is made again', async () => {
  const first = connect();
  void write('lost\n');
  await first.frames.frames().next();
  channel.detach();
  const second = connect();
  await second.frames.frames().next();
  channel.detach();
  channel.detach();
  void write('later\n');
  expect(await connect().readAll()).toBe(`${MISSING}later\n`);
});

test('a run whose output waits is closed when the output is on its way, however often streams break before', async () => {
  connect();
  void write('last\n');
  const closed = channel.close(run);
  expect(closed).toBeInstanceOf(Promise);
  for (let i = 0; i < 3; i += 1) {
    channel.detach();
    connect();
  }
  channel.detach();
  expect(await connect().readAll()).toBe('last\n');
  await closed;
  expect(channel.close(run)).toBeUndefined();
});

test('the progress of many runs goes up in frames of bounded size, the latest of each', async () => {
  const stream = connect();
  const runs = Array.from({ length: 20_000 }, (_, position) => heldRun(position));
  for (const percent of [1, 2])
    for (const one of runs) channel.progress(one, { percent, message: 'é'.repeat(100) });
  stream.frames.end();
  const told = new Map<number, number>();
  for await (const frame of stream.frames.frames()) {
    expect(toBinary(SessionRequestSchema, frame).length).toBeLessThan(FRAME_BYTES_MAX / 2);
    for (const { position, percent } of frame.progress) {
      expect(told.has(position)).toBe(false);
      told.set(position, percent);
    }
  }
  // What the end of the stream left over goes up on the next one.
  const next = connect();
  next.frames.end();
  for await (const { progress } of next.frames.frames())
    for (const { position, percent } of progress) told.set(position, percent);
  expect(told.size).toBeGreaterThan(0);
  expect(new Set(told.values())).toEqual(new Set([2]));
});

test('whoever waits for room goes on when there is room', async () => {
  const waits = Array.from({ length: 20 }, () => write('x'.repeat(65_536)));
  expect(waits.at(-1)).toBeInstanceOf(Promise);
  await connect().readAll();
  await Promise.all(waits);
});

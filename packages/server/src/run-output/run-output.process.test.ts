import { randomUUID } from 'node:crypto';
import type { JobId, LeaseId, NodeId, RunId } from '@carillon/domain';
import { type Clock, type Log, silentLog, systemClock } from '@carillon/foundation';
import type { HeldRun, OutputStream } from '@carillon/worker';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { dayOf, LogDiskShort, type LogStore } from '../log-store/log-store.ts';
import { MemoryLogStore } from '../log-store/memory-log-store.ts';
import { MemoryRunLogStore } from '../storage/memory/memory-run-log-store.ts';
import type { RunLogRecord } from '../storage/run-log-store.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { HEAD_BYTES_MAX, LINE_BYTES_MAX, UNWRITTEN_BYTES_MAX } from './attempt-log.ts';
import { RunOutput, type RunOutputOptions } from './run-output.ts';

const SOON = { withinMs: 60_000 };
const AT = Date.UTC(2030, 0, 31, 12);
const CLOCK: Clock = { ...systemClock, now: () => AT };
const NODE = randomUUID() as NodeId;

/** The store in memory, which fails or waits when it is told to. */
class TestStore extends MemoryLogStore {
  fault: Error | undefined;
  gate: Promise<void> | undefined;

  override async write(...given: Parameters<LogStore['write']>): Promise<void> {
    await this.gate;
    if (this.fault) throw this.fault;
    return super.write(...given);
  }
}

let store: TestStore;
let records: MemoryRunLogStore;
let output: RunOutput;
let warnings: string[];

beforeEach(() => {
  store = new TestStore();
  records = new MemoryRunLogStore();
  warnings = [];
  output = make();
});
afterEach(() => output.stop());

function make(over: Partial<RunOutputOptions> = {}): RunOutput {
  const log: Log = { ...silentLog, warn: (_facts, message) => void warnings.push(message) };
  return new RunOutput({ store, records, nodeId: NODE, clock: CLOCK, log, ...over });
}

const held = (over: Partial<HeldRun> = {}): HeldRun => ({
  ...{ leaseId: randomUUID() as LeaseId, position: 0, epoch: 1, claimedAtMs: AT },
  ...{ jobId: randomUUID() as JobId, runId: randomUUID() as RunId, ...over },
});
const write = (run: HeldRun, text: string | Uint8Array, stream: OutputStream = 'stdout', atMs = AT) =>
  output.output(run, { stream, atMs, bytes: Buffer.from(text) });
const say = (...given: Parameters<typeof write>): void => void write(...given);

const keyOf = ({ runId, epoch }: HeldRun) => ({ day: dayOf(AT), runId, epoch });
async function kept(run: HeldRun): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (const { start, bytes } of await store.segments(keyOf(run)))
    parts.push(await store.read(keyOf(run), { segment: start, from: start, bytesMax: bytes }));
  return Buffer.concat(parts);
}
const text = async (run: HeldRun) => (await kept(run)).toString();
const lines = async (run: HeldRun) => (await text(run)).split('\n').slice(0, -1);

describe('lines', () => {
  test('are kept in order, each with its instant and its stream', async () => {
    const run = held();
    say(run, 'one\ntwo', 'stdout', AT);
    say(run, 'oops\n', 'stderr', AT + 1);
    say(run, ' and a half\r\n', 'stdout', AT + 2);
    say(run, 'killed', 'system', AT + 3);
    await output.close(run);
    expect(await lines(run)).toEqual([
      `${AT} o one`,
      `${AT + 1} e oops`,
      `${AT} o two and a half`,
      `${AT + 3} s killed`,
    ]);
    expect(await records.logsOf(run.runId)).toMatchObject([
      { epoch: 1, lines: 4, day: '2030-01-31', ended: true, incomplete: false, nodeId: NODE },
    ]);
  });

  test('that are too long are split, and no character is', async () => {
    const run = held();
    const long = 'ä'.repeat(LINE_BYTES_MAX);
    for (const part of [Buffer.from(`x${long}`).subarray(0, 1_001), Buffer.from(`x${long}`).subarray(1_001)])
      say(run, part);
    say(run, '\nnext\n');
    await output.close(run);
    const all = (await lines(run)).map((line) => line.slice(`${AT} o `.length));
    expect(all.length).toBeGreaterThan(2);
    expect(all.slice(0, -1).join('')).toBe(`x${long}`);
    expect(all.at(-1)).toBe('next');
    for (const line of all) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(LINE_BYTES_MAX);
  });

  test('of exactly the longest length make no empty line', async () => {
    const run = held();
    say(run, 'x'.repeat(LINE_BYTES_MAX));
    say(run, '\ny\n');
    await output.close(run);
    expect(await lines(run)).toHaveLength(2);
  });

  test('of binary output are text: what is no UTF-8 is replaced, and zeros', async () => {
    const run = held();
    say(run, Buffer.from([0x61, 0, 0xff, 0xfe, 0x62, 10]));
    await output.close(run);
    expect(await text(run)).toBe(`${AT} o a\ufffd\ufffd\ufffdb\n`);
  });

  test('of a superseded attempt stay apart from those of the next', async () => {
    const first = held();
    const second = { ...first, epoch: 2 };
    say(first, 'early\n');
    say(second, 'next\n');
    say(first, 'late\n');
    await Promise.all([output.close(first), output.close(second)]);
    expect(await lines(first)).toEqual([`${AT} o early`, `${AT} o late`]);
    expect(await lines(second)).toEqual([`${AT} o next`]);
  });
});

test('the day of a log is the day of the server, whatever instant is told', async () => {
  const run = held();
  say(run, 'from the future\n', 'stdout', Date.UTC(10_000, 0, 1));
  await output.close(run);
  expect(await records.logsOf(run.runId)).toMatchObject([{ day: '2030-01-31' }]);
});

describe('a record that the storage refuses', () => {
  class StrictRecords extends MemoryRunLogStore {
    readonly refused = new Set<string>();
    isAway = false;

    override async recordLogs(given: readonly RunLogRecord[]): Promise<void> {
      if (this.isAway) throw new StorageUnavailable('away');
      if (given.some(({ runId }) => this.refused.has(runId))) throw new Error('date out of range');
      return super.recordLogs(given);
    }
  }

  test('is dropped with a line in the log of the server, and those beside it are recorded', async () => {
    const strict = new StrictRecords();
    output = make({ records: strict });
    const runs = Array.from({ length: 9 }, () => held());
    strict.refused.add(runs[4]!.runId);
    for (const run of runs) say(run, 'text\n');
    await Promise.all(runs.map((run) => output.close(run)));
    const found = await Promise.all(runs.map(async ({ runId }) => (await strict.logsOf(runId)).length));
    expect(found).toEqual([1, 1, 1, 1, 0, 1, 1, 1, 1]);
    expect(warnings).toEqual([expect.stringContaining('refuses')]);
  });

  test('is told from a storage that is away: then all are tried again', async () => {
    const strict = new StrictRecords();
    output = make({ records: strict });
    const run = held();
    strict.isAway = true;
    say(run, 'text\n');
    const closed = output.close(run);
    await eventually(() => expect(warnings).toEqual([expect.stringContaining('trying again')]), SOON);
    strict.isAway = false;
    await closed;
    expect(await strict.logsOf(run.runId)).toMatchObject([{ ended: true }]);
  });
});

test('a run that says nothing costs nothing: no promise, no record', async () => {
  const run = held();
  expect(output.close(run)).toBeUndefined();
  expect(await records.logsOf(run.runId)).toEqual([]);
});

test('an attempt that goes on is recorded and read before it ends', async () => {
  const run = held();
  say(run, 'working\n');
  await eventually(async () => expect(await text(run)).toBe(`${AT} o working\n`), SOON);
  await eventually(
    async () => expect(await records.logsOf(run.runId)).toMatchObject([{ ended: false }]),
    SOON,
  );
  await output.close(run);
  expect(await records.logsOf(run.runId)).toMatchObject([{ ended: true }]);
});

describe('100 MB of output', () => {
  const MEGABYTE = 1_000_000;
  const CHUNK = Buffer.from(`${'chatty '.repeat(9_000)}\n`);

  test('from a program that waits: its first 8 MiB and its last 2 are kept, and memory stays small', async () => {
    const run = held();
    let written = 0;
    let number = 0;
    while (written < 100 * MEGABYTE) {
      number += 1;
      const chunk = Buffer.concat([Buffer.from(`${number} `), CHUNK]);
      written += chunk.length;
      await write(run, chunk);
    }
    await output.close(run);
    const { peakBytes, unwrittenBytes, openLogs } = output.counts();
    expect(peakBytes).toBeLessThanOrEqual(UNWRITTEN_BYTES_MAX);
    expect([unwrittenBytes, openLogs]).toEqual([0, 0]);
    const all = await lines(run);
    const bytes = (await kept(run)).length;
    expect(bytes).toBeLessThanOrEqual(10 * 1_024 * 1_024);
    expect(bytes).toBeGreaterThan(9 * 1_024 * 1_024);
    expect(all[0]).toMatch(/^\d+ o 1 chatty/);
    expect(all.at(-1)).toMatch(new RegExp(`^\\d+ o ${number} chatty`));
    const [head] = await store.segments(keyOf(run));
    expect(head!.bytes).toBeGreaterThan(HEAD_BYTES_MAX - CHUNK.length - 100);
    expect((await records.logsOf(run.runId))[0]).toMatchObject({ lines: number, incomplete: false });
  });

  test('from a handler that does not wait: the bound holds, the middle is missing, and the log says so', async () => {
    const run = held();
    const waits = new Set<unknown>();
    for (let written = 0; written < 100 * MEGABYTE; written += CHUNK.length) waits.add(write(run, CHUNK));
    expect(output.counts().peakBytes).toBeLessThanOrEqual(UNWRITTEN_BYTES_MAX + 2 * LINE_BYTES_MAX);
    // Nothing, and one promise for all calls.
    expect(waits.size).toBe(2);
    await [...waits].find((wait) => wait !== undefined);
    say(run, 'the end\n');
    await output.close(run);
    const all = await lines(run);
    expect(all.at(-1)).toBe(`${AT} o the end`);
    expect(all.at(-2)).toMatch(/^\d+ s \d{8,} bytes of output are missing here: it came faster/);
    expect(await records.logsOf(run.runId)).toMatchObject([{ incomplete: true }]);
  });

  test('many runs share one bound, and those that come later lose, not the server', async () => {
    output = make({ unwrittenBytesMax: 4 * 1_024 * 1_024 });
    let open = () => {};
    store.gate = new Promise((resolve) => {
      open = resolve;
    });
    const runs = Array.from({ length: 50 }, () => held());
    for (const run of runs) for (let i = 0; i < 5; i += 1) say(run, CHUNK);
    expect(output.counts().peakBytes).toBeLessThanOrEqual(4 * 1_024 * 1_024 + LINE_BYTES_MAX);
    open();
    await Promise.all(runs.map((run) => output.close(run)));
    expect(output.counts()).toMatchObject({ unwrittenBytes: 0, openLogs: 0 });
    expect(await text(runs[0]!)).not.toContain('missing');
    expect(await text(runs.at(-1)!)).toContain('bytes of output are missing here');
  });
});

describe('a store that is away', () => {
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

  test('costs nothing when it comes back in time', async () => {
    const run = held();
    store.fault = full;
    say(run, 'one\n');
    await eventually(() => expect(warnings.length).toBe(1), SOON);
    store.fault = undefined;
    say(run, 'two\n');
    await output.close(run);
    expect(await lines(run)).toEqual([`${AT} o one`, `${AT} o two`]);
    expect(await records.logsOf(run.runId)).toMatchObject([{ incomplete: false }]);
  });

  test('costs the middle of a long log, with a mark that names the reason', async () => {
    const run = held();
    store.fault = full;
    const line = `${'x'.repeat(60_000)}\n`;
    say(run, line);
    await eventually(() => expect(warnings.length).toBe(1), SOON);
    for (let i = 0; i < 40; i += 1) say(run, line);
    store.fault = undefined;
    await eventually(() => expect(output.counts().unwrittenBytes).toBe(0), SOON);
    say(run, 'back\n');
    await output.close(run);
    const all = await lines(run);
    expect(all.at(-2)).toMatch(/ s \d+ bytes of output are missing here: it could not be kept \(ENOSPC\)\.$/);
    expect(all.at(-1)).toBe(`${AT} o back`);
  });

  test('costs the log and not the run: the end of the run waits a bounded time, and the record says so', async () => {
    const run = held();
    store.fault = full;
    say(run, 'lost\n');
    await output.close(run);
    expect(await text(run)).toBe('');
    expect(await records.logsOf(run.runId)).toMatchObject([{ incomplete: true, ended: true }]);
    expect(warnings).toHaveLength(1);
    expect(output.counts()).toMatchObject({ unwrittenBytes: 0, openLogs: 0 });
  });

  test('and one that never answers is given up the same way', async () => {
    const run = held();
    store.gate = new Promise(() => {});
    say(run, 'lost\n');
    await output.close(run);
    expect(await records.logsOf(run.runId)).toMatchObject([{ incomplete: true }]);
    store.gate = undefined;
  });
});

describe('a disk that has no more room for logs', () => {
  /** Whoever waits for an instant waits for ever. */
  const stopped: Clock = { ...CLOCK, timer: () => () => undefined };

  test('keeps no run waiting for its end', async () => {
    output = make({ clock: stopped });
    const run = held();
    store.fault = new LogDiskShort('the disk is nearly full');
    say(run, 'lost\n');
    await output.close(run);
    expect(await text(run)).toBe('');
    expect(await records.logsOf(run.runId)).toMatchObject([{ incomplete: true, ended: true }]);
    expect(output.counts()).toMatchObject({ unwrittenBytes: 0, openLogs: 0 });
  });

  test('nor for room to write on', async () => {
    output = make({ clock: stopped });
    const run = held();
    store.fault = new LogDiskShort('the disk is nearly full');
    for (let i = 0; i < 40; i += 1) await write(run, `${'x'.repeat(60_000)}\n`);
    await output.close(run);
    expect(await records.logsOf(run.runId)).toMatchObject([{ incomplete: true, ended: true }]);
  });
});

test('a log that retention removes while its run goes on begins anew under the present day, and says so', async () => {
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, now: () => AT + aheadMs };
  output = make({ clock });
  const run = held();
  say(run, 'day one\n');
  await eventually(async () => expect(await records.logsOf(run.runId)).toHaveLength(1), SOON);
  aheadMs = 3 * 86_400_000;
  const beforeDay = dayOf(clock.now() - 86_400_000);
  await store.dropSome({ beforeDay });
  await records.dropLogs({ beforeDay });
  say(run, 'day four\n', 'stdout', clock.now());
  const key = { ...keyOf(run), day: dayOf(clock.now()) };
  await eventually(
    async () => expect(await records.logsOf(run.runId)).toMatchObject([{ day: key.day }]),
    SOON,
  );
  await output.close(run);
  const kept = await store.read(key, { segment: 0, from: 0, bytesMax: 1_000 });
  expect(Buffer.from(kept).toString()).toBe(
    `${clock.now()} s Output is missing here: it was older than logs are kept.\n${clock.now()} o day four\n`,
  );
  expect(await records.logsOf(run.runId)).toMatchObject([{ ended: true, incomplete: true }]);
});

test('hazard 43: the log of a first attempt that the database has forgotten has nothing of the one before', async () => {
  const run = held();
  say(run, `${Array.from({ length: 20 }, (_, i) => `old ${i}`).join('\n')}\n`);
  await output.close(run);
  // Another database, and the same files.
  records = new MemoryRunLogStore();
  output = make();
  say(run, 'new\n');
  await output.close(run);
  expect(await lines(run)).toEqual([`${AT} o new`]);
});

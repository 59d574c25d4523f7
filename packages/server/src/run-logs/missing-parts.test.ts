/** A log of which one attempt is in the folder of another server: what is read here when that server does not answer. */
import type { NodeId, RunId } from '@carillon/domain';
import { beforeEach, expect, test } from 'vitest';
import { MemoryLogStore } from '../log-store/memory-log-store.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import type { RunLogRecord } from '../storage/run-log-store.ts';
import { type LoggedLine, LogOutOfReach, type LogSource, RunLogs, readParts } from './run-logs.ts';

const [HERE, THERE] = [newId<NodeId>(), newId<NodeId>()];
const RUN = newId<RunId>();
const DAY = '2030-01-01';
let stores: Map<NodeId, MemoryLogStore>;
/** Reads of the other server that work before it is gone. */
let answers: number;
let isKnown: boolean;
let logs: RunLogs;

beforeEach(async () => {
  [answers, isKnown] = [Number.POSITIVE_INFINITY, true];
  stores = new Map([HERE, THERE].map((nodeId) => [nodeId, new MemoryLogStore()]));
  const records = [record(1, THERE), record(2, HERE)];
  for (const { nodeId, ...key } of records)
    await stores.get(nodeId!)!.write(key, { segment: 0, offset: 0 }, Buffer.from('1 o one\n2 o two\n'));
  const there = stores.get(THERE)!;
  const asked = <Answer>(answer: () => Promise<Answer>): Promise<Answer> => {
    answers -= 1;
    return answers < 0 ? Promise.reject(new LogOutOfReach(THERE, 'it is away')) : answer();
  };
  const source: LogSource = {
    segments: (log) => asked(() => there.segments(log)),
    read: (log, range) => asked(() => there.read(log, range)),
  };
  logs = new RunLogs({
    ...{ records: { logsOf: async () => records }, store: stores.get(HERE)!, nodeId: HERE },
    peer: async () => (isKnown ? source : undefined),
  });
});

function record(epoch: number, nodeId: NodeId): RunLogRecord {
  return {
    ...{ runId: RUN, epoch, day: DAY, nodeId, bytes: 16, lines: 2, firstAtMs: 1, lastAtMs: 2 },
    ...{ ended: true, incomplete: false },
  };
}

async function textOfAll(): Promise<string> {
  let text = '';
  for (const each of await logs.of(RUN)) {
    const parts = await logs.parts(each);
    for await (const bytes of readParts(parts, { from: 0, bytes: 1_000 }))
      text += Buffer.from(bytes).toString();
  }
  return text;
}

async function linesOfAll(): Promise<LoggedLine[]> {
  const lines: LoggedLine[] = [];
  for (const each of await logs.of(RUN)) lines.push(...(await allOf(logs.lines(each))));
  return lines;
}

const MARK = `2 s The log of this attempt is missing here: it is in a folder of the server ${THERE}, which cannot be asked now (it is away).\n`;
const BOTH = '1 o one\n2 o two\n'.repeat(2);

test('the log is whole while the server answers', async () => {
  expect(await textOfAll()).toBe(BOTH);
  expect((await linesOfAll()).map(({ text }) => text)).toEqual(['one', 'two', 'one', 'two']);
});

test('a mark names the server and stands for its part; the rest is shown', async () => {
  answers = 0;
  expect(await textOfAll()).toBe(`${MARK}1 o one\n2 o two\n`);
  expect(await linesOfAll()).toMatchObject([
    { epoch: 1, offset: 0, stream: 'system', isMissing: true },
    { epoch: 2, text: 'one' },
    { epoch: 2, text: 'two' },
  ]);
  await logs.requireReach(await logs.of(RUN));
});

test('lines go on after the mark where they ended before it', async () => {
  const [first] = await logs.of(RUN);
  answers = 1;
  expect(await allOf(logs.lines(first!, 8))).toMatchObject([
    { offset: 8, isMissing: true, text: expect.stringContaining('from byte 8 on') },
  ]);
  answers = 2;
  expect(await allOf(logs.lines(first!, 8))).toMatchObject([{ offset: 16, text: 'two' }]);
});

test('text whose server ceases to answer while it is read is cut off, and not made up', async () => {
  answers = 1;
  const [part] = await logs.parts((await logs.of(RUN))[0]!);
  await expect(part!.read(0, 16)).rejects.toThrow(LogOutOfReach);
});

test('a log that is whole in a place that nobody knows is refused, one that is there in part is not', async () => {
  isKnown = false;
  const [first, second] = await logs.of(RUN);
  await expect(logs.requireReach([first!])).rejects.toMatchObject({ code: 'log_elsewhere' });
  await logs.requireReach([first!, second!]);
  await logs.requireReach([]);
  expect(await textOfAll()).toContain('(it has not said where it is reached)');
});

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

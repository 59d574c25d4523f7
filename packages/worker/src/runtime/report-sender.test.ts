import type { JobId, LeaseId, RunId } from '@carillon/domain';
import { type Log, ManualClock, SeededRandom } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { ReportSender } from './report-sender.ts';
import type { ReportAnswer, RunReport } from './worker-home.ts';

class StorageUnavailable extends Error {}

class StorageTimeout extends Error {
  readonly look: string | undefined;

  constructor(message: string, { look }: { look?: string } = {}) {
    super(message);
    this.look = look;
  }
}

/** Lets promise callbacks run to their end. */
const turns = () => new Promise((resolve) => setImmediate(resolve));

const LEASE = 'lease' as LeaseId;

let clock: ManualClock;
let sender: ReportSender;
/** What was told, call by call. */
let told: (readonly RunReport[])[];
let answered: number;
/** What the next calls answer; then everything is settled. */
let answers: (ReportAnswer[] | Error)[];
let logged: { level: string; facts: object; message: string }[];

const note = (level: string) => (facts: object, message: string) =>
  void logged.push({ level, facts, message });
const log: Log = {
  debug: () => {},
  info: note('info'),
  warn: note('warn'),
  error: note('error'),
  child: () => log,
};

beforeEach(() => {
  clock = new ManualClock();
  told = [];
  answered = 0;
  answers = [];
  logged = [];
  sender = new ReportSender({
    reports: {
      ended: async (reports) => {
        told.push(reports);
        const answer = answers.shift() ?? reports.map(() => 'settled' as const);
        if (answer instanceof Error) throw answer;
        return answer;
      },
      faultOf: (error) => {
        if (error instanceof StorageTimeout) return { kind: 'locked', look: error.look };
        return error instanceof StorageUnavailable ? { kind: 'away' } : undefined;
      },
    },
    clock,
    random: new SeededRandom(1),
    log,
    onAnswered: () => {
      answered += 1;
    },
  });
});

function report(position: number): RunReport {
  const ids = { jobId: `job-${position}` as JobId, runId: `run-${position}` as RunId };
  const run = { leaseId: LEASE, position, epoch: 1, ...ids, claimedAtMs: 1 };
  return { run, startedAtMs: 2, endedAtMs: 3, outcome: { kind: 'SUCCESS' } };
}

const positions = () => told.map((group) => group.map(({ run }) => run.position));

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(100);
    await turns();
  }
}

test('reports of one turn travel together, those of the next by themselves', async () => {
  sender.send(report(0));
  sender.send(report(1));
  await turns();
  sender.send(report(2));
  await turns();
  expect(positions()).toEqual([[0, 1], [2]]);
  expect(answered).toBe(3);
});

test('more than a group holds leave in several', async () => {
  for (let position = 0; position < 501; position += 1) sender.send(report(position));
  await turns();
  expect(told.map((group) => group.length)).toEqual([500, 1]);
});

test('only what was not answered is told again', async () => {
  answers = [['settled', new StorageUnavailable('away'), 'stale']];
  for (const position of [0, 1, 2]) sender.send(report(position));
  await turns();
  expect(answered).toBe(2);
  await pass(100);
  expect(positions()).toEqual([[0, 1, 2], [1]]);
  expect(answered).toBe(3);
});

test('an outcome that can never be stored is told as one that could not', async () => {
  answers = Array.from({ length: 10 }, () => new Error('cannot be stored'));
  sender.send(report(0));
  await pass(30_000);
  expect(told).toHaveLength(11);
  expect(told[10]![0]!.outcome).toMatchObject({ kind: 'FAILED', retryable: false });
  expect(answered).toBe(1);
});

test.each([
  ['an outage', new StorageUnavailable('away')],
  ['a lock that is held', new StorageTimeout('locked')],
])('%s changes no outcome, however long it takes (hazards 28, 47)', async (_, error) => {
  answers = Array.from({ length: 30 }, () => error);
  sender.send(report(0));
  await pass(120_000);
  expect(told).toHaveLength(31);
  expect(told[30]![0]!.outcome).toEqual({ kind: 'SUCCESS' });
});

test('stopping waits for what can be delivered, and in the end not for what cannot', async () => {
  answers = Array.from({ length: 100 }, () => new StorageUnavailable('away'));
  sender.send(report(0));
  let stopped = false;
  void sender.stop().then(() => {
    stopped = true;
  });
  await pass(5_000);
  expect(stopped).toBe(false);
  await pass(30_000);
  expect(stopped).toBe(true);
  expect(answered).toBe(1);
});

describe('in the log', () => {
  const LOCKED = new StorageTimeout('locked', { look: 'SELECT pid' });
  let failure: Error | undefined;

  beforeEach(() => {
    failure = undefined;
    answers = { shift: () => failure } as typeof answers;
  });

  /** Each travels by itself. */
  async function take(count: number, from = 0): Promise<void> {
    for (let position = from; position < from + count; position += 1) {
      sender.send(report(position));
      await turns();
    }
  }

  test('a lock that is held for a moment is not told of', async () => {
    failure = LOCKED;
    await take(10);
    await pass(1_000);
    failure = undefined;
    await pass(5_000);
    expect(answered).toBe(10);
    expect(logged).toEqual([]);
  });

  test('outcomes that wait for a lock are told of once, with their number and how to find who holds it', async () => {
    failure = LOCKED;
    await take(40);
    await pass(15_000);
    expect(logged).toMatchObject([
      {
        level: 'warn',
        facts: { unrecorded: 40, retried: 40, jobId: expect.stringContaining('job-'), look: 'SELECT pid' },
        message: expect.stringContaining('outcomes wait for what somebody holds locked'),
      },
    ]);
  });

  test('a lock that lasts is told of every 30 s with the number of outcomes, and once when it is over', async () => {
    failure = LOCKED;
    await take(40);
    await pass(20_000);
    await take(60, 40);
    await pass(80_000);
    expect(logged.map(({ facts }) => (facts as { unrecorded: number }).unrecorded)).toEqual([
      40, 100, 100, 100,
    ]);
    logged = [];
    failure = undefined;
    await pass(5_000);
    expect(answered).toBe(100);
    expect(logged).toMatchObject([{ level: 'info', message: 'every outcome that waited is recorded' }]);
  });

  test('locks that come and go are told of no more often', async () => {
    for (let i = 0; i < 12; i += 1) {
      failure = LOCKED;
      await take(1, i);
      await pass(4_000);
      failure = undefined;
      await pass(3_000);
    }
    expect(answered).toBe(12);
    expect(logged.filter(({ level }) => level === 'warn')).toHaveLength(3);
  });

  test('an outage is told of once when it lasts, however many outcomes wait', async () => {
    failure = new StorageUnavailable('away');
    await take(256);
    await pass(25_000);
    expect(logged).toMatchObject([
      {
        level: 'error',
        facts: { unrecorded: 256 },
        message: 'outcomes cannot be recorded; still trying',
      },
    ]);
  });
});

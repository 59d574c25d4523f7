import type { JobId, LeaseId, RunId } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import { turns } from '../testing/role-stage.fixture.ts';
import type { ReportAnswer, RunReport } from '../worker-link/run-reports.ts';
import { ReportCourier } from './report-courier.ts';

const LEASE = 'lease' as LeaseId;

let clock: ManualClock;
let courier: ReportCourier;
/** What was told, call by call. */
let told: (readonly RunReport[])[];
let answered: number;
/** What the next calls answer; then everything is settled. */
let answers: (ReportAnswer[] | Error)[];

beforeEach(() => {
  clock = new ManualClock();
  told = [];
  answered = 0;
  answers = [];
  courier = new ReportCourier({
    reports: {
      ended: async (reports) => {
        told.push(reports);
        const answer = answers.shift() ?? reports.map(() => 'settled' as const);
        if (answer instanceof Error) throw answer;
        return answer;
      },
      running: () => undefined,
    },
    clock,
    random: new SeededRandom(1),
    log: silentLog,
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
  courier.take(report(0));
  courier.take(report(1));
  await turns();
  courier.take(report(2));
  await turns();
  expect(positions()).toEqual([[0, 1], [2]]);
  expect(answered).toBe(3);
});

test('more than a group holds leave in several', async () => {
  for (let position = 0; position < 501; position += 1) courier.take(report(position));
  await turns();
  expect(told.map((group) => group.length)).toEqual([500, 1]);
});

test('only what was not answered is told again', async () => {
  answers = [['settled', new StorageUnavailable('away'), 'stale']];
  for (const position of [0, 1, 2]) courier.take(report(position));
  await turns();
  expect(answered).toBe(2);
  await pass(100);
  expect(positions()).toEqual([[0, 1, 2], [1]]);
  expect(answered).toBe(3);
});

test('an outcome that can never be stored is told as one that could not', async () => {
  answers = Array.from({ length: 10 }, () => new Error('cannot be stored'));
  courier.take(report(0));
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
  courier.take(report(0));
  await pass(120_000);
  expect(told).toHaveLength(31);
  expect(told[30]![0]!.outcome).toEqual({ kind: 'SUCCESS' });
});

test('stopping waits for what can be delivered, and in the end not for what cannot', async () => {
  answers = Array.from({ length: 100 }, () => new StorageUnavailable('away'));
  courier.take(report(0));
  let stopped = false;
  void courier.stop().then(() => {
    stopped = true;
  });
  await pass(5_000);
  expect(stopped).toBe(false);
  await pass(30_000);
  expect(stopped).toBe(true);
  expect(answered).toBe(1);
});

import type { LeaseId, RunId } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { MemorySignalBus } from '../signal-bus/memory-signal-bus.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import { type CheckedLeases, LeaseChecks } from './lease-checks.ts';

const SILENT_MS = 15_000;

let clock: ManualClock;
let signals: MemorySignalBus;
let checks: LeaseChecks;
/** What was asked, by the number of leases. */
let calls: { cancelled: number[]; unknown: number[] };
let wanted: Set<LeaseId>;
/** Leases that the storage does not know, and how many runs of each are still going on. */
let unknown: Map<LeaseId, number>;
let warnings: object[];
/** A question about one of them fails. */
let poisoned: Set<string>;
let failure: Error | undefined;

beforeEach(() => {
  clock = new ManualClock(1_900_000_000_000);
  signals = new MemorySignalBus({ log: silentLog });
  calls = { cancelled: [], unknown: [] };
  wanted = new Set();
  unknown = new Map();
  warnings = [];
  poisoned = new Set();
  failure = undefined;
  const requireAnswer = (leases: readonly string[]) => {
    if (failure) throw failure;
    if (leases.some((leaseId) => poisoned.has(leaseId))) throw new Error('invalid input');
  };
  checks = new LeaseChecks({
    ...{ clock, signals, random: new SeededRandom(1), silentMs: SILENT_MS },
    log: { ...silentLog, warn: (details: object) => warnings.push(details) },
    members: {
      cancelledRuns: async (leases) => {
        calls.cancelled.push(leases.length);
        requireAnswer(leases);
        return leases.filter((id) => wanted.has(id)).map((leaseId) => ({ leaseId, runId: runOf(leaseId) }));
      },
      unknownLeases: async (leases) => {
        calls.unknown.push(leases.length);
        requireAnswer(leases);
        return leases.filter((leaseId) => unknown.has(leaseId));
      },
    },
  });
});

const runOf = (leaseId: string) => `run of ${leaseId}` as RunId;

function worker(leases: readonly string[]): CheckedLeases & { cancelled: RunId[]; stopped: LeaseId[] } {
  const cancelled: RunId[] = [];
  const stopped: LeaseId[] = [];
  return {
    ...{ cancelled, stopped, unreported: () => leases as LeaseId[] },
    onCancel: (runIds) => cancelled.push(...runIds),
    onUnknown: (ids) => {
      stopped.push(...ids);
      return ids.reduce((sum, leaseId) => sum + unknown.get(leaseId)!, 0);
    },
  };
}

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

describe('of fifty workers', () => {
  const fifty = () => Array.from({ length: 50 }, (_, i) => worker([`${i}/a`, `${i}/b`]));

  test('a cancel costs one question about each thing, and stops the run of the one that holds it', async () => {
    const workers = fifty();
    for (const each of workers) checks.add(each);
    await turns();
    calls = { cancelled: [], unknown: [] };
    wanted.add('7/b' as LeaseId);
    signals.send('cancel-requested', { runIds: [runOf('7/b')] });
    await turns();
    expect(calls).toEqual({ cancelled: [100], unknown: [100] });
    expect(workers.flatMap(({ cancelled }) => cancelled)).toEqual([runOf('7/b')]);
    expect(workers[7]!.cancelled).toEqual([runOf('7/b')]);
  });

  test('a look in between costs the same', async () => {
    for (const each of fifty()) checks.add(each);
    await turns();
    calls = { cancelled: [], unknown: [] };
    clock.advance(SILENT_MS / 5);
    await turns();
    expect(calls).toEqual({ cancelled: [100], unknown: [100] });
  });
});

test('a lost hint costs three seconds, however long workers may be silent', async () => {
  const patient = new LeaseChecks({
    ...{ clock, signals, random: new SeededRandom(1), silentMs: 3_600_000, log: silentLog },
    members: {
      cancelledRuns: async () => [...wanted].map((leaseId) => ({ leaseId, runId: runOf(leaseId) })),
      unknownLeases: async () => [],
    },
  });
  const one = worker(['a']);
  patient.add(one);
  await turns();
  wanted.add('a' as LeaseId);
  clock.advance(3_000);
  await turns();
  expect(one.cancelled).toEqual([runOf('a')]);
});

test('very many leases are asked for in calls of bounded size', async () => {
  checks.add(worker(Array.from({ length: 5_000 }, (_, i) => `lease-${i}`)));
  await turns();
  expect(calls.cancelled).toEqual([2_000, 2_000, 1_000]);
});

test('nothing is asked while nothing is held, or nobody is there', async () => {
  const idle = worker([]);
  checks.add(idle);
  await turns();
  await checks.remove(idle);
  signals.send('cancel-requested', { runIds: [runOf('a')] });
  clock.advance(SILENT_MS);
  await turns();
  expect(calls).toEqual({ cancelled: [], unknown: [] });
});

test('a worker that is gone is told nothing more, and one that comes later is asked for', async () => {
  const [gone, later] = [worker(['a']), worker(['b'])];
  wanted = new Set(['a', 'b'] as LeaseId[]);
  checks.add(gone);
  const removed = checks.remove(gone);
  checks.add(later);
  await removed;
  await turns();
  expect([gone.cancelled, later.cancelled]).toEqual([[], [runOf('b')]]);
});

describe('hazard 43: leases that the storage does not know', () => {
  test('are found with the next look, and what runs of them is stopped and told in the log', async () => {
    const [one, other] = [worker(['one', 'two']), worker(['three'])];
    unknown = new Map([['two' as LeaseId, 3]]);
    checks.add(one);
    checks.add(other);
    await turns();
    expect([one.stopped, other.stopped]).toEqual([['two'], []]);
    expect(warnings).toEqual([{ runs: 3, leases: 1 }]);
  });

  test('of which nothing runs any more are settled, and nothing to tell of', async () => {
    unknown = new Map([['one' as LeaseId, 0]]);
    checks.add(worker(['one']));
    await turns();
    expect(warnings).toEqual([]);
  });
});

describe('a question that fails', () => {
  test('because of one lease fails for that one alone, and is told in the log once', async () => {
    const workers = [worker(['a', 'b']), worker(['bad']), worker(['c'])];
    poisoned.add('bad');
    wanted = new Set(['a', 'bad', 'c'] as LeaseId[]);
    unknown = new Map([['b' as LeaseId, 1]]);
    for (const each of workers) checks.add(each);
    await checks.runOnce();
    await checks.runOnce();
    expect(new Set(workers.flatMap(({ cancelled }) => cancelled))).toEqual(new Set([runOf('a'), runOf('c')]));
    expect(workers.map(({ stopped }) => stopped.includes('b' as LeaseId))).toEqual([true, false, false]);
    expect(warnings.filter((details) => 'err' in details)).toHaveLength(1);
  });

  test.each([new StorageUnavailable('away'), new StorageTimeout('slow')])(
    'because the storage is not there is not repeated for each: %o',
    async (error) => {
      checks.add(worker(Array.from({ length: 5_000 }, (_, i) => `lease-${i}`)));
      await turns();
      calls = { cancelled: [], unknown: [] };
      failure = error;
      await expect(checks.runOnce()).rejects.toBe(error);
      expect(calls).toEqual({ cancelled: [2_000], unknown: [] });
    },
  );
});

import type { JobId, PendingRun, RunId } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { NOW_MS, pendingRun } from './pending-run.fixture.ts';
import { WaitingRoom } from './waiting-room.ts';

const JOB = 'job' as JobId;
const idsOf = (runs: readonly PendingRun[]) => runs.map((run) => run.runId);

let room: WaitingRoom;

beforeEach(() => {
  room = new WaitingRoom();
});

describe('the line', () => {
  test('is in the order of urgency: instants, with a head start for priority (hazard 32)', () => {
    room.admit(pendingRun('low', { priority: 'low' }));
    room.admit(pendingRun('later', { fireAtMs: NOW_MS + 1 }));
    room.admit(pendingRun('high', { priority: 'high', fireAtMs: NOW_MS + 1 }));
    room.admit(pendingRun('now'));
    room.admit(pendingRun('old-low', { priority: 'low', fireAtMs: NOW_MS - 3_600_000 }));
    expect(idsOf(room.take(10))).toEqual(['old-low', 'high', 'now', 'later', 'low']);
  });

  test('has missed occurrences that fire together in the order of their nominal instants (hazard 8)', () => {
    const nominals = [5, 3, 9, 1, 7, 2, 8, 4, 6];
    for (const nominalAtMs of nominals) room.admit(pendingRun(`run-${nominalAtMs}`, { nominalAtMs }));
    expect(room.take(20).map((run) => run.nominalAtMs)).toEqual(nominals.toSorted());
  });

  test('gives no more than is asked for', () => {
    for (const id of ['a', 'b', 'c']) room.admit(pendingRun(id));
    expect(room.take(2)).toHaveLength(2);
    expect(room.size).toBe(1);
  });

  test('knows each run once, however often it is brought', () => {
    room.admit(pendingRun('a'));
    room.admit(pendingRun('a'));
    expect(room.size).toBe(1);
    const taken = room.take(1);
    room.admit(pendingRun('a'));
    expect(room.size).toBe(0);
    room.putBack(taken);
    expect(idsOf(room.take(5))).toEqual(['a']);
  });

  test('takes a run again once it was forgotten: it may be a retry', () => {
    room.admit(pendingRun('a'));
    room.take(1);
    room.forget('a' as RunId);
    room.admit(pendingRun('a', { attempt: 2 }));
    expect(room.take(1)).toMatchObject([{ attempt: 2 }]);
  });

  test('judges a run by the latest that was heard of it', () => {
    room.admit(pendingRun('a', { maxConcurrency: 1 }));
    room.admit(pendingRun('a', { maxConcurrency: 5 }));
    expect(room.take(1)).toMatchObject([{ maxConcurrency: 5 }]);
  });
});

describe('runs parked behind their job', () => {
  const [first, second, third] = ['first', 'second', 'third'].map((id, i) =>
    pendingRun(id, { nominalAtMs: NOW_MS + i }),
  ) as [PendingRun, PendingRun, PendingRun];

  beforeEach(() => {
    for (const run of [first, second, third]) room.admit(run);
    for (const run of room.take(3)) room.park(run);
  });

  test('are out of the line, and counted', () => {
    expect([room.size, room.parkedCount, room.parkedOf(JOB)]).toEqual([0, 3, 3]);
    expect([...room.parkedJobs()]).toEqual([JOB]);
  });

  test('stand in line again one by one, the oldest first', () => {
    room.unpark(JOB, 1);
    expect([room.parkedCount, room.parkedOf(JOB)]).toEqual([2, 2]);
    expect(idsOf(room.take(5))).toEqual(['first']);
  });

  test('stand in line again all together', () => {
    room.unpark(JOB, Number.POSITIVE_INFINITY);
    expect([room.parkedCount, room.size]).toEqual([0, 3]);
    expect([...room.parkedJobs()]).toEqual([]);
  });

  test('are not released by nothing, nor by another job', () => {
    room.unpark(JOB, 0);
    room.unpark('other' as JobId, 5);
    expect(room.parkedCount).toBe(3);
  });

  test('can be taken out for good', () => {
    expect(idsOf(room.takeParked(JOB))).toEqual(['first', 'second', 'third']);
    expect([room.parkedCount, room.takeParked(JOB)]).toEqual([0, []]);
  });
});

describe('a shard that is lost', () => {
  test('takes its runs with it, parked or in line, and they may come again', () => {
    for (const shard of [1, 2]) {
      room.admit(pendingRun(`line-${shard}`, { shard, jobId: `a-${shard}` as JobId }));
      room.admit(pendingRun(`parked-${shard}`, { shard, jobId: `b-${shard}` as JobId, fireAtMs: 0 }));
    }
    for (const run of room.take(2)) room.park(run);
    room.retain((shard) => shard === 2);
    expect([room.size, room.parkedCount]).toEqual([1, 1]);
    expect(idsOf(room.take(5))).toEqual(['line-2']);
    room.admit(pendingRun('line-1', { shard: 1 }));
    room.admit(pendingRun('parked-1', { shard: 1 }));
    expect(room.size).toBe(2);
  });
});

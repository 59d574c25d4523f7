import type { JobId, RunId } from '@carillon/domain';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { LiveRuns } from './live-runs.ts';

const JOB = 'job' as JobId;
const OTHER = 'other' as JobId;
const id = (n: number) => `run-${n}` as RunId;

let live: LiveRuns;

beforeEach(() => {
  live = new LiveRuns();
});

describe('living runs', () => {
  test('are counted by job', () => {
    live.add(id(1), { jobId: JOB, shard: 0, sinceMs: 1 });
    live.add(id(2), { jobId: JOB, shard: 0, sinceMs: 2 });
    live.add(id(3), { jobId: OTHER, shard: 1, sinceMs: 3 });
    expect([live.count(JOB), live.count(OTHER), live.count('none' as JobId), live.size]).toEqual([
      2, 1, 0, 3,
    ]);
  });

  test('count once, however often they are told of: the first telling stands', () => {
    live.add(id(1), { jobId: JOB, shard: 0, sinceMs: 1 });
    live.add(id(1), { jobId: JOB, shard: 0, sinceMs: 9 });
    expect(live.count(JOB)).toBe(1);
    expect(live.sinceMs(id(1))).toBe(1);
  });

  test('leave once, and tell whose they were', () => {
    live.add(id(1), { jobId: JOB, shard: 0, sinceMs: 1 });
    expect(live.remove(id(1))).toBe(JOB);
    expect(live.remove(id(1))).toBeUndefined();
    expect([live.count(JOB), live.size, live.sinceMs(id(1))]).toEqual([0, 0, undefined]);
  });

  test('know the oldest of a job', () => {
    live.add(id(1), { jobId: JOB, shard: 0, sinceMs: 30 });
    live.add(id(2), { jobId: JOB, shard: 0, sinceMs: 10 });
    live.add(id(3), { jobId: OTHER, shard: 0, sinceMs: 1 });
    expect(live.oldestOf(JOB)).toBe(id(2));
    expect(live.oldestOf('none' as JobId)).toBeUndefined();
  });

  test('are never fewer or more than were added and not removed (hazard 13)', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(6), fc.constantFrom(JOB, OTHER))), (steps) => {
        const own = new LiveRuns();
        const model = new Map<RunId, JobId>();
        for (const [adds, n, jobId] of steps) {
          if (adds && !model.has(id(n))) model.set(id(n), jobId);
          if (adds) own.add(id(n), { jobId, shard: 0, sinceMs: 0 });
          else expect(own.remove(id(n))).toBe(model.get(id(n)));
          if (!adds) model.delete(id(n));
        }
        for (const jobId of [JOB, OTHER])
          expect(own.count(jobId)).toBe([...model.values()].filter((owner) => owner === jobId).length);
        expect([...own.entries()].map(([runId]) => runId)).toEqual([...model.keys()]);
      }),
    );
  });
});

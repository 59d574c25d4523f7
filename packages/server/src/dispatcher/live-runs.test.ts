import type { JobId, RunId } from '@carillon/domain';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { LiveRuns, type Living } from './live-runs.ts';

const JOB = 'job' as JobId;
const OTHER = 'other' as JobId;
const run = (n: number, over: Partial<Living> = {}): Living => ({
  jobId: JOB,
  runId: `run-${n}` as RunId,
  shard: 0,
  sinceMs: n,
  ...over,
});

let live: LiveRuns;

beforeEach(() => {
  live = new LiveRuns();
});

describe('living runs', () => {
  test('are counted by job', () => {
    for (const each of [run(1), run(2), run(3, { jobId: OTHER })]) live.add(each);
    expect([JOB, OTHER, 'none' as JobId].map((jobId) => live.count(jobId))).toEqual([2, 1, 0]);
    expect([...live.all()]).toHaveLength(3);
  });

  test('count once, however often they are told of: the first telling stands', () => {
    for (const others of [[], [run(2)]]) {
      live = new LiveRuns();
      for (const each of [...others, run(1), run(1, { sinceMs: 9 })]) live.add(each);
      expect(live.count(JOB)).toBe(1 + others.length);
      expect(live.find(run(1))?.sinceMs).toBe(1);
    }
  });

  test('leave once', () => {
    live.add(run(1));
    expect([live.remove(run(1)), live.remove(run(1))]).toEqual([true, false]);
    expect([live.count(JOB), live.find(run(1))]).toEqual([0, undefined]);
  });

  test('do not leave because of what is told about an earlier handing-out', () => {
    live.add(run(1, { sinceMs: 20 }));
    expect(live.remove(run(1), 10)).toBe(false);
    expect(live.remove(run(1), 20)).toBe(true);
  });

  test('know the oldest of a job', () => {
    live.add(run(1, { sinceMs: 30 }));
    expect(live.oldestOf(JOB)).toBe('run-1');
    live.add(run(2, { sinceMs: 10 }));
    live.add(run(3, { jobId: OTHER, sinceMs: 1 }));
    expect(live.oldestOf(JOB)).toBe('run-2');
    expect(live.oldestOf('none' as JobId)).toBeUndefined();
  });

  test('are never fewer or more than were added and not removed (hazard 13)', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(6))), (steps) => {
        const own = new LiveRuns();
        const model = new Map<string, Living>();
        for (const [adds, n] of steps) {
          const each = run(n, { jobId: n % 2 === 0 ? JOB : OTHER });
          if (adds) own.add(each);
          else expect(own.remove(each)).toBe(model.has(each.runId));
          if (adds) model.set(each.runId, each);
          else model.delete(each.runId);
        }
        for (const jobId of [JOB, OTHER])
          expect(own.count(jobId)).toBe([...model.values()].filter((each) => each.jobId === jobId).length);
        const ids = (all: Iterable<Living>) => [...all].map((each) => each.runId).sort();
        expect(ids(own.all())).toEqual(ids(model.values()));
      }),
    );
  });
});

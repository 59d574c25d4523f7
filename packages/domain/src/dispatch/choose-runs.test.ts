import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JobId, RunId, WorkerId } from '../ids.ts';
import { QUEUED_PER_JOB_MAX } from '../job/job.ts';
import type { PendingRun } from '../run/run.ts';
import { type Choice, chooseRuns, type DispatchLimits, type WorkerView } from './choose-runs.ts';

const NOW_MS = Date.UTC(2030, 0, 1);

function run(over: Partial<PendingRun> = {}): PendingRun {
  return {
    jobId: 'job-a' as JobId,
    runId: `run-${nextRun++}` as RunId,
    shard: 0,
    priority: 'medium',
    fireAtMs: NOW_MS,
    nominalAtMs: NOW_MS,
    trigger: 'schedule',
    attempt: 1,
    handler: 'http',
    maxConcurrency: 1_000,
    overlap: 'queue',
    startTimeoutMs: undefined,
    ...over,
  };
}
let nextRun = 1;

function worker(name: string, freeSlots: number, handlers = ['http']): WorkerView {
  return { workerId: name as WorkerId, freeSlots, offers: (handler) => handlers.includes(handler) };
}

function limits(over: { running?: number; waiting?: number; nowMs?: number } = {}): DispatchLimits {
  return { nowMs: over.nowMs ?? NOW_MS, running: () => over.running ?? 0, waiting: () => over.waiting ?? 0 };
}

const verdictsOf = (choice: Choice): PendingRun[] => [
  ...choice.placed.map((entry) => entry.run),
  ...choice.skipped.map((entry) => entry.run),
  ...choice.atLimit.map((entry) => entry.run),
  ...choice.expired,
  ...choice.noWorker,
  ...choice.noSlot,
];

describe('any choice', () => {
  const limitOf: Record<string, number> = { 'job-a': 1, 'job-b': 2, 'job-c': 3, 'job-d': 1_000 };
  const overlapOf = { 'job-a': 'queue', 'job-b': 'skip', 'job-c': 'replace', 'job-d': 'queue' } as const;
  const runs = fc.array(
    fc
      .record({
        jobId: fc.constantFrom('job-a', 'job-b', 'job-c', 'job-d'),
        attempt: fc.integer({ min: 1, max: 3 }),
        handler: fc.constantFrom('http', 'script', 'nobody'),
        startTimeoutMs: fc.option(fc.constantFrom(0, 1_000, 60_000), { nil: undefined }),
        fireAtMs: fc.integer({ min: NOW_MS - 120_000, max: NOW_MS }),
      })
      .map((over) =>
        run({
          ...over,
          jobId: over.jobId as JobId,
          maxConcurrency: limitOf[over.jobId]!,
          overlap: overlapOf[over.jobId],
        }),
      ),
    { maxLength: 60 },
  );
  const workers = fc
    .array(fc.record({ free: fc.integer({ min: 0, max: 6 }), handlers: fc.subarray(['http', 'script']) }), {
      maxLength: 4,
    })
    .map((entries) => entries.map(({ free, handlers }, i) => worker(`worker-${i}`, free, handlers)));
  const alive = fc.dictionary(fc.constantFrom('job-a', 'job-b', 'job-c'), fc.integer({ min: 0, max: 4 }));

  function forAny(
    check: (
      choice: Choice,
      input: { pending: PendingRun[]; workers: WorkerView[]; alive: Record<string, number> },
    ) => void,
  ) {
    fc.assert(
      fc.property(runs, workers, alive, (pending, offered, living) => {
        const rules = { nowMs: NOW_MS, running: (jobId: JobId) => living[jobId] ?? 0, waiting: () => 0 };
        check(chooseRuns(pending, offered, rules), { pending, workers: offered, alive: living });
      }),
      { numRuns: 300 },
    );
  }

  test('gives every pending run exactly one verdict', () => {
    forAny((choice, { pending }) => {
      const ids = verdictsOf(choice).map((entry) => entry.runId);
      expect(ids.toSorted()).toEqual(pending.map((entry) => entry.runId).toSorted());
    });
  });

  test('never gives a worker more than its free slots, nor what it does not offer', () => {
    forAny((choice, { workers: offered }) => {
      for (const { workerId, freeSlots, offers } of offered) {
        const given = choice.placed.filter((entry) => entry.workerId === workerId);
        expect(given.length).toBeLessThanOrEqual(freeSlots);
        for (const entry of given) expect(offers(entry.run.handler)).toBe(true);
      }
    });
  });

  test('never lets a job have more living runs than it may, those that already run included (hazard 12)', () => {
    forAny((choice, { alive: living }) => {
      const placed = Map.groupBy(choice.placed, (entry) => entry.run.jobId);
      for (const [jobId, entries] of placed)
        expect((living[jobId] ?? 0) + entries.length).toBeLessThanOrEqual(limitOf[jobId]!);
    });
  });

  test('leaves no run waiting for a slot that a worker has free', () => {
    forAny((choice, { workers: offered }) => {
      for (const waiting of choice.noSlot) {
        for (const { workerId, freeSlots, offers } of offered.filter((entry) =>
          entry.offers(waiting.handler),
        )) {
          expect(offers(waiting.handler)).toBe(true);
          expect(choice.placed.filter((entry) => entry.workerId === workerId)).toHaveLength(freeSlots);
        }
      }
    });
  });

  test('places runs of one job and handler in the order they are given', () => {
    forAny((choice, { pending }) => {
      const groups = Map.groupBy(choice.placed, ({ run: placed }) => `${placed.jobId} ${placed.handler}`);
      for (const entries of groups.values()) {
        const positions = entries.map((entry) => pending.indexOf(entry.run));
        expect(positions).toEqual(positions.toSorted((a, b) => a - b));
      }
    });
  });

  test('never skips a retry: it has a verdict pending already', () => {
    forAny((choice) => {
      for (const entry of choice.skipped) expect(entry.run.attempt).toBe(1);
      for (const entry of choice.atLimit) if (entry.replaces) expect(entry.run.attempt).toBe(1);
    });
  });

  test('expires exactly what waited longer for a start than it may (hazard 16)', () => {
    forAny((choice, { pending }) => {
      const late = pending.filter((entry) => NOW_MS - entry.fireAtMs > (entry.startTimeoutMs ?? Infinity));
      expect(choice.expired).toEqual(late);
    });
  });
});

describe('at the limit of a job', () => {
  const full = (over: Partial<PendingRun>, waiting = 0) =>
    chooseRuns([run({ maxConcurrency: 1, ...over })], [worker('w', 5)], limits({ running: 1, waiting }));

  test('a run waits when overlaps queue', () => {
    expect(full({ overlap: 'queue' }).atLimit).toMatchObject([{ replaces: false }]);
  });

  test('a run is skipped when overlaps are skipped', () => {
    expect(full({ overlap: 'skip' }).skipped).toMatchObject([{ reason: 'overlap' }]);
  });

  test('a run asks for the place of the oldest when overlaps replace', () => {
    expect(full({ overlap: 'replace' }).atLimit).toMatchObject([{ replaces: true }]);
  });

  test.each(['queue', 'skip', 'replace'] as const)('a retry waits, whatever the policy: %s', (overlap) => {
    expect(full({ overlap, attempt: 2 }).atLimit).toMatchObject([{ replaces: false }]);
  });

  test('run-now is checked like a scheduled run (hazard 12)', () => {
    expect(full({ trigger: 'manual' }).placed).toEqual([]);
    expect(full({ trigger: 'redrive' }).placed).toEqual([]);
  });

  test('waiting is bounded: one more is skipped with the reason queue_full (hazard 34)', () => {
    expect(full({}, QUEUED_PER_JOB_MAX - 1).atLimit).toHaveLength(1);
    expect(full({}, QUEUED_PER_JOB_MAX).skipped).toMatchObject([{ reason: 'queue_full' }]);
    expect(full({ attempt: 2 }, QUEUED_PER_JOB_MAX).atLimit).toHaveLength(1);
  });

  test('those that began to wait in this very choice count towards the bound (hazard 34)', () => {
    const pending = [run({ maxConcurrency: 1 }), run({ maxConcurrency: 1 }), run({ maxConcurrency: 1 })];
    const choice = chooseRuns(
      pending,
      [worker('w', 5)],
      limits({ running: 1, waiting: QUEUED_PER_JOB_MAX - 2 }),
    );
    expect(choice.atLimit.map((entry) => entry.run)).toEqual(pending.slice(0, 2));
    expect(choice.skipped.map((entry) => entry.run)).toEqual(pending.slice(2));
  });

  test('other jobs go on', () => {
    const blocked = run({ maxConcurrency: 1 });
    const other = run({ jobId: 'job-b' as JobId });
    const rules = { ...limits(), running: (jobId: JobId) => (jobId === 'job-a' ? 1 : 0) };
    expect(chooseRuns([blocked, other], [worker('w', 1)], rules).placed.map((entry) => entry.run)).toEqual([
      other,
    ]);
  });
});

describe('workers', () => {
  test('a handler nobody offers is told apart from one whose workers are full (hazard 21)', () => {
    const [unknown, busy] = [run({ handler: 'gpu' }), run({ handler: 'http' })];
    const choice = chooseRuns([unknown, busy], [worker('w', 0)], limits());
    expect(choice.noWorker).toEqual([unknown]);
    expect(choice.noSlot).toEqual([busy]);
  });

  test('the freest of them is taken, so that load spreads', () => {
    const pending = Array.from({ length: 6 }, () => run());
    const choice = chooseRuns(pending, [worker('small', 2), worker('large', 4)], limits());
    expect(choice.placed.map((entry) => entry.workerId)).toEqual([
      ...['large', 'large', 'small', 'large', 'small', 'large'],
    ]);
  });

  test('the most urgent come first when slots are few (hazard 32)', () => {
    const [first, second, third] = [run(), run(), run()];
    const choice = chooseRuns([first, second, third], [worker('w', 2)], limits());
    expect(choice.placed.map((entry) => entry.run)).toEqual([first, second]);
    expect(choice.noSlot).toEqual([third]);
  });

  test('a run at the head that nobody can take does not stop those behind it (hazard 32)', () => {
    const [stuck, next] = [run({ handler: 'gpu' }), run()];
    const offered = [worker('gpu-worker', 0, ['gpu']), worker('w', 1)];
    expect(chooseRuns([stuck, next], offered, limits()).placed.map((entry) => entry.run)).toEqual([next]);
  });
});

describe('the start timeout (hazard 16)', () => {
  const waited = (waitedMs: number) =>
    chooseRuns([run({ fireAtMs: NOW_MS - waitedMs, startTimeoutMs: 1_000 })], [worker('w', 1)], limits());

  test('is over only after its last millisecond', () => {
    expect(waited(1_000).placed).toHaveLength(1);
    expect(waited(1_001).expired).toHaveLength(1);
  });

  test('comes before every other verdict: what is too late is neither placed nor skipped', () => {
    const late = run({ fireAtMs: NOW_MS - 10, startTimeoutMs: 5, maxConcurrency: 1, overlap: 'skip' });
    expect(chooseRuns([late], [], limits({ running: 1 })).expired).toEqual([late]);
  });
});

test('nothing pending is an empty choice', () => {
  expect(verdictsOf(chooseRuns([], [worker('w', 1)], limits()))).toEqual([]);
});

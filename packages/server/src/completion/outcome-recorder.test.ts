import { type ClaimedRun, DEFAULT_RETRY, type Job, type RunId, type RunOutcome } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Signals } from '../signal-bus/signal-bus.ts';
import type { LeaseStore } from '../storage/lease-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import { type Breakage, breakable, RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { OutcomeRecorder } from './outcome-recorder.ts';

const FAILED: RunOutcome = { kind: 'FAILED', error: 'no', retryable: true };

let stage: RoleStage;
let recorder: OutcomeRecorder;
let breakage: Breakage;
let released: RunId[];
let dueAdded: Signals['due-added'][];

beforeEach(async () => {
  stage = await RoleStage.set();
  const { port, breakage: broken } = breakable<LeaseStore>(stage.storage.leases);
  breakage = broken;
  recorder = new OutcomeRecorder({
    ...stage.common,
    leases: port,
    signals: stage.signals,
    retriesPerSecond: 2,
  });
  released = [];
  dueAdded = [];
  stage.signals.on('runs-released', ({ runs }) => released.push(...runs.map((run) => run.runId)));
  stage.signals.on('due-added', (signal) => dueAdded.push(signal));
});

async function claimed(over: Partial<Job> = {}): Promise<{ job: Job; run: ClaimedRun }> {
  const { job } = await stage.world.oneOff({ job: over });
  return { job, run: await stage.world.claimOne(job) };
}

async function end(run: ClaimedRun, outcome: RunOutcome) {
  const [answer] = await recorder.ended([
    { run, startedAtMs: stage.clock.now(), endedAtMs: stage.clock.now(), outcome },
  ]);
  if (answer instanceof Error) throw answer;
  return answer;
}

const statuses = async (job: Job) => (await stage.world.runsOf(job.jobId)).map((view) => view.status);

describe('an outcome', () => {
  test('of success is on record with its result, and the run is released', async () => {
    const { job, run } = await claimed();
    expect(await end(run, { kind: 'SUCCESS', result: '{"sum":3}' })).toBe('settled');
    const [view] = await stage.world.runsOf(job.jobId);
    expect(view).toMatchObject({ status: 'SUCCESS', result: '{"sum":3}' });
    expect(released).toEqual([run.runId]);
    expect(dueAdded).toEqual([]);
  });

  test('of failure is tried again after a pause, and the scheduler gets a hint', async () => {
    const { job, run } = await claimed({ retry: { ...DEFAULT_RETRY, jitter: false } });
    await end(run, FAILED);
    const [again] = await stage.world.pendingRuns(job);
    expect(again).toMatchObject({ attempt: 2, fireAtMs: stage.clock.now() + DEFAULT_RETRY.delayMs });
    expect(dueAdded).toEqual([{ shards: [job.shard], rows: [] }]);
    expect(released).toEqual([run.runId]);
  });

  test('of failure waits for its turn when too many are tried again, unless its deadline comes first (hazard 17)', async () => {
    const retry = { ...DEFAULT_RETRY, strategy: 'fixed' as const, jitter: false };
    const jobs = [retry, retry, retry, { ...retry, deadlineMs: 1_500 }].map((policy) =>
      claimed({ retry: policy }),
    );
    const instants: unknown[] = [];
    for (const { job, run } of await Promise.all(jobs)) {
      await end(run, FAILED);
      const [again] = await stage.world.pendingRuns(job);
      instants.push(again ? again.fireAtMs - stage.clock.now() : (await statuses(job))[0]);
    }
    expect(instants).toEqual([1_000, 1_000, 2_000, 1_000]);
  });

  test('of failure keeps its instant while another tenant has many tried again (hazard 45)', async () => {
    const retry = { ...DEFAULT_RETRY, strategy: 'fixed' as const, jitter: false };
    const storm = { retry, namespace: 'storm', userId: 'ada' };
    for (let i = 0; i < 10; i += 1) await end((await claimed(storm)).run, FAILED);
    // Another user of the same namespace is another tenant.
    for (const other of [
      { ...storm, userId: 'bob' },
      { ...storm, namespace: 'quiet' },
    ]) {
      const { job, run } = await claimed(other);
      await end(run, FAILED);
      expect(await stage.world.pendingRuns(job)).toMatchObject([{ fireAtMs: stage.clock.now() + 1_000 }]);
    }
  });

  test('of failure that is told again takes no second place among those that are tried again', async () => {
    const retry = { ...DEFAULT_RETRY, strategy: 'fixed' as const, jitter: false };
    const [repeated, next] = [await claimed({ retry }), await claimed({ retry })];
    const nowMs = stage.clock.now();
    const report = { run: repeated.run, startedAtMs: nowMs, endedAtMs: nowMs, outcome: FAILED };
    const settle = stage.storage.leases.settle.bind(stage.storage.leases);
    stage.storage.leases.settle = () => Promise.reject(new StorageUnavailable('away'));
    for (let i = 0; i < 5; i += 1) await recorder.ended([report]);
    stage.storage.leases.settle = settle;
    await recorder.ended([report]);
    await end(next.run, FAILED);
    expect(await stage.world.pendingRuns(next.job)).toMatchObject([{ fireAtMs: nowMs + 1_000 }]);
  });

  test('of failure is a dead letter at once when retries are stopped; a returned run still runs again (hazard 17)', async () => {
    recorder = new OutcomeRecorder({
      ...stage.common,
      leases: stage.storage.leases,
      signals: stage.signals,
      retriesPerSecond: 0,
    });
    const [failing, returned] = [await claimed(), await claimed()];
    await end(failing.run, FAILED);
    await end(returned.run, { kind: 'RETURNED', error: 'shutdown' });
    expect(await stage.world.pendingRuns(failing.job)).toEqual([]);
    expect(await stage.storage.runs.deadLetter(failing.run.runId)).toMatchObject({
      reason: 'retries_stopped',
    });
    expect(await stage.world.pendingRuns(returned.job)).toHaveLength(1);
  });

  test('of failure after the last retry is a dead letter with its reason', async () => {
    const { job, run } = await claimed({ retry: { ...DEFAULT_RETRY, maxRetries: 0 } });
    await end(run, FAILED);
    expect(await stage.world.pendingRuns(job)).toEqual([]);
    expect(await stage.storage.runs.deadLetter(run.runId)).toMatchObject({
      reason: 'retries_exhausted',
      error: 'no',
    });
    expect(dueAdded).toEqual([]);
  });

  test('that no retry can mend is a dead letter at once (hazard 21)', async () => {
    const { run } = await claimed();
    await end(run, { kind: 'FAILED', error: 'the payload is not valid JSON', retryable: false });
    expect(await stage.storage.runs.deadLetter(run.runId)).toMatchObject({ reason: 'not_retryable' });
  });

  test('of a run that was given back costs no attempt, and it waits again at once (hazard 22)', async () => {
    const { job, run } = await claimed({ retry: { ...DEFAULT_RETRY, maxRetries: 0 } });
    await end(run, { kind: 'RETURNED', error: 'shutdown' });
    expect(await stage.world.pendingRuns(job)).toMatchObject([{ attempt: 1, fireAtMs: stage.clock.now() }]);
  });

  test('of a timeout is told as one', async () => {
    const { job, run } = await claimed();
    await end(run, { kind: 'TIMED_OUT', error: 'too slow' });
    expect(await statuses(job)).toContain('TIMED_OUT');
  });
});

describe('a cancel', () => {
  test('beats a finish that comes late (hazard 18)', async () => {
    const { job, run } = await claimed();
    await stage.storage.leases.requestCancel([run.runId]);
    expect(await end(run, { kind: 'SUCCESS' })).toBe('cancelled');
    expect(await statuses(job)).toEqual(['CANCELLED']);
    expect(released).toEqual([run.runId]);
  });

  test('is never tried again, even when the run fails meanwhile (hazard 18)', async () => {
    const { job, run } = await claimed();
    await stage.storage.leases.requestCancel([run.runId]);
    expect(await end(run, FAILED)).toBe('cancelled');
    expect(await stage.world.pendingRuns(job)).toEqual([]);
    expect(dueAdded).toEqual([]);
  });
});

describe('a report about a run that was given to another', () => {
  test('is refused, changes nothing, releases nothing, and is kept on record (hazard 14)', async () => {
    const { job, run } = await claimed();
    await end(run, { kind: 'LOST', error: 'silent' });
    released = [];
    dueAdded = [];
    expect(await end(run, { kind: 'SUCCESS' })).toBe('stale');
    expect(await stage.world.pendingRuns(job)).toHaveLength(1);
    expect([released, dueAdded]).toEqual([[], []]);
    const attempts = await stage.storage.runs.attempts(run.runId, stage.clock.now());
    expect(attempts.at(-1)).toMatchObject({ status: 'FAILED', lateReport: 'SUCCESS' });
  });

  test('that repeats the first one is refused like any other: a run ends once', async () => {
    const { job, run } = await claimed();
    await end(run, FAILED);
    expect(await end(run, FAILED)).toBe('stale');
    expect(await stage.world.pendingRuns(job)).toHaveLength(1);
  });
});

describe('batches', () => {
  test('reports that come together are settled together, each with its own verdict', async () => {
    const runs = await Promise.all(Array.from({ length: 50 }, () => claimed()));
    const verdicts = await Promise.all(
      runs.map(({ run }, i) => end(run, i % 2 === 0 ? { kind: 'SUCCESS' } : FAILED)),
    );
    expect(new Set(verdicts)).toEqual(new Set(['settled']));
    expect(breakage.calls).toMatchObject({ settle: 1, held: 1 });
    const waiting = await Promise.all(runs.map(({ job }) => stage.world.pendingRuns(job)));
    expect(waiting.filter((rows) => rows.length === 1)).toHaveLength(25);
  });

  test('of plain successes look nothing up', async () => {
    const { run } = await claimed();
    await end(run, { kind: 'SUCCESS' });
    expect(breakage.calls.held).toBeUndefined();
  });
});

describe('an outcome that the storage cannot take', () => {
  test('fails alone: those that travel with it are recorded', async () => {
    const runs = await Promise.all(Array.from({ length: 9 }, () => claimed()));
    const poison = runs[4]!.run;
    const settle = stage.storage.leases.settle.bind(stage.storage.leases);
    stage.storage.leases.settle = async (settlements, nowMs) => {
      if (settlements.some((entry) => entry.leaseId === poison.leaseId))
        throw new Error('no partition for this row');
      return settle(settlements, nowMs);
    };
    const results = await Promise.allSettled(runs.map(({ run }) => end(run, { kind: 'SUCCESS' })));
    expect(results.map((result) => result.status)).toEqual(
      runs.map(({ run }) => (run === poison ? 'rejected' : 'fulfilled')),
    );
    expect(released).not.toContain(poison.runId);
    expect(released).toHaveLength(8);
  });
});

describe('a job that somebody holds locked (hazard 47)', () => {
  const SUCCESS: RunOutcome = { kind: 'SUCCESS' };
  let locked: Set<string>;
  /** Settlements that had to wait for a locked job until their time was over. */
  let timeouts: number;

  beforeEach(() => {
    locked = new Set();
    timeouts = 0;
    const { leases } = stage.storage;
    const settle = leases.settle.bind(leases);
    leases.settle = async (settlements, nowMs) => {
      if (settlements.some(({ leaseId }) => locked.has(leaseId))) {
        timeouts += 1;
        throw new StorageTimeout('canceling statement due to lock timeout');
      }
      return settle(settlements, nowMs);
    };
  });

  const claimMany = (count: number) => Promise.all(Array.from({ length: count }, () => claimed()));

  /** Answers what became of each. */
  async function endAll(runs: readonly { run: ClaimedRun }[], outcome = SUCCESS): Promise<string[]> {
    const [startedAtMs, endedAtMs] = [stage.clock.now(), stage.clock.now()];
    const answers = await recorder.ended(runs.map(({ run }) => ({ run, startedAtMs, endedAtMs, outcome })));
    return answers.map((answer) => (answer instanceof Error ? answer.name : answer));
  }

  test('keeps its own outcome waiting, and no other of the batch', async () => {
    const runs = await claimMany(100);
    locked.add(runs[40]!.run.leaseId);
    const answers = await endAll(runs);
    expect(answers.filter((answer) => answer === 'settled')).toHaveLength(99);
    expect(answers[40]).toBe('StorageTimeout');
    locked.clear();
    expect(await endAll([runs[40]!])).toEqual(['settled']);
  });

  test('is found by asking the storage: then only one settlement waits, however many jobs are locked', async () => {
    const runs = await claimMany(100);
    const held = runs.filter((_, i) => i % 9 === 0);
    for (const { run } of held) locked.add(run.leaseId);
    stage.storage.leases.lockedJobs = async () => new Set(held.map(({ job }) => job.jobId));
    const answers = await endAll(runs);
    expect(answers.filter((answer) => answer === 'settled')).toHaveLength(100 - held.length);
    expect(timeouts).toBe(1);
  });

  test('is set aside: the next outcomes of it hold up nobody, whether they come with others or alone', async () => {
    const [first, second, ...others] = await claimMany(6);
    locked.add(first!.run.leaseId);
    await endAll([first!]);
    const waiting = Promise.withResolvers<never>();
    stage.storage.leases.held = () => waiting.promise;
    const alone = endAll([first!], FAILED);
    expect(await endAll([second!, ...others])).toEqual([
      'settled',
      'settled',
      'settled',
      'settled',
      'settled',
    ]);
    timeouts = 0;
    const [again] = await claimMany(1);
    expect(await endAll([first!, again!])).toEqual(['StorageTimeout', 'settled']);
    expect(timeouts).toBe(0);
    waiting.reject(new StorageTimeout('locked'));
    expect(await alone).toEqual(['StorageTimeout']);
  });

  test('that is locked no more is an ordinary one again after a while', async () => {
    const [first, second] = await claimMany(2);
    locked.add(first!.run.leaseId);
    await endAll([first!]);
    locked.clear();
    await stage.advance(10_000);
    expect(await endAll([first!, second!])).toEqual(['settled', 'settled']);
  });

  test('does not keep a run from being shown as running for good', async () => {
    const { job, run } = await claimed();
    const { leases } = stage.storage;
    const showRunning = leases.showRunning.bind(leases);
    leases.showRunning = () => Promise.reject(new StorageTimeout('locked'));
    recorder.running([{ ...run, startedAtMs: stage.clock.now() }]);
    await turns();
    leases.showRunning = showRunning;
    await stage.advance(1_000);
    expect(await statuses(job)).toEqual(['RUNNING']);
  });
});

describe('a storage that fails', () => {
  test('is asked once for a whole batch, not once for each report', async () => {
    const runs = await Promise.all(Array.from({ length: 8 }, () => claimed()));
    breakage.down = true;
    await Promise.allSettled(runs.map(({ run }) => end(run, { kind: 'SUCCESS' })));
    expect(breakage.calls.settle).toBe(1);
  });

  test('makes the report fail, and the same report is taken later', async () => {
    const { job, run } = await claimed();
    breakage.down = true;
    await expect(end(run, { kind: 'SUCCESS' })).rejects.toThrow(StorageUnavailable);
    expect(released).toEqual([]);
    breakage.down = false;
    expect(await end(run, { kind: 'SUCCESS' })).toBe('settled');
    expect(await statuses(job)).toEqual(['SUCCESS']);
  });

  test('after it had settled makes the repeated report stale, and the run has ended once', async () => {
    const { job, run } = await claimed();
    breakage.deaf = true;
    await expect(end(run, { kind: 'SUCCESS' })).rejects.toThrow(StorageUnavailable);
    breakage.deaf = false;
    expect(await end(run, { kind: 'SUCCESS' })).toBe('stale');
    expect(await statuses(job)).toEqual(['SUCCESS']);
  });

  test('does not make "is running" an error: it is only shown to people', async () => {
    const { run } = await claimed();
    breakage.down = true;
    recorder.running([{ ...run, startedAtMs: stage.clock.now() }]);
    await turns();
  });
});

test('a run that takes a while is shown as running', async () => {
  const { job, run } = await claimed();
  recorder.running([{ ...run, startedAtMs: stage.clock.now() }]);
  await turns();
  expect(await statuses(job)).toEqual(['RUNNING']);
});

test('stopping waits until everything is on record', async () => {
  const { job, run } = await claimed();
  void end(run, { kind: 'SUCCESS' });
  await recorder.stop();
  expect(await statuses(job)).toEqual(['SUCCESS']);
});

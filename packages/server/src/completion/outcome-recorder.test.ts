import {
  type ClaimedRun,
  DEFAULT_RETRY,
  type Job,
  type JobId,
  type RunId,
  type RunOutcome,
} from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Signals } from '../signal-bus/signal-bus.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { laneOf } from '../storage/lane.ts';
import type { LeaseStore } from '../storage/lease-store.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';
import { type Breakage, breakable, RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { OutcomeRecorder } from './outcome-recorder.ts';

const FAILED: RunOutcome = { kind: 'FAILED', error: 'no', retryable: true };

let stage: RoleStage;
let recorder: OutcomeRecorder;
let breakage: Breakage;
let freed: JobId[];
/** Hints that a run is tried again: in its lane, or asking for a slot of its job. */
let again: (Signals['runs-open'] | Signals['shards-due'])[];

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
  freed = [];
  again = [];
  stage.signals.on('slots-freed', ({ jobIds }) => freed.push(...jobIds));
  stage.signals.on('runs-open', (signal) => again.push(signal));
  stage.signals.on('shards-due', (signal) => again.push(signal));
});

async function claimed(over: Partial<Job> = {}): Promise<{ job: Job; run: ClaimedRun }> {
  const { job } = await stage.world.oneOff({ job: over });
  return { job, run: await stage.world.claimOne(job) };
}

/** One run of the job is claimed and another waits for its slot. */
async function claimedBeforeAnother(over: Partial<Job> = {}): Promise<{ job: Job; run: ClaimedRun }> {
  const job = await stage.world.recurring({ job: over });
  const runs = [0, 1].map((n) => ({ runId: newId<RunId>(), nominalAtMs: BASE_MS + n }));
  await stage.world.fire(job, { runs });
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
  test('of success is on record with its result, and nobody is told where nobody waits', async () => {
    const { job, run } = await claimed();
    expect(await end(run, { kind: 'SUCCESS', result: '{"sum":3}' })).toBe('settled');
    const [view] = await stage.world.runsOf(job.jobId);
    expect(view).toMatchObject({ status: 'SUCCESS', result: '{"sum":3}' });
    expect([freed, again]).toEqual([[], []]);
  });

  test.each<RunOutcome>([{ kind: 'SUCCESS' }, { kind: 'SUCCESS', result: '1' }, FAILED])(
    'frees the slot of its run, and the scheduler hears of the job whose next run waits: %o',
    async (outcome) => {
      const { job, run } = await claimedBeforeAnother();
      await end(run, outcome);
      expect(freed).toEqual([job.jobId]);
    },
  );

  test('of failure is tried again after a pause, and whoever claims from its lane gets a hint', async () => {
    const { job, run } = await claimed({ retry: { ...DEFAULT_RETRY, jitter: false } });
    await end(run, FAILED);
    const atMs = stage.clock.now() + DEFAULT_RETRY.delayMs;
    expect(await stage.world.pendingRuns(job)).toMatchObject([{ attempt: 2, fireAtMs: atMs }]);
    expect(again).toEqual([{ lanes: [{ ...laneOf(job), atMs }] }]);
    expect(freed).toEqual([]);
  });

  test('of failure of a run with a slot asks for one again, and the owner of its shard gets a hint', async () => {
    const { job, run } = await claimedBeforeAnother({ retry: { ...DEFAULT_RETRY, jitter: false } });
    await end(run, FAILED);
    const atMs = stage.clock.now() + DEFAULT_RETRY.delayMs;
    expect(again).toEqual([{ shards: [{ shard: job.shard, atMs }] }]);
  });

  test('of failure waits for its turn when too many are tried again, unless its deadline comes first (hazard 17)', async () => {
    const retry = { ...DEFAULT_RETRY, strategy: 'fixed' as const, jitter: false };
    const jobs = [retry, retry, retry, { ...retry, deadlineMs: 1_500 }].map((policy) =>
      claimed({ retry: policy }),
    );
    const instants: unknown[] = [];
    for (const { job, run } of await Promise.all(jobs)) {
      await end(run, FAILED);
      const [next] = await stage.world.pendingRuns(job);
      instants.push(next ? next.fireAtMs - stage.clock.now() : (await statuses(job))[0]);
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

  test('of failure that is told again takes no second turn among those that are tried again', async () => {
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
    expect(again).toEqual([]);
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
    expect(await statuses(job)).toEqual(['QUEUED', 'RETURNED']);
  });

  test('of a timeout is told as one', async () => {
    const { job, run } = await claimed();
    await end(run, { kind: 'TIMED_OUT', error: 'too slow' });
    expect(await statuses(job)).toContain('TIMED_OUT');
  });
});

describe('a cancel', () => {
  test('beats a finish that comes late, and frees the slot (hazard 18)', async () => {
    const { job, run } = await claimedBeforeAnother();
    await stage.storage.jobs.cancelRun(run.runId, stage.clock.now());
    expect(await end(run, { kind: 'SUCCESS' })).toBe('cancelled');
    expect(await statuses(job)).toEqual(['QUEUED', 'CANCELLED']);
    expect(freed).toEqual([job.jobId]);
  });

  test('is never tried again, even when the run fails meanwhile (hazard 18)', async () => {
    const { job, run } = await claimed();
    await stage.storage.jobs.cancelRun(run.runId, stage.clock.now());
    expect(await end(run, FAILED)).toBe('cancelled');
    expect(await stage.world.pendingRuns(job)).toEqual([]);
    expect(again).toEqual([]);
  });
});

describe('a report about a run that was given to another', () => {
  test('is refused, changes nothing, frees nothing, and is kept on record (hazard 14)', async () => {
    const { job, run } = await claimedBeforeAnother();
    await end(run, { kind: 'LOST', error: 'silent' });
    freed = [];
    again = [];
    expect(await end(run, { kind: 'SUCCESS' })).toBe('stale');
    expect(await stage.world.pendingRuns(job)).toHaveLength(2);
    expect([freed, again]).toEqual([[], []]);
    const attempts = await stage.storage.runs.attempts(run.runId, stage.clock.now());
    expect(attempts.at(-1)).toMatchObject({ status: 'LOST', lateReport: 'SUCCESS' });
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
    expect(breakage.calls).toMatchObject({ settle: 1, leased: 1 });
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
    const runs = await Promise.all(Array.from({ length: 9 }, () => claimedBeforeAnother()));
    const { job: poisoned, run: poison } = runs[4]!;
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
    expect(freed).not.toContain(poisoned.jobId);
    expect(freed).toHaveLength(8);
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
    const { job, run } = await claimedBeforeAnother();
    breakage.down = true;
    await expect(end(run, { kind: 'SUCCESS' })).rejects.toThrow(StorageUnavailable);
    expect(freed).toEqual([]);
    breakage.down = false;
    expect(await end(run, { kind: 'SUCCESS' })).toBe('settled');
    expect(await statuses(job)).toEqual(['QUEUED', 'SUCCESS']);
    expect(freed).toEqual([job.jobId]);
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

test('stopping waits for runs that are being shown as running', async () => {
  const { job, run } = await claimed();
  const { leases } = stage.storage;
  const showRunning = leases.showRunning.bind(leases);
  const answering = Promise.withResolvers<void>();
  leases.showRunning = (...call) => answering.promise.then(() => showRunning(...call));
  recorder.running([{ ...run, startedAtMs: stage.clock.now() }]);
  let isStopped = false;
  const stopping = recorder.stop().then(() => {
    isStopped = true;
  });
  await turns();
  expect(isStopped).toBe(false);
  answering.resolve();
  await stopping;
  expect(await statuses(job)).toEqual(['RUNNING']);
});

test('once stopped, nothing is shown again or anew', async () => {
  const { run } = await claimed();
  let calls = 0;
  stage.storage.leases.showRunning = () => {
    calls += 1;
    return Promise.reject(new StorageTimeout('locked'));
  };
  recorder.running([{ ...run, startedAtMs: stage.clock.now() }]);
  await turns();
  await recorder.stop();
  recorder.running([{ ...run, startedAtMs: stage.clock.now() }]);
  await stage.advance(10_000);
  expect(calls).toBe(1);
});

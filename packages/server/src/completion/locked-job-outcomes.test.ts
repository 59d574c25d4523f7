import type { ClaimedRun, Job, RunOutcome } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { StorageTimeout } from '../storage/storage.ts';
import { RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { OutcomeRecorder } from './outcome-recorder.ts';

const FAILED: RunOutcome = { kind: 'FAILED', error: 'no', retryable: true };

let stage: RoleStage;
let recorder: OutcomeRecorder;

beforeEach(async () => {
  stage = await RoleStage.set();
  recorder = new OutcomeRecorder({
    ...{ ...stage.common, leases: stage.storage.leases, signals: stage.signals },
    retriesPerSecond: 2,
  });
});

const statuses = async (job: Job) => (await stage.world.runsOf(job.jobId)).map((view) => view.status);

async function claimed(): Promise<{ job: Job; run: ClaimedRun }> {
  const { job } = await stage.world.oneOff();
  return { job, run: await stage.world.claimOne(job) };
}

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
    stage.storage.leases.leased = () => waiting.promise;
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

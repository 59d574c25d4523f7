/** LEASE-16: what a living worker keeps beyond its time limit is taken from it. */
import type { ClaimedRun, Job, RunOutcome } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { OutcomeRecorder } from '../completion/outcome-recorder.ts';
import { sampleJob } from '../storage/conformance/sample-job.ts';
import type { MemberStore } from '../storage/member-store.ts';
import { type Breakage, breakable, RoleStage } from '../testing/role-stage.fixture.ts';
import { Recovery } from './recovery.ts';

const SILENT_MS = 15_000;

let stage: RoleStage;
let reports: OutcomeRecorder;
let recovery: Recovery;
let breakage: Breakage;
let logged: { facts: object; message: string }[];

const note = (facts: object, message: string) => void logged.push({ facts, message });
const log: Log = { debug: () => {}, info: note, warn: note, error: note, child: () => log };

beforeEach(async () => {
  stage = await RoleStage.set();
  logged = [];
  const { leases, members } = stage.storage;
  reports = new OutcomeRecorder({
    ...{ ...stage.common, leases, signals: stage.signals },
    retriesPerSecond: 1_000,
  });
  const broken = breakable<MemberStore>(members);
  breakage = broken.breakage;
  recovery = new Recovery({
    ...{ ...stage.common, log, members: broken.port, leases, reports, endedBoots: [], silentMs: SILENT_MS },
  });
});

const beat = () => stage.storage.members.beatWorker(stage.world.workerId, stage.clock.now());

async function report(run: ClaimedRun, outcome: RunOutcome) {
  const times = { startedAtMs: stage.clock.now(), endedAtMs: stage.clock.now() };
  const [answer] = await reports.ended([{ run, ...times, outcome }]);
  return answer;
}

describe('a living worker that does not end a run', () => {
  const TIMEOUT_MS = 20_000;
  const OVERDUE_MS = 180_000;

  async function keptRun(retry: { maxRetries: number } = { maxRetries: 0 }) {
    const { job } = await stage.world.oneOff({
      job: { timeoutMs: TIMEOUT_MS, retry: { ...sampleJob().retry, ...retry } },
    });
    const { runs } = await stage.world.claim(await stage.world.pendingRuns(job), {
      nowMs: stage.clock.now(),
    });
    return { job, run: runs[0]! };
  }

  async function passBeating(ms: number): Promise<void> {
    for (let i = 0; i < ms / 1_000; i += 1) {
      await beat();
      stage.clock.advance(1_000);
      await recovery.runOnce();
    }
  }

  const statuses = async (job: Job) =>
    (await stage.world.runsOf(job.jobId, stage.clock.now())).map(({ status, error }) => ({ status, error }));

  test('loses it some time after its time limit (LEASE-16)', async () => {
    const { job } = await keptRun();
    await passBeating(TIMEOUT_MS + OVERDUE_MS - 1_000);
    expect(await statuses(job)).toMatchObject([{ status: 'CLAIMED' }]);
    await passBeating(12_000);
    expect(await statuses(job)).toEqual([
      { status: 'TIMED_OUT', error: 'ran longer than 20 s, and its worker did not end it' },
    ]);
    expect(logged.map(({ message }) => message)).toContain(
      'ended runs that their workers kept beyond their time limit',
    );
  });

  test('loses it to a cancel, if there was one', async () => {
    const { job, run } = await keptRun({ maxRetries: 3 });
    await stage.storage.jobs.cancelRun(run.runId, stage.clock.now());
    await passBeating(TIMEOUT_MS + OVERDUE_MS + 12_000);
    expect(await statuses(job)).toMatchObject([{ status: 'CANCELLED' }]);
  });

  test('may report it first when the storage has been away', async () => {
    const { run } = await keptRun();
    await passBeating(20_000);
    stage.clock.advance(TIMEOUT_MS + OVERDUE_MS);
    breakage.down = true;
    await expect(recovery.runOnce()).rejects.toThrow();
    breakage.down = false;
    await passBeating(SILENT_MS - 2_000);
    expect(await report(run, { kind: 'SUCCESS' })).toBe('settled');
  });

  test('keeps it when only the clock was set', async () => {
    const { job } = await keptRun();
    await passBeating(20_000);
    stage.clock.step(3_600_000);
    await passBeating(60_000);
    expect(await statuses(job)).toMatchObject([{ status: 'CLAIMED' }]);
  });

  test('keeps it when the clock was set before the server that looks started, and not for ever', async () => {
    const { job } = await keptRun();
    stage.clock.step(3_600_000);
    await passBeating(TIMEOUT_MS + OVERDUE_MS - 1_000);
    expect(await statuses(job)).toMatchObject([{ status: 'CLAIMED' }]);
    await passBeating(12_000);
    expect(await statuses(job)).toMatchObject([{ status: 'TIMED_OUT' }]);
  });
});

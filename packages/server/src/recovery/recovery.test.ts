import {
  type ClaimedRun,
  CRASHES_MAX,
  type Job,
  type RunId,
  type RunOutcome,
  type WorkerId,
} from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { OutcomeRecorder } from '../completion/outcome-recorder.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import type { MemberStore } from '../storage/member-store.ts';
import { StorageTimeout } from '../storage/storage.ts';
import { type Breakage, breakable, RoleStage } from '../testing/role-stage.fixture.ts';
import { Recovery } from './recovery.ts';

const SILENT_MS = 15_000;
/** Whoever was on board of several crashes comes back after a pause of at most this. */
const SUSPECT_PAUSE_MS_MAX = 10_000;

let stage: RoleStage;
let reports: OutcomeRecorder;
let recovery: Recovery;
let breakage: Breakage;
let logged: { facts: object; message: string }[];

const note = (facts: object, message: string) => void logged.push({ facts, message });
const log: Log = { debug: () => {}, info: note, warn: note, error: note, child: () => log };

function createRecovery(members: MemberStore): Recovery {
  return new Recovery({
    ...stage.common,
    log,
    members,
    leases: stage.storage.leases,
    reports,
    endedBoots: [],
    silentMs: SILENT_MS,
  });
}

beforeEach(async () => {
  stage = await RoleStage.set();
  logged = [];
  reports = new OutcomeRecorder({
    ...{ ...stage.common, leases: stage.storage.leases, signals: stage.signals },
    retriesPerSecond: 1_000,
  });
  const { port, breakage: broken } = breakable<MemberStore>(stage.storage.members);
  breakage = broken;
  recovery = createRecovery(port);
});

/** Looks every second. */
async function passSeconds(count: number, who: readonly Recovery[] = [recovery]): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    stage.clock.advance(1_000);
    await Promise.all(who.map((one) => one.runOnce()));
  }
}

/** The storage has answered for a full period, in which the worker was not heard. */
async function passSilence(who: readonly Recovery[] = [recovery]): Promise<void> {
  await passSeconds(SILENT_MS / 1_000 + 1, who);
}

const holding = () => stage.storage.leases.leasedBy([stage.world.workerId]);

const beat = () => stage.storage.members.beatWorker(stage.world.workerId, stage.clock.now());

async function report(run: ClaimedRun, outcome: RunOutcome) {
  const times = { startedAtMs: stage.clock.now(), endedAtMs: stage.clock.now() };
  const [answer] = await reports.ended([{ run, ...times, outcome }]);
  return answer;
}

describe('a worker that fell silent', () => {
  let job: Job;
  let run: ClaimedRun;

  beforeEach(async () => {
    ({ job } = await stage.world.oneOff());
    run = await stage.world.claimOne(job);
  });

  test('loses its runs: they wait again, at the next epoch, with their attempt not spent (hazards 14, 20)', async () => {
    await passSilence();
    expect(await stage.world.pendingRuns(job)).toMatchObject([{ runId: run.runId, attempt: 1 }]);
    await stage.world.register(newId());
    const again = await stage.world.claimOne(job, { workerId: newId(), nowMs: stage.clock.now() });
    expect(again).toMatchObject({ runId: run.runId, epoch: run.epoch + 1, attempt: 1 });
  });

  test('leaves a trace: the attempt is on record with what happened to it', async () => {
    await passSilence();
    const attempts = await stage.storage.runs.attempts(run.runId, stage.clock.now());
    expect(attempts.at(-1)).toMatchObject({
      status: 'LOST',
      error: `worker ${stage.world.workerId} was lost while it held the run`,
    });
  });

  test('holds no slot of its job any more (hazard 13)', async () => {
    const limited = await stage.world.recurring({ job: { userId: 'ada' } });
    const runs = [0, 1].map((n) => ({ runId: newId<RunId>(), nominalAtMs: BASE_MS + n }));
    await stage.world.fire(limited, { runs });
    const held = await stage.world.claimOne(limited);
    const others = runs.filter(({ runId }) => runId !== held.runId);
    const claimOther = async () => {
      const waiting = others.map(({ runId }) => ({ jobId: limited.jobId, runId }));
      return stage.world.claim(waiting, { workerId: newId(), nowMs: stage.clock.now() });
    };
    expect((await claimOther()).runs).toEqual([]);
    await passSilence();
    expect((await claimOther()).runs).toHaveLength(1);
  });

  test('is refused when it comes back with a result (hazard 14)', async () => {
    await passSilence();
    expect(await report(run, { kind: 'SUCCESS' })).toBe('stale');
    expect(await stage.world.pendingRuns(job)).toHaveLength(1);
    const attempts = await stage.storage.runs.attempts(run.runId, stage.clock.now());
    expect(attempts.at(-1)).toMatchObject({ status: 'LOST', lateReport: 'SUCCESS' });
  });

  test('is dead under its name, and then forgotten', async () => {
    await passSilence();
    expect((await beat()).alive).toBe(false);
    expect(await stage.storage.members.workers()).toEqual([]);
  });

  test('does not bring back a run that somebody cancelled: it ends as cancelled (hazard 18)', async () => {
    await stage.storage.jobs.cancelRun(run.runId, stage.clock.now());
    await passSilence();
    expect(await stage.world.pendingRuns(job)).toEqual([]);
    expect(await stage.world.runsOf(job.jobId)).toMatchObject([{ status: 'CANCELLED' }]);
  });

  test('is recovered once by two that look at the same time', async () => {
    const other = createRecovery(stage.storage.members);
    await passSilence([recovery, other]);
    expect(await stage.world.pendingRuns(job)).toHaveLength(1);
    expect(await stage.storage.runs.attempts(run.runId, stage.clock.now())).toHaveLength(2);
    const workers = [stage.world.workerId];
    expect(logged).toEqual([{ facts: { workers, runs: 1 }, message: 'took back the runs of dead workers' }]);
  });

  test('is told of when its runs were taken, and while they cannot be, once in a while', async () => {
    const { leases } = stage.storage;
    const settle = leases.settle.bind(leases);
    leases.settle = () => Promise.reject(new StorageTimeout('locked'));
    await passSilence();
    await passSeconds(25);
    expect(logged).toMatchObject([
      { facts: { runs: 1 }, message: expect.stringContaining('cannot be taken back yet') },
    ]);
    await passSeconds(25);
    expect(logged).toHaveLength(2);
    leases.settle = settle;
    await passSeconds(2);
    expect(logged.slice(2)).toMatchObject([
      { facts: { runs: 1 }, message: 'took back the runs of dead workers' },
    ]);
  });
});

describe('nobody is given up for dead', () => {
  let job: Job;

  beforeEach(async () => {
    ({ job } = await stage.world.oneOff());
    await stage.world.claimOne(job);
  });

  const isHeld = async () => (await holding()).length === 1;

  test('who beats', async () => {
    await recovery.runOnce();
    for (let i = 0; i < 10; i += 1) {
      stage.clock.advance(SILENT_MS / 2);
      await beat();
      await recovery.runOnce();
    }
    expect(await isHeld()).toBe(true);
  });

  test('before this process has seen the storage answer for a full period', async () => {
    stage.clock.advance(10 * SILENT_MS);
    await recovery.runOnce();
    await passSeconds(SILENT_MS / 1_000 - 1);
    expect(await isHeld()).toBe(true);
    await passSeconds(1);
    expect(await isHeld()).toBe(false);
  });

  test('right after an outage, which made everybody look silent (hazard 28)', async () => {
    await recovery.runOnce();
    await passSeconds(SILENT_MS / 1_000 - 1);
    breakage.down = true;
    await expect(recovery.runOnce()).rejects.toThrow();
    stage.clock.advance(60_000);
    breakage.down = false;
    await recovery.runOnce();
    expect(await isHeld()).toBe(true);
    await beat();
    await passSeconds(SILENT_MS / 1_000 - 1);
    await beat();
    await passSeconds(1);
    expect(await isHeld()).toBe(true);
  });
});

test('what a process held that certainly has ended is taken back at once', async () => {
  const { job } = await stage.world.oneOff();
  await stage.world.claimOne(job);
  const successor = new Recovery({
    ...stage.common,
    members: stage.storage.members,
    leases: stage.storage.leases,
    reports,
    endedBoots: [stage.world.bootId],
    silentMs: SILENT_MS,
  });
  await successor.runOnce();
  expect(await stage.world.pendingRuns(job)).toHaveLength(1);
});

test('hazard 44: what another process of the same node holds stays its own as long as it beats', async () => {
  const { job } = await stage.world.oneOff();
  const clone = newId<WorkerId>();
  await stage.world.register(clone, { incarnation: 7, bootId: newId() });
  await stage.world.claimOne(job);
  await beat();
  for (let i = 0; i < 10; i += 1) {
    await passSeconds(SILENT_MS / 3_000);
    await beat();
  }
  expect(await stage.world.living(job.jobId)).toHaveLength(1);
});

test('a run that takes every worker with it is given up as a poison pill (hazard 20)', async () => {
  const { job, runId } = await stage.world.oneOff();
  for (let crashes = 1; crashes <= CRASHES_MAX; crashes += 1) {
    stage.clock.advance(SUSPECT_PAUSE_MS_MAX);
    const workerId = newId<typeof stage.world.workerId>();
    await stage.world.register(workerId, { nowMs: stage.clock.now() });
    await stage.world.claimOne(job, { workerId, nowMs: stage.clock.now() });
    await passSilence();
  }
  expect(await stage.world.pendingRuns(job)).toEqual([]);
  expect(await stage.storage.runs.deadLetter(runId)).toMatchObject({ reason: 'crashed_workers' });
});

test('a run that only shares its workers with a killer is not given up with it (hazard 20)', async () => {
  const { job: killer, runId: killerRun } = await stage.world.oneOff();
  // In a lane of its own, whatever the ids: a suspect that pauses loses its turn in a lane that it shares.
  const { job: innocent, runId: innocentRun } = await stage.world.oneOff({ job: { priority: 'low' } });
  for (let crashes = 1; crashes <= CRASHES_MAX; crashes += 1) {
    stage.clock.advance(SUSPECT_PAUSE_MS_MAX);
    const workerId = newId<typeof stage.world.workerId>();
    await stage.world.register(workerId, { nowMs: stage.clock.now() });
    await stage.world.claimOne(killer, { workerId, nowMs: stage.clock.now() });
    if (crashes > 1) await stage.world.claimOne(innocent, { workerId, nowMs: stage.clock.now() });
    await passSilence();
  }
  expect(await stage.storage.runs.deadLetter(killerRun)).toMatchObject({ reason: 'crashed_workers' });
  expect(await stage.storage.runs.deadLetter(innocentRun)).toBeUndefined();
  expect(await stage.world.pendingRuns(innocent)).toMatchObject([{ runId: innocentRun, attempt: 1 }]);
});

test('a job that somebody holds locked keeps nobody else from being recovered (hazard 47)', async () => {
  const { leases, members } = stage.storage;
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => stage.world.oneOff()));
  const heldUp = await stage.world.claimOne(first!.job);
  await stage.world.claimOne(second!.job);
  const settle = leases.settle.bind(leases);
  leases.settle = async (settlements, nowMs) => {
    if (settlements.some(({ leaseId }) => leaseId === heldUp.leaseId)) throw new StorageTimeout('locked');
    return settle(settlements, nowMs);
  };
  await passSilence();
  expect(await stage.world.pendingRuns(second!.job)).toHaveLength(1);

  const other = newId<WorkerId>();
  await stage.world.claimOne(third!.job, { workerId: other });
  await passSilence();
  expect(await stage.world.pendingRuns(third!.job)).toHaveLength(1);

  leases.settle = settle;
  await passSeconds(1);
  expect(await stage.world.pendingRuns(first!.job)).toHaveLength(1);
  expect(await members.workers()).toEqual([]);
});

test('what could not be taken back is tried again with the next pass', async () => {
  const { job } = await stage.world.oneOff();
  await stage.world.claimOne(job);
  await passSeconds(SILENT_MS / 1_000);
  breakage.deaf = true;
  await expect(passSeconds(1)).rejects.toThrow();
  breakage.deaf = false;
  await passSilence();
  expect(await stage.world.pendingRuns(job)).toHaveLength(1);
});

test('one that cannot be taken over does not keep the next from being noticed (hazard 29)', async () => {
  const { leases } = stage.storage;
  const { leasedBy } = leases;
  leases.leasedBy = () => Promise.reject(new Error('timed out'));
  const other = newId<WorkerId>();
  const passing = async (seconds: number) => {
    for (let i = 0; i < seconds; i += 1) await passSeconds(1).catch(() => {});
  };
  await passing(SILENT_MS / 1_000 + 1);
  await stage.world.register(other, { nowMs: stage.clock.now() });
  await passing(SILENT_MS / 1_000 + 1);
  const dead = (await stage.storage.members.workers()).filter(({ alive }) => !alive);
  expect(dead.map(({ workerId }) => workerId).toSorted()).toEqual([other, stage.world.workerId].toSorted());
  leases.leasedBy = leasedBy;
  await passing(1);
  expect(await stage.storage.members.workers()).toEqual([]);
});

test.each([-86_400_000, -60_000, 60_000, 86_400_000])(
  'hazard 7: a step of the storage’s clock by %d ms makes nobody look silent, and nobody alive',
  async (byMs) => {
    const { job } = await stage.world.oneOff();
    await stage.world.claimOne(job);
    await recovery.runOnce();
    stage.clock.step(byMs);
    for (let i = 0; i < 5; i += 1) {
      await passSeconds(SILENT_MS / 3_000);
      await beat();
    }
    expect(await holding()).toHaveLength(1);
    stage.clock.step(-byMs);
    await passSeconds(SILENT_MS / 1_000 + 1);
    expect(await holding()).toEqual([]);
  },
);

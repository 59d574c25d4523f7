import type { BootId, Job, JobId, NodeId, RunId, WorkerId } from '@carillon/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { EVERY_MINUTE, newId, sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS, DAY_MS, HOUR_MS, MINUTE_MS } from '../storage/conformance/storage-under-test.ts';
import { ALL_SHARDS, manualRun } from '../storage/conformance/storage-world.ts';
import { MemoryAccountStore } from '../storage/memory/memory-account-store.ts';
import { MemoryJobStore } from '../storage/memory/memory-job-store.ts';
import { MemoryMemberStore } from '../storage/memory/memory-member-store.ts';
import { MemoryScheduleStore } from '../storage/memory/memory-schedule-store.ts';
import { emptyState } from '../storage/memory/memory-state.ts';
import type { ShardGuard } from '../storage/schedule-store.ts';
import { type RoleStage, turns } from '../testing/role-stage.fixture.ts';
import { Reconciler, type ReconcilerOptions } from './reconciler.ts';
import { nominalsOf, SchedulerStage } from './scheduler-stage.fixture.ts';

let stage: SchedulerStage;
let role: RoleStage;
let reconciler: Reconciler;
let guard: ShardGuard;

beforeEach(async () => {
  stage = await SchedulerStage.set();
  ({ role } = stage);
  ({ guard } = role.world);
  reconciler = create();
});

function create(over: Partial<ReconcilerOptions> = {}): Reconciler {
  const { scheduler, store } = stage;
  const { common, signals } = role;
  return new Reconciler({ ...common, store, scheduler, signals, guard: () => guard, ...over });
}

const recurring = (over: Partial<Job> = {}) => role.world.recurring({ job: over });
const deadLetter = (runId: RunId) => role.storage.runs.deadLetter(runId);

describe('a run that waited longer for its start than it may (hazard 16)', () => {
  test('is given up unrun, and readers of events hear of it', async () => {
    const events = stage.sent('events-recorded');
    const { runIds } = await role.oneOffs(1, { job: { startTimeoutMs: 1_000 } });
    role.clock.advance(1_000);
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toBeUndefined();
    role.clock.advance(1);
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toMatchObject({ reason: 'never_started' });
    expect(await stage.take()).toEqual([]);
    expect(events).toHaveLength(1);
  });

  test('is given up behind the limit of its job as well', async () => {
    const job = await recurring({ startTimeoutMs: 1_000 });
    await stage.at(0);
    const runId = await stage.runNow(job);
    await stage.rest();
    role.clock.advance(1_001);
    await reconciler.runOnce();
    expect(await deadLetter(runId)).toMatchObject({ reason: 'never_started' });
  });

  test('is given up with all others in one pass, however many they are', async () => {
    await role.oneOffs(2_500, { job: { startTimeoutMs: 1_000 } });
    role.clock.advance(1_001);
    await reconciler.runOnce();
    expect(await stage.take()).toEqual([]);
  });

  test('is not one that runs already, and not one of a paused job', async () => {
    await role.oneOffs(1, { job: { startTimeoutMs: 1_000 } });
    const [running] = await stage.take();
    const { jobs } = await role.oneOffs(1, { job: { startTimeoutMs: 1_000 } });
    await role.world.pause(jobs[0]!.jobId);
    role.clock.advance(HOUR_MS);
    await reconciler.runOnce();
    expect(await deadLetter(running!.runId)).toBeUndefined();
    expect(await role.storage.runs.pending(jobs[0]!.jobId, 10)).toHaveLength(1);
  });

  test('is left to the owner of its shard', async () => {
    const { runIds } = await role.oneOffs(1, { job: { startTimeoutMs: 1_000 } });
    role.clock.advance(1_001);
    guard = { nodeId: newId<NodeId>(), epochs: guard.epochs };
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toBeUndefined();
  });
});

describe('a handler that nobody offers (hazard 21)', () => {
  test('lets its run be given up after a day, as a dead letter that says why', async () => {
    const { runIds } = await role.oneOffs(1, { job: { handler: 'gpu' } });
    await reconciler.runOnce();
    role.clock.advance(DAY_MS + MINUTE_MS);
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toMatchObject({
      reason: 'never_started',
      error: expect.stringContaining('gave up after 24 hours'),
    });
  });

  test('lets nothing be given up by one who has not watched for a day: nobody was there to run it', async () => {
    const { runIds } = await role.oneOffs(1, { job: { handler: 'gpu' } });
    role.clock.advance(3 * DAY_MS);
    await reconciler.runOnce();
    role.clock.advance(DAY_MS - MINUTE_MS);
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toBeUndefined();
    role.clock.advance(2 * MINUTE_MS);
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toBeDefined();
  });

  test('lets nothing be given up because the wall clock was set forward, or the machine slept', async () => {
    const { runIds } = await role.oneOffs(1, { job: { handler: 'gpu' } });
    await reconciler.runOnce();
    role.clock.step(2 * DAY_MS);
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toBeUndefined();
  });

  test('is another matter than one that some living worker offers, however busy', async () => {
    const { runIds } = await role.oneOffs(1);
    await reconciler.runOnce();
    role.clock.advance(2 * DAY_MS);
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toBeUndefined();
  });

  test.each(['was lost', 'left'])(
    'counts from when its last worker %s, not from when the run began to wait',
    async (how) => {
      const { runIds } = await role.oneOffs(1);
      const { members } = role.storage;
      const { workerId } = role.world;
      await reconciler.runOnce();
      role.clock.advance(2 * DAY_MS);
      await members.beatWorker(workerId, role.clock.now());
      if (how === 'was lost') await role.world.markDead(workerId);
      await members.forgetWorkers([workerId]);
      role.clock.advance(DAY_MS - MINUTE_MS);
      await reconciler.runOnce();
      expect(await deadLetter(runIds[0]!)).toBeUndefined();
      role.clock.advance(HOUR_MS);
      await reconciler.runOnce();
      expect(await deadLetter(runIds[0]!)).toMatchObject({ reason: 'never_started' });
    },
  );

  test('counts anew when a worker offered it in between', async () => {
    const { runIds } = await role.oneOffs(1, { job: { handler: 'gpu' } });
    const { members } = role.storage;
    const { nodeId, bootId } = role.world;
    await reconciler.runOnce();
    role.clock.advance(DAY_MS - HOUR_MS);
    const workerId = newId<WorkerId>();
    const worker = { workerId, nodeId, bootId, incarnation: 1, session: 0, slots: 1, handlers: ['gpu'] };
    await members.registerWorker(worker, role.clock.now());
    await members.forgetWorkers([workerId]);
    role.clock.advance(2 * HOUR_MS);
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toBeUndefined();
    role.clock.advance(DAY_MS);
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toBeDefined();
  });

  test('is looked for now and then only', async () => {
    await reconciler.runOnce();
    role.clock.advance(2 * DAY_MS);
    for (let i = 0; i < 10; i += 1) {
      await reconciler.runOnce();
      role.clock.advance(1_000);
    }
    expect(stage.breakage.calls.expireUnoffered).toBe(1);
  });
});

describe('a run that waits though there is room (hazard 37)', () => {
  test('is let in, whatever was lost', async () => {
    await recurring();
    const [first] = await stage.at(0);
    await stage.at(MINUTE_MS);
    await stage.at(MINUTE_MS + 100);
    await stage.finish(first!, { told: false });
    await reconciler.runOnce();
    expect(nominalsOf(await stage.at(MINUTE_MS + 100))).toEqual([MINUTE_MS]);
  });

  test('is let in when the job may run more at a time since an edit', async () => {
    const job = await recurring();
    await stage.at(0);
    await stage.at(MINUTE_MS);
    await stage.at(MINUTE_MS + 100);
    await role.world.change(job.jobId, { maxConcurrency: 2 }, { kind: 'keep' }, role.clock.now());
    await reconciler.runOnce();
    expect(await stage.at(MINUTE_MS + 100)).toHaveLength(1);
  });

  test('is left waiting when there is none', async () => {
    await recurring();
    await stage.at(0);
    await stage.at(MINUTE_MS);
    await reconciler.runOnce();
    expect(await stage.at(MINUTE_MS + 500)).toEqual([]);
  });

  test('as the newest of a job that replaces asks the oldest to stop once more', async () => {
    await recurring({ overlap: 'replace' });
    const [first] = await stage.at(0);
    await stage.at(MINUTE_MS);
    stage.stopAsked.length = 0;
    await reconciler.runOnce();
    expect(stage.stopAsked).toEqual([first!.runId]);
  });
});

test('a slot that belongs to no run becomes free (hazard 13)', async () => {
  const { clock, common, signals } = role;
  const state = emptyState(() => clock.now());
  const [jobs, store] = [new MemoryJobStore(state), new MemoryScheduleStore(state)];
  const job = sampleJob({ schedule: EVERY_MINUTE });
  const { namespace, jobId } = job;
  await new MemoryAccountStore(state).createNamespace({
    name: namespace,
    description: '',
    createdAtMs: BASE_MS,
  });
  const cursor = { fireAtMs: BASE_MS + HOUR_MS, nominalAtMs: BASE_MS + HOUR_MS };
  await jobs.insert([{ job, first: { kind: 'cursor', cursor }, idempotency: undefined }]);
  const nodeId = newId<NodeId>();
  const epochs = await new MemoryMemberStore(state, clock).acquireShards({
    ...{ nodeId, bootId: newId<BootId>(), shards: ALL_SHARDS, nowMs: BASE_MS, ttlMs: DAY_MS },
  });
  state.admissions.take(jobId, newId<RunId>(), 1);
  const asked: JobId[] = [];
  const scheduler = { admitSoon: (ids: Iterable<JobId>) => void asked.push(...ids), replace: async () => {} };
  await jobs.enqueue(jobId, manualRun());
  await new Reconciler({ ...common, store, scheduler, signals, guard: () => ({ nodeId, epochs }) }).runOnce();
  expect(asked).toEqual([jobId]);
  expect(state.admissions.count(jobId)).toBe(0);
});

describe('a pass', () => {
  test('of a node that owns nothing asks nothing of the storage', async () => {
    guard = { nodeId: guard.nodeId, epochs: new Map() };
    expect(await reconciler.runOnce()).toBe(1_000);
    expect(stage.breakage.calls).toEqual({});
  });

  test('takes a twentieth of the time at most', async () => {
    const slow = new Proxy(stage.store, {
      get: (target, name) => {
        if (name === 'reconcile') role.clock.advance(100);
        return Reflect.get(target, name);
      },
    });
    expect(await create({ store: slow }).runOnce()).toBe(2_000);
  });

  test('that failed is followed by another, and loses nothing', async () => {
    const { runIds } = await role.oneOffs(1, { job: { startTimeoutMs: 1_000 } });
    role.clock.advance(1_001);
    stage.breakage.down = true;
    await expect(reconciler.runOnce()).rejects.toThrow();
    stage.breakage.down = false;
    await reconciler.runOnce();
    expect(await deadLetter(runIds[0]!)).toBeDefined();
  });

  test('is made at once when it is told that slots became free somewhere', async () => {
    reconciler.start();
    await turns();
    const before = stage.breakage.calls.reconcile;
    role.signals.send('slots-freed', { jobIds: [] });
    await turns();
    expect(stage.breakage.calls.reconcile).toBe(before! + 1);
    await reconciler.stop();
  });
});

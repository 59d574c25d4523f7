/**
 * A cursor, or a run that asks for a slot of its job, that is older than what a sweep looks over is found again by the full sweep
 * only, once a minute: so nothing may be passed over when shards come and go. The same for a run in a lane that a claim has
 * looked at and not taken.
 */
import type { ClaimedBatch, Job } from '@carillon/domain';
import { beforeEach, describe, expect, it } from 'vitest';
import { StorageBacklog } from '../../packages/server/src/backlog/storage-backlog.ts';
import { Dispatcher } from '../../packages/server/src/dispatcher/dispatcher.ts';
import { Scheduler } from '../../packages/server/src/scheduler/scheduler.ts';
import { BASE_MS, DAY_MS } from '../../packages/server/src/storage/conformance/storage-under-test.ts';
import { manualRun } from '../../packages/server/src/storage/conformance/storage-world.ts';
import type { ScheduleStore, ShardGuard } from '../../packages/server/src/storage/schedule-store.ts';
import { RoleStage, turns } from '../../packages/server/src/testing/role-stage.fixture.ts';

const OVERDUE_MS = 20_000;
const PROMPT_MS = 5_000;

let stage: RoleStage;
let guard: ShardGuard;
let handed: ClaimedBatch[];
let beforeRead: () => Promise<void>;
let scheduler: Scheduler;
let dispatcher: Dispatcher;

beforeEach(async () => {
  stage = await RoleStage.set();
  guard = stage.world.guard;
  handed = [];
  beforeRead = async () => undefined;
  stage.link.attach({
    workerId: stage.world.workerId,
    slots: 10,
    runningCount: 0,
    unrecordedLeft: Number.POSITIVE_INFINITY,
    unrecordedCount: 0,
    heldBy: () => new Map(),
    handlers: ['http'],
    accept: (batch) => handed.push(batch),
  });
  const { schedule, leases, members } = stage.storage;
  const store: ScheduleStore = Object.assign(Object.create(schedule) as ScheduleStore, {
    readCursors: async (...given: Parameters<ScheduleStore['readCursors']>) => {
      await beforeRead();
      return schedule.readCursors(...given);
    },
    readPlanned: async (...given: Parameters<ScheduleStore['readPlanned']>) => {
      await beforeRead();
      return schedule.readPlanned(...given);
    },
  });
  for (const name of ['fire', 'admit', 'replace'] as const)
    Object.assign(store, { [name]: schedule[name].bind(schedule) });
  const { common, signals, link } = stage;
  const bounds = { windowMs: 300_000, rowsPerShard: 1_000 };
  scheduler = new Scheduler({ ...common, ...bounds, signals, store, guard: () => guard });
  const backlog = new StorageBacklog({ ...common, signals, leases });
  dispatcher = new Dispatcher({
    ...common,
    backlog,
    leases,
    link,
    members,
    signals,
    nodeId: stage.world.nodeId,
  });
});

/** How long it takes until a run is handed out, both roles making a pass every 100 ms. */
async function handedOutAfterMs(): Promise<number> {
  for (let ms = 0; ms <= 90_000; ms += 100) {
    await scheduler.runOnce();
    await dispatcher.runOnce();
    await turns();
    if (handed.length > 0) return ms;
    await stage.advance(100);
  }
  return Number.POSITIVE_INFINITY;
}

const OWNED: [string, () => Promise<Job>][] = [
  ['a schedule', () => stage.world.recurring()],
  [
    'a run that asks for a slot',
    async () => {
      const job = await stage.world.recurring({ atMs: BASE_MS + DAY_MS });
      await stage.storage.jobs.enqueue(job.jobId, manualRun());
      return job;
    },
  ],
];

describe.each(OWNED)('%s that is overdue', (_, add) => {
  let job: Job;

  beforeEach(async () => {
    job = await add();
    stage.clock.advance(OVERDUE_MS);
  });

  it('in a shard that was gained during a pass of the scheduler is handed out promptly', async () => {
    const all = guard;
    // Begins without its shard; while it reads the others, the node gains it.
    guard = { nodeId: all.nodeId, epochs: new Map([...all.epochs].filter(([shard]) => shard !== job.shard)) };
    beforeRead = async () => {
      guard = all;
    };
    await scheduler.runOnce();
    expect(guard).toBe(all);
    expect(await handedOutAfterMs()).toBeLessThan(PROMPT_MS);
  });

  it('in a shard that was lost during a pass, and gained again, is handed out promptly', async () => {
    const all = guard;
    beforeRead = async () => {
      guard = { nodeId: all.nodeId, epochs: new Map() };
    };
    await stage.storage.members.releaseShards(all);
    await scheduler.runOnce();
    beforeRead = async () => undefined;
    await scheduler.runOnce();
    expect(handed).toEqual([]);
    guard = await stage.world.own(stage.world.nodeId, stage.clock.now());
    expect(await handedOutAfterMs()).toBeLessThan(PROMPT_MS);
  });

  it('and waited while a renewal was late is handed out promptly', async () => {
    const all = guard;
    guard = { nodeId: all.nodeId, epochs: new Map() };
    await scheduler.runOnce();
    await dispatcher.runOnce();
    guard = all;
    expect(await handedOutAfterMs()).toBeLessThan(PROMPT_MS);
  });
});

it('a run whose worker was given up for dead is handed out promptly to the one that came back', async () => {
  const { members } = stage.storage;
  await stage.world.oneOff();
  stage.clock.advance(OVERDUE_MS);
  await stage.world.markDead(stage.world.workerId);
  await dispatcher.runOnce();
  await turns();
  expect(handed).toEqual([]);
  await members.forgetWorkers([stage.world.workerId]);
  await stage.world.register(stage.world.workerId, { nowMs: stage.clock.now() });
  expect(await handedOutAfterMs()).toBeLessThan(PROMPT_MS);
});

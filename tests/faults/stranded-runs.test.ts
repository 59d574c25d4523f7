/**
 * A run that the scheduler has passed on and the dispatcher did not start is still due. When it is older than what a sweep
 * looks over, only the full sweep, once a minute, finds it again: so nothing that this node owns may be dropped on the way.
 */
import type { ClaimedBatch } from '@carillon/domain';
import { beforeEach, expect, it } from 'vitest';
import { Dispatcher } from '../../packages/server/src/dispatcher/dispatcher.ts';
import { Scheduler } from '../../packages/server/src/scheduler/scheduler.ts';
import type { ShardGuard } from '../../packages/server/src/storage/shard-guard.ts';
import { RoleStage, turns } from '../../packages/server/src/testing/role-stage.fixture.ts';

const OVERDUE_MS = 20_000;
const PROMPT_MS = 5_000;

let stage: RoleStage;
let guard: ShardGuard;
let shard: number;
let handed: ClaimedBatch[];
let beforeLive: () => Promise<void>;
let scheduler: Scheduler;
let dispatcher: Dispatcher;

beforeEach(async () => {
  stage = await RoleStage.set();
  guard = stage.world.guard;
  handed = [];
  beforeLive = async () => undefined;
  stage.link.attach({
    workerId: stage.world.workerId,
    slots: 10,
    runningCount: 0,
    unrecordedLeft: Number.POSITIVE_INFINITY,
    offers: () => true,
    accept: (batch) => handed.push(batch),
    cancel: () => undefined,
  });
  const { leases } = stage.storage;
  const slow = Object.assign(Object.create(leases) as typeof leases, {
    live: async (shards: readonly number[]) => {
      await beforeLive();
      return leases.live(shards);
    },
    claim: leases.claim.bind(leases),
    resolvePending: leases.resolvePending.bind(leases),
  });
  const ports = { ...stage.common, queue: stage.queue, signals: stage.signals, guard: () => guard };
  scheduler = new Scheduler({ ...ports, store: stage.storage.schedule, windowMs: 300_000, rowsMax: 50_000 });
  dispatcher = new Dispatcher({ ...ports, leases: slow, link: stage.link });
  ({ shard } = (await stage.world.oneOff()).job);
  stage.clock.advance(OVERDUE_MS);
});

/** How long it takes until the run is handed out, both roles making a pass every 100 ms. */
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

it('a run of a shard that was gained during a pass of the dispatcher is handed out promptly', async () => {
  const all = guard;
  // Begins without the run's shard; while it reads what is alive in the others, the node gains it and the scheduler passes on.
  guard = { nodeId: all.nodeId, epochs: new Map([...all.epochs].filter(([other]) => other !== shard)) };
  beforeLive = async () => {
    beforeLive = async () => undefined;
    guard = all;
    await scheduler.runOnce();
  };
  await dispatcher.runOnce();
  expect(await handedOutAfterMs()).toBeLessThan(PROMPT_MS);
});

it('a run that waited while a renewal was late is handed out promptly', async () => {
  const all = guard;
  await scheduler.runOnce();
  guard = { nodeId: all.nodeId, epochs: new Map() };
  await dispatcher.runOnce();
  guard = all;
  expect(await handedOutAfterMs()).toBeLessThan(PROMPT_MS);
});

it('a run whose worker was given up for dead is handed out promptly to the one that came back', async () => {
  const { members } = stage.storage;
  await stage.world.bury(stage.world.workerId);
  await scheduler.runOnce();
  await dispatcher.runOnce();
  await turns();
  await members.forgetWorkers([stage.world.workerId]);
  await stage.world.register(stage.world.workerId, { nowMs: stage.clock.now() });
  expect(await handedOutAfterMs()).toBeLessThan(PROMPT_MS);
});

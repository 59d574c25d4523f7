/** Scheduler and reconciler while the storage is slow, or much comes at once. */
import { expect, test } from 'vitest';
import { manualRun } from '../storage/conformance/storage-world.ts';
import { RoleStage } from '../testing/role-stage.fixture.ts';
import { Reconciler } from './reconciler.ts';
import { Scheduler } from './scheduler.ts';

const ARRIVALS_PER_SECOND = 3_000;

test('runs that nobody starts in time are given up as fast as they arrive', async () => {
  const stage = await RoleStage.set();
  const { common, signals, storage, world } = stage;
  const ports = { ...common, signals, store: storage.schedule, guard: () => world.guard };
  const scheduler = new Scheduler({ ...ports, windowMs: 300_000, rowsPerShard: 700 });
  const reconciler = new Reconciler({ ...ports, scheduler });
  let left = 0;
  for (let second = 0; second < 5; second += 1) {
    const { jobs } = await stage.oneOffs(ARRIVALS_PER_SECOND, {
      job: { startTimeoutMs: 1 },
      atMs: stage.clock.now(),
    });
    left += jobs.length;
    stage.clock.advance(10);
    // The passes of this second.
    for (let spentMs = 0; spentMs < 1_000; ) {
      const before = (await storage.runs.deadLetters({ limit: 100_000 } as never)).letters.length;
      const waitMs = Math.max(1, await reconciler.runOnce());
      const after = (await storage.runs.deadLetters({ limit: 100_000 } as never)).letters.length;
      left -= after - before;
      spentMs += waitMs;
      stage.clock.advance(waitMs);
    }
  }
  expect(left).toBeLessThanOrEqual(ARRIVALS_PER_SECOND);
});

test('a cron fires at its instant while letting in runs of another job takes long', async () => {
  const stage = await RoleStage.set();
  const { common, signals, storage, world } = stage;
  const gate = Promise.withResolvers<void>();
  const store = Object.assign(Object.create(storage.schedule) as typeof storage.schedule, {
    // The memory store keeps its state in private fields.
    ...Object.fromEntries(
      (['readCursors', 'readPlanned', 'fire', 'replace', 'reconcile'] as const).map((name) => [
        name,
        (storage.schedule[name] as (...args: unknown[]) => unknown).bind(storage.schedule),
      ]),
    ),
    admit: async (...args: Parameters<typeof storage.schedule.admit>) => {
      await gate.promise;
      return storage.schedule.admit(...args);
    },
  });
  const ports = { ...common, signals, store, guard: () => world.guard };
  const scheduler = new Scheduler({ ...ports, windowMs: 300_000, rowsPerShard: 700 });
  const slow = await world.recurring({ atMs: stage.clock.now() + 3_600_000 });
  await storage.jobs.enqueue(slow.jobId, manualRun(stage.clock.now()));
  const job = await world.recurring({ atMs: stage.clock.now() + 1_000 });
  scheduler.start();
  for (let pass = 0; pass < 50; pass += 1) await stage.advance(100);
  const runs = await world.pendingRuns(job);
  gate.resolve();
  await scheduler.stop();
  expect(runs).toHaveLength(1);
});

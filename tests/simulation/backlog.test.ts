/** What a long backlog must not do: hold up schedules, stand before what is more urgent, or let one tenant have it all. */
import type { JobInput } from '@carillon/domain';
import { expect, it } from 'vitest';
import { MemoryStorage } from '../../packages/server/src/storage/memory/memory-storage.ts';
import { Cluster } from './cluster.ts';
import { ExecutionLog } from './execution-log.ts';
import { type FaultProfile, faultless, faultProfile } from './fault-profile.ts';
import { Observer } from './observer.ts';
import { WORKER_SILENT_MS } from './sim-process.ts';
import { World } from './world.ts';

const GATHERED_MS = 15_000;

/** Some nodes that found each other, where nothing fails. */
async function calmWorld(seed: number, profile: Partial<FaultProfile>) {
  const world = new World(seed);
  const faults = faultless({
    ...faultProfile(world.chance),
    safetyMs: 600_000,
    roles: [],
    remoteWorkers: 0,
    ...profile,
  });
  const storage = new MemoryStorage({ clock: world.clock });
  const observer = new Observer(world, { silentMs: WORKER_SILENT_MS, storage });
  const executions = new ExecutionLog(world, observer);
  const cluster = new Cluster(world, { storage, observer, executions, profile: faults });
  await world.runUntil(GATHERED_MS);
  const create = async (jobs: readonly JobInput[]) => {
    const made = cluster.serving()[0]!.operations.createJobs(jobs);
    await world.runUntil(world.nowMs + 1_000);
    return (await made).map((job) => (job as { jobId: string }).jobId);
  };
  /** Ids of jobs in the order in which runs of theirs started. */
  const started = () =>
    world.trace.events
      .filter(({ what }) => what === 'starts')
      .map(({ about, atMs }) => ({ jobId: about[1]!, atMs }));
  return { world, cluster, observer, create, started };
}

const low = (ms: number, over: Partial<JobInput> = {}): JobInput => ({
  ...{ name: 'low', handler: 'simulated', priority: 'low', payload: { act: 'ok', ms, failures: 0 } },
  ...over,
});

it.each([1, 2, 3])(
  'hazard 38: seed %i: schedules fire at their instant, and urgent runs get the next slot',
  async (seed) => {
    const slots = 4;
    const nodes = seed;
    const { world, observer, create, started } = await calmWorld(seed, { nodes, slots });
    await create(Array.from({ length: 2_000 }, () => low(2_000)));
    const [cron] = await create([
      low(0, { name: 'cron', priority: 'high', cronExpression: '*/5 * * * * *' }),
    ]);
    await world.runUntil(world.nowMs + 60_000);
    expect(world.broken).toBeUndefined();
    expect(observer.fires.latenessMsMax).toBeLessThan(100);
    const runs = started();
    const urgent = runs.filter(({ jobId }) => jobId === cron);
    expect(urgent.length).toBeGreaterThanOrEqual(11);
    for (const { atMs } of urgent) {
      const dueMs =
        Math.floor((world.wallMs - world.nowMs + atMs) / 5_000) * 5_000 - (world.wallMs - world.nowMs);
      const before = runs.filter((run) => run.jobId !== cron && run.atMs > dueMs + 20 && run.atMs < atMs);
      // A claim that was under way in each of the nodes may have taken the slots that became free first.
      expect(before.length).toBeLessThanOrEqual(slots * nodes);
    }
  },
);

it.each([1, 2])(
  'hazard 45: %i nodes: tenants that have much waiting get the same, whoever came first',
  async (nodes) => {
    const { world, create, started } = await calmWorld(nodes, { nodes, slots: 4 });
    const tenants = ['ann', 'bob', 'eve'];
    const owner = new Map<string, string>();
    const give = async (userId: string, count: number) => {
      for (const jobId of await create(Array.from({ length: count }, () => low(1_000, { userId }))))
        owner.set(jobId, userId);
    };
    await give('ann', 2_000);
    await world.runUntil(world.nowMs + 10_000);
    for (const userId of tenants.slice(1)) await give(userId, 300);
    const fromMs = world.nowMs;
    await world.runUntil(fromMs + 60_000);
    const counts = tenants.map(
      (userId) => started().filter(({ jobId, atMs }) => atMs > fromMs && owner.get(jobId) === userId).length,
    );
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.3);
  },
);

it('hazard 40: while nothing can be recorded, no more runs begin than may be repeated (SIM-10)', async () => {
  const profile = { nodes: 1, slots: 256, unrecordedMaxLeast: 1_000 };
  const { world, cluster, observer, create, started } = await calmWorld(6, profile);
  cluster.lockHistory(13_000);
  await create(Array.from({ length: 2_500 }, () => low(0)));
  await world.runUntil(world.nowMs + 11_000);
  expect(observer.unrecorded.most).toBe(1_000);
  expect(started()).toHaveLength(1_000);
  await world.runUntil(world.nowMs + 30_000);
  expect(world.broken).toBeUndefined();
  expect(started()).toHaveLength(2_500);
});

it('hazard 32: what is least urgent and has waited for long gets a share though more urgent runs never end', async () => {
  const { world, create, started } = await calmWorld(5, { nodes: 1, slots: 4 });
  const [oldest] = await create([
    low(100, { scheduleType: 'FUTURE', scheduleTime: new Date(world.wallMs + 2_000).toISOString() }),
  ]);
  const urgent: JobInput = low(900, {
    name: 'urgent',
    priority: 'high',
    maxConcurrency: 20,
    cronExpression: '* * * * * *',
  });
  await create(Array.from({ length: 10 }, () => urgent));
  await world.runUntil(world.nowMs + 14 * 60_000);
  expect(started().some(({ jobId }) => jobId === oldest)).toBe(true);
});

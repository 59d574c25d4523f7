/**
 * One simulation: a safety phase in which everything may fail, then a liveness phase in which nothing does and everything
 * must come to rest in bounded time. Answers what was violated, with the history of whatever it is about.
 */
import type { WorkerHome } from '@carillon/worker';
import { MemoryStorage } from '../../packages/server/src/storage/memory/memory-storage.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import type { LocalWorker } from '../../packages/server/src/worker-link/worker-link.ts';
import { Cluster } from './cluster.ts';
import { ExecutionLog } from './execution-log.ts';
import { type FaultProfile, faultless, faultProfile } from './fault-profile.ts';
import { checkCursors, checkPromises, type Parts, unrest } from './invariants.ts';
import { Observer } from './observer.ts';
import { WORKER_SILENT_MS } from './sim-process.ts';
import { Users } from './users.ts';
import { STEP_FELT_MS, World } from './world.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** Puts a defect between the roles and the storage, to prove that it is found. */
  readonly mutate?: (storage: Storage) => Storage;
  /** The same between dispatchers and workers. */
  readonly mutateWorker?: (worker: LocalWorker) => LocalWorker;
  /** The same between workers on other machines and their homes. */
  readonly mutateHome?: (home: WorkerHome) => WorkerHome;
  /** Puts a defect into the code of a role; answers how to take it out. */
  readonly patch?: () => () => void;
  readonly profile?: Partial<FaultProfile>;
  /** Nothing fails, and nobody changes his mind. */
  readonly calm?: boolean;
}

export interface SimulationResult {
  readonly failure: string | undefined;
  readonly digest: () => number;
  readonly restedAfterMs: number;
  readonly fireLatenessMsMax: number;
  readonly report: () => string;
}

/**
 * Ends a hang, and no more: the slowest work there is are several runs of one job that runs one at a time, each of which takes its
 * 20 s until it has timed out, five times. What must be prompt has invariants of its own.
 */
const LIVENESS_MS = 600_000;
/** When nothing is wrong, a lost hint costs a sweep of a second. */
const PROBE_MS = 4_000;
/** The run of the probe would go on for far longer. */
const CANCEL_MS = 4_000;
const CANCELLED_RUN = { payload: { act: 'ok', ms: 60_000, failures: 0 }, timeoutSeconds: 120 };
/** Calls sent before the faults ended have come back, and whoever waited for them has noticed. */
const CALM_MS = 45_000;

export async function runSimulation(options: SimulationOptions): Promise<SimulationResult> {
  const undo = options.patch?.();
  try {
    return await simulate(options);
  } finally {
    undo?.();
  }
}

async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, mutate, mutateWorker, mutateHome, profile, calm = false } = options;
  const world = new World(seed);
  const chosen = { ...faultProfile(world.chance), ...profile };
  const faults = calm ? faultless(chosen) : chosen;
  const storage = (mutate ?? same)(new MemoryStorage({ clock: world.clock }));
  const observer = new Observer(world, { silentMs: WORKER_SILENT_MS, storage });
  const executions = new ExecutionLog(world, observer);
  const cluster = new Cluster(world, {
    ...{ storage, observer, executions, profile: faults },
    ...(mutateWorker && { mutateWorker }),
    ...(mutateHome && { mutateHome }),
  });
  const users = new Users(world, cluster, { ...faults, fickle: !calm });
  const parts: Parts = { world, storage, cluster, users, observer };

  await world.runUntil(faults.safetyMs);
  cluster.heal();
  observer.fires.promptFrom(world.nowMs + CALM_MS);
  if (faults.backlog > 0) {
    // What is made by a clock that was set, and not read since, seems to have waited for as long as it was set by.
    if (faults.storageClockSteps > 0) await world.runUntil(world.nowMs + STEP_FELT_MS);
    const { dispatchers, executing: workers } = cluster;
    const jobs = users.fill(faults.backlog, { calmMs: CALM_MS, slots: workers * faults.slots });
    observer.shares.expect({ jobs, dispatchers, slots: workers * faults.slots });
  }
  const restedAfterMs = await comeToRest(parts, LIVENESS_MS);
  if (!world.broken) await checkPromises(parts);
  if (!world.broken) await probe(parts);
  return {
    failure: world.broken,
    digest: () => world.trace.digest(),
    restedAfterMs,
    fireLatenessMsMax: observer.fires.latenessMsMax,
    report: () =>
      `seed ${seed}: ${world.broken}\n${JSON.stringify(faults)}\n${world.trace.around(world.broken ?? '')}`,
  };
}

async function comeToRest(parts: Parts, withinMs: number): Promise<number> {
  const { world } = parts;
  const startMs = world.nowMs;
  let why: string | undefined;
  while (!world.broken && world.nowMs < startMs + withinMs) {
    await world.runUntil(world.nowMs + 1_000);
    await checkCursors(parts);
    why = await unrest(parts);
    if (!why) return world.nowMs - startMs;
  }
  world.violate(`not at rest after ${withinMs / 1000} s: ${why}`);
  return withinMs;
}

/** The system is not only at rest, it still works: a new job of each priority runs at once. */
async function probe(parts: Parts): Promise<void> {
  const { world, users } = parts;
  await world.runUntil(world.nowMs + CALM_MS);
  await comeToRest(parts, LIVENESS_MS);
  for (const priority of ['low', 'medium', 'high'] as const) {
    const payload = { act: 'ok', ms: 0, failures: 0 };
    users.create(`probe-${priority}`, { name: `probe-${priority}`, handler: 'simulated', payload, priority });
  }
  await comeToRest(parts, PROBE_MS);
  if (!world.broken) await probeCancel(parts);
  if (!world.broken) await checkPromises(parts);
}

/** SIM-16. */
async function probeCancel({ world, users, observer }: Parts): Promise<void> {
  const job = users.create('probe-cancel', {
    ...{ name: 'probe-cancel', handler: 'simulated', ...CANCELLED_RUN },
  });
  await world.runUntil(world.nowMs + PROBE_MS);
  const run = [...observer.runs.all()].find(({ jobId }) => jobId === job.jobId);
  if (!run?.claim) return world.violate(`job ${job.jobId} is not executed after ${PROBE_MS} ms`);
  users.cancelLatestRun(run.jobId);
  await world.runUntil(world.nowMs + CANCEL_MS);
  if (run.end !== 'CANCELLED')
    world.violate(`run ${run.runId} of job ${run.jobId} goes on ${CANCEL_MS} ms after its cancel`);
}

function same(storage: Storage): Storage {
  return storage;
}

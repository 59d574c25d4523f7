/** For tests of roles: one node over a storage in memory, on a clock that stands still, with ports that can be made to fail. */
import type { Job, RunId } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { MemorySignalBus } from '../signal-bus/memory-signal-bus.ts';
import { sampleJob } from '../storage/conformance/sample-job.ts';
import { BASE_MS } from '../storage/conformance/storage-under-test.ts';
import { onceRun, StorageWorld } from '../storage/conformance/storage-world.ts';
import { laneOf } from '../storage/lane.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import { StorageUnavailable } from '../storage/storage.ts';
import { InProcessWorkerLink } from '../worker-link/in-process-worker-link.ts';

/** What a breakable port does with its next calls. */
export interface Breakage {
  /** Fails before anything happened. */
  down: boolean;
  /** Fails although it happened: the answer is lost. */
  deaf: boolean;
  /** Calls made so far, by name. */
  readonly calls: Record<string, number>;
}

export class RoleStage {
  readonly clock = new ManualClock(BASE_MS);
  readonly random = new SeededRandom(1);
  readonly storage = new MemoryStorage({ clock: this.clock });
  readonly world = new StorageWorld(this.storage);
  readonly signals = new MemorySignalBus({ log: silentLog });
  readonly link = new InProcessWorkerLink();
  readonly common = { clock: this.clock, random: this.random, log: silentLog };

  static async set(): Promise<RoleStage> {
    const stage = new RoleStage();
    await stage.world.prepare();
    return stage;
  }

  /** One-offs in one insert, each in a job of its own. */
  async oneOffs(
    count: number,
    { atMs = BASE_MS, job: over = {} }: { atMs?: number; job?: Partial<Job> } = {},
  ): Promise<{ jobs: Job[]; runIds: RunId[] }> {
    const jobs = Array.from({ length: count }, () => sampleJob(over));
    const runs = jobs.map(() => onceRun(atMs));
    await this.world.house(sampleJob(over));
    await this.storage.jobs.insert(
      jobs.map((job, i) => ({ job, first: { kind: 'run', run: runs[i]! }, idempotency: undefined })),
    );
    return { jobs, runIds: runs.map(({ runId }) => runId) };
  }

  /** Tells that runs of these jobs may be claimed. */
  announce(jobs: readonly Job[], atMs = this.clock.now()): void {
    this.signals.send('runs-open', { lanes: jobs.map((job) => ({ ...laneOf(job), atMs })) });
  }

  /** Moves time and lets everything that waits for it run. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await turns();
  }
}

/** Lets promise callbacks run to their end. */
export function turns(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The same port, which can be told to fail. */
export function breakable<Port extends object>(port: Port): { port: Port; breakage: Breakage } {
  const breakage: Breakage = { down: false, deaf: false, calls: {} };
  const proxy = new Proxy(port, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]) => {
        breakage.calls[String(name)] = (breakage.calls[String(name)] ?? 0) + 1;
        if (breakage.down) throw new StorageUnavailable('the storage is down');
        const answer: unknown = await (method as (...all: unknown[]) => unknown).apply(target, args);
        if (breakage.deaf) throw new StorageUnavailable('the answer was lost');
        return answer;
      };
    },
  });
  return { port: proxy, breakage };
}

/**
 * How processor time splits between the store and the system while something is timed. The store is a server with all its
 * processes, read from /proc; the system is this process and whatever others it names. Read outside of the timing.
 */
import { canReadProcesses, readTreeCpuMs } from './process-tree.ts';

/** Microseconds of one core for each job. */
export type CoreUsPerJob = { readonly store: number; readonly system: number };

export type Timed = {
  readonly seconds: number;
  /** Null where /proc cannot be read. */
  readonly coreUsPerJob: CoreUsPerJob | null;
};

export type CpuSources = { readonly storePid: number; readonly systemPids?: readonly number[] | undefined };

export async function timedWithCpu(options: {
  jobs: number;
  sources: CpuSources;
  work: () => Promise<void>;
}): Promise<Timed> {
  const { jobs, sources, work } = options;
  const before = readCpu(sources);
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  return { seconds, coreUsPerJob: coreUsPerJob(before, readCpu(sources), jobs) };
}

export type CpuReading = { readonly storeMs: number; readonly systemMs: number } | null;

export function readCpu({ storePid, systemPids = [] }: CpuSources): CpuReading {
  if (!canReadProcesses()) return null;
  const { user, system } = process.cpuUsage();
  const othersMs = systemPids.reduce((sum, pid) => sum + readTreeCpuMs(pid), 0);
  return { storeMs: readTreeCpuMs(storePid), systemMs: (user + system) / 1_000 + othersMs };
}

export function coreUsPerJob(before: CpuReading, after: CpuReading, jobs: number): CoreUsPerJob | null {
  if (before === null || after === null) return null;
  return {
    store: ((after.storeMs - before.storeMs) * 1_000) / jobs,
    system: ((after.systemMs - before.systemMs) * 1_000) / jobs,
  };
}

/** The list of workloads, and what each must answer. A workload knows no system by name. */
import type { CoreUsPerJob } from './cpu-time.ts';
import type { System, SystemEnv } from './system.ts';
import { drain } from './workloads/drain.ts';

export type Figures = {
  readonly submitPerSecond: number;
  readonly drainPerSecond: number;
  readonly submitCoreUs: CoreUsPerJob | null;
  readonly drainCoreUs: CoreUsPerJob | null;
};

export type WorkloadRun = {
  readonly system: System;
  readonly env: SystemEnv;
  readonly storePid: number;
  readonly jobCount: number;
  /** Brings the store to rest between phases, outside every timing. */
  readonly settleStore: () => Promise<void>;
};

export interface Workload {
  readonly name: string;
  readonly summary: string;
  /** Starts and stops the system, asserts correctness, and only then answers with figures. */
  run(run: WorkloadRun): Promise<Figures>;
}

export const workloads: readonly Workload[] = [drain];

export function workloadNamed(name: string): Workload {
  const workload = workloads.find((candidate) => candidate.name === name);
  if (!workload)
    throw new Error(`no workload is called ${name}; there are: ${workloads.map((w) => w.name).join(', ')}`);
  return workload;
}

/**
 * The drain workload, which all systems play: submit N no-op jobs in batches, then claim, run and record them all. Two
 * figures come out, each timed alone; between the two phases the store is settled, so that neither pays for the other's
 * leftovers. It knows no system by name.
 */
import { randomUUID } from 'node:crypto';
import { coreUsPerJob, readCpu } from '../process-use.ts';
import type { BenchJob, System, SystemEnv } from '../system.ts';

export type Figures = Awaited<ReturnType<typeof drain.run>>;

export const drain = {
  name: 'drain',
  summary: 'submit N no-op jobs in batches, then claim + run + record them all',

  /** Starts and stops the system, asserts correctness, and only then answers with figures. */
  async run(options: {
    system: System;
    env: SystemEnv;
    storePid: number;
    jobCount: number;
    /** Brings the store to rest between phases, outside every timing. */
    settleStore: () => Promise<void>;
  }) {
    const { system, env, storePid, jobCount, settleStore } = options;
    const jobs = Array.from({ length: jobCount }, () => ({ id: randomUUID() }));
    const ledger = new RunLedger(jobs);
    await system.start(env);
    const timed = async (work: () => Promise<void>) => {
      const sources = { storePid, systemPids: system.processIds };
      const before = readCpu(sources);
      const startedAt = performance.now();
      await work();
      const perSecond = (jobCount * 1_000) / (performance.now() - startedAt);
      return { perSecond, coreUs: coreUsPerJob(before, readCpu(sources), jobCount) };
    };
    try {
      await system.prepare?.(jobs);
      const submitted = await timed(() => system.submit(jobs));
      const accepted = await system.countUnfinished();
      if (accepted !== jobCount) throw new Error(`${jobCount} jobs submitted, the store holds ${accepted}`);
      await settleStore();

      const drained = await timed(() => system.drain((id) => ledger.ran(id), jobCount));
      await system.tellRuns?.((id) => ledger.ran(id));
      await ledger.assertAllRanOnceAndAreRecorded(system);
      return {
        submitPerSecond: submitted.perSecond,
        drainPerSecond: drained.perSecond,
        submitCoreUs: submitted.coreUs,
        drainCoreUs: drained.coreUs,
      };
    } finally {
      await system.stop();
    }
  },
};

/**
 * Counts how often each job ran, and decides whether a run may be called correct at all. No speed is reported for a system
 * that lost a job, ran one twice, ran one nobody submitted, or did not record what it ran.
 */
class RunLedger {
  readonly #runsById: Map<string, number>;
  #unknown = 0;

  constructor(jobs: readonly BenchJob[]) {
    this.#runsById = new Map(jobs.map(({ id }) => [id, 0]));
  }

  ran(id: string): void {
    const runs = this.#runsById.get(id);
    if (runs === undefined) this.#unknown += 1;
    else this.#runsById.set(id, runs + 1);
  }

  async assertAllRanOnceAndAreRecorded(system: System): Promise<void> {
    const faults: string[] = [];
    const times = [...this.#runsById.values()];
    const lost = times.filter((runs) => runs === 0).length;
    const repeated = times.filter((runs) => runs > 1).length;
    if (lost > 0) faults.push(`${lost} never ran`);
    if (repeated > 0) faults.push(`${repeated} ran more than once`);
    if (this.#unknown > 0) faults.push(`${this.#unknown} runs of ids nobody submitted`);

    const unfinished = await system.countUnfinished();
    if (unfinished > 0) faults.push(`${unfinished} still unfinished in the store`);
    const history = await system.countHistory?.();
    if (history !== undefined && history !== this.#runsById.size)
      faults.push(`${history} history rows for ${this.#runsById.size} jobs`);
    if (faults.length > 0) throw new Error(`${system.name} is not correct: ${faults.join('; ')}`);
  }
}

/**
 * The drain workload: submit N no-op jobs in batches, then claim, run and record them all. Two figures come out, each
 * timed alone; between the two phases the store is settled, so that neither pays for the other's leftovers.
 */
import { randomUUID } from 'node:crypto';
import { timedWithCpu } from '../cpu-time.ts';
import { RunLedger } from '../run-ledger.ts';
import type { Workload } from '../workloads.ts';

export const drain: Workload = {
  name: 'drain',
  summary: 'submit N no-op jobs in batches, then claim + run + record them all',

  async run({ system, env, storePid, jobCount, settleStore }) {
    const jobs = Array.from({ length: jobCount }, () => ({ id: randomUUID() }));
    const ledger = new RunLedger(jobs);
    await system.start(env);
    const timed = (work: () => Promise<void>) =>
      timedWithCpu({ jobs: jobCount, sources: { storePid, systemPids: system.processIds }, work });
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
        submitPerSecond: jobCount / submitted.seconds,
        drainPerSecond: jobCount / drained.seconds,
        submitCoreUs: submitted.coreUsPerJob,
        drainCoreUs: drained.coreUsPerJob,
      };
    } finally {
      await system.stop();
    }
  },
};

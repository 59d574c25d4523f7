/** The only run of a one-off is alone no longer: from now on it asks for a slot, or holds one, like the others of its job. */
import type { JobId } from '@carillon/domain';
import type { MemoryState } from './memory-state.ts';

export function limitOneOff({ due, leases, admissions, jobs }: MemoryState, jobId: JobId): void {
  for (const run of due.ofJob(jobId)) {
    if (run.trigger === 'once' && run.state === 'open' && !run.admitted)
      due.put({ ...run, state: 'planned' });
  }
  for (const { run } of leases.ofJob(jobId)) {
    if (run.trigger === 'once' && !admissions.has(jobId, run.runId))
      admissions.take(jobId, run.runId, jobs.get(jobId)?.maxConcurrency ?? 1);
  }
}

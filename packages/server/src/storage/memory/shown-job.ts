/**
 * The status of a job as it is shown. Success of a one-off is written nowhere: it follows from nothing of it being pending or alive
 * any more. A pause that holds back runs is not over by that: they could never be resumed.
 */
import { isRecurring, type Job } from '@carillon/domain';
import type { MemoryState } from './memory-state.ts';

type Tables = Pick<MemoryState, 'due' | 'leases'>;

export function shownJob<Row extends Job | undefined>(tables: Tables, job: Row): Row {
  return job && isOver(tables, job) ? { ...job, status: 'COMPLETED' } : job;
}

function isOver({ due, leases }: Tables, { jobId, schedule, status }: Job): boolean {
  if (isRecurring(schedule) || (status !== 'SCHEDULED' && status !== 'PAUSED')) return false;
  const pending = due.ofJob(jobId);
  if (pending.some(({ trigger, held }) => trigger === 'once' || (held && status === 'PAUSED'))) return false;
  return leases.ofJob(jobId).every(({ run }) => run.trigger !== 'once');
}

/** Pending rows as the scheduler will read them, so that a signal can carry them and nobody has to poll. Pure. */
import { fireTime, isRecurring, type Job } from '@carillon/domain';
import type { Cursor, DueRow, DueRun, FirstDue, NewRun } from '../storage/due.ts';

export function dueRowOf(job: Job, first: FirstDue): DueRow {
  return first.kind === 'run' ? dueRunOf(job, first.run) : cursorOf(job, first.cursor);
}

export function dueRunOf(job: Job, run: NewRun): DueRun {
  const { jobId, shard, priority, handler, maxConcurrency, overlap, startTimeoutMs } = job;
  return {
    kind: 'run',
    jobId,
    runId: run.runId,
    shard,
    priority,
    fireAtMs: run.fireAtMs,
    nominalAtMs: run.nominalAtMs,
    trigger: run.trigger === 'once' ? 'schedule' : run.trigger,
    attempt: 1,
    handler,
    maxConcurrency,
    overlap,
    startTimeoutMs,
  };
}

/** The rows of a plan that was kept. The run of a one-off is known to the storage alone. */
export function keptRowsOf(job: Job, plannedNominalMs: number | undefined): DueRow[] {
  const { schedule, jobId } = job;
  if (plannedNominalMs === undefined || !isRecurring(schedule)) return [];
  const fireAtMs = fireTime({ schedule, jobId, nominalMs: plannedNominalMs });
  return [cursorOf(job, { nominalAtMs: plannedNominalMs, fireAtMs })];
}

function cursorOf(job: Job, place: Pick<Cursor, 'fireAtMs' | 'nominalAtMs'>): Cursor {
  const { jobId, shard, priority, version, schedule, misfire } = job;
  if (!isRecurring(schedule)) throw new Error(`job ${jobId} has a cursor but no recurring schedule`);
  const { handler, maxConcurrency, overlap, startTimeoutMs } = job;
  return {
    kind: 'cursor',
    jobId,
    shard,
    priority,
    fireAtMs: place.fireAtMs,
    nominalAtMs: place.nominalAtMs,
    jobVersion: version,
    schedule,
    misfire,
    handler,
    maxConcurrency,
    overlap,
    startTimeoutMs,
  };
}

/**
 * The first pending row of a schedule: what must be written together with the job so that its next occurrence is
 * neither lost nor doubled. Pure.
 */
import {
  fireTime,
  isRecurring,
  type JobId,
  nextFire,
  occurrenceRunId,
  type RunId,
  type Schedule,
} from '@carillon/domain';
import type { FirstDue } from '../../storage/due.ts';

export interface PlanRequest {
  readonly jobId: JobId;
  readonly schedule: Schedule;
  readonly nowMs: number;
  /** The job is being created: the first run of a one-off takes the job's id, so that no index is needed to find it. */
  readonly isNew?: boolean;
  /** The last occurrence that was fired: the plan comes after it, even when the clock was set back. */
  readonly lastNominalMs?: number | undefined;
  /** An occurrence that is due and not fired yet. A recurring plan keeps it: the new rule counts from after it. */
  readonly overdueNominalMs?: number | undefined;
}

/** undefined: no occurrence lies ahead. */
export function planFirst(request: PlanRequest): FirstDue | undefined {
  const {
    jobId,
    schedule,
    nowMs,
    isNew = false,
    lastNominalMs = Number.NEGATIVE_INFINITY,
    overdueNominalMs,
  } = request;
  if (!isRecurring(schedule)) {
    // A time that has passed means now: an old instant would make the run more urgent than all others.
    const wantedMs = schedule.type === 'FUTURE' ? Math.max(schedule.atMs, nowMs) : nowMs;
    const atMs = Math.max(wantedMs, lastNominalMs + 1);
    // A later plan of the same job gets another id: a run of the earlier plan may have started.
    const runId = isNew ? (jobId as string as RunId) : occurrenceRunId(jobId, atMs);
    return { kind: 'run', run: { runId, fireAtMs: atMs, nominalAtMs: atMs, trigger: 'once', endsJob: true } };
  }
  const nominalMs = overdueNominalMs ?? nextFire(schedule, Math.max(nowMs, lastNominalMs));
  if (nominalMs === undefined) return undefined;
  const fireAtMs = fireTime({ schedule, jobId, nominalMs });
  return { kind: 'cursor', cursor: { nominalAtMs: nominalMs, fireAtMs } };
}

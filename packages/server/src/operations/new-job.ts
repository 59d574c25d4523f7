/** A job and its first pending row, made from a request: what the way in takes. The same for one job and for a thousand. */
import {
  type Caller,
  defineJob,
  homeOf,
  type Job,
  type JobId,
  type JobInput,
  Refusal,
  type RunId,
  requireMay,
  shardOf,
} from '@carillon/domain';
import type { InsertedJob, NewJob } from '../storage/job-store.ts';
import type { Change } from './audit-log.ts';
import type { OperationPorts } from './operation-ports.ts';
import { planFirst } from './plan-first.ts';
import { requestHash } from './request-hash.ts';

/** created false: this request was accepted before, under the same idempotency key. */
export interface CreatedJob {
  readonly jobId: JobId;
  readonly created: boolean;
}

export function newJob(
  input: JobInput,
  {
    caller,
    idempotencyKey,
    ports,
  }: { caller: Caller; idempotencyKey: string | undefined; ports: OperationPorts },
): NewJob {
  const nowMs = ports.clock.now();
  const definition = defineJob(
    {
      ...input,
      namespace: input.namespace ?? homeOf(caller),
      userId: input.userId ?? caller.userId,
    },
    nowMs,
  );
  requireMay(caller, 'jobs.create', definition);
  const jobId = ports.random.id() as JobId;
  const runId = ports.random.id() as RunId;
  const first = planFirst({ jobId, schedule: definition.schedule, nowMs, runId });
  if (!first) throw new Refusal('schedule_never_fires', 'The schedule has no occurrence from now on.');
  const job: Job = {
    ...definition,
    jobId,
    shard: shardOf(jobId),
    version: 1,
    status: 'SCHEDULED',
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const idempotency =
    idempotencyKey === undefined ? undefined : { key: idempotencyKey, requestHash: requestHash(input) };
  return { job, first, idempotency };
}

export function createdJob(inserted: InsertedJob): CreatedJob {
  if (inserted.kind === 'conflict') {
    const message = `The Idempotency-Key was used before, for another request (job ${inserted.jobId}).`;
    throw new Refusal('idempotency_key_reused', message, { field: 'Idempotency-Key' });
  }
  return { jobId: inserted.jobId, created: inserted.kind === 'inserted' };
}

export function createdChange({ jobId, namespace, name, handler, schedule }: Job): Change {
  const after = { name, handler, scheduleType: schedule.type };
  return { action: 'jobs.create', namespace, subject: { kind: 'job', id: jobId }, after };
}

/** Adds a run that a person asked for, past the schedule: once per idempotency key, at once, and written down. */
import type { Action, Caller, Job, JobId, RunId } from '@carillon/domain';
import type { NewRun } from '../storage/due.ts';
import { announceChange } from './announce.ts';
import { auditEntry, jobSubject } from './audit-log.ts';
import { jobCancelled, jobNotFound } from './change-job.ts';
import { derivedRunId } from './derived-run-id.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface AskedRun {
  readonly jobId: JobId;
  readonly runId: RunId;
  /** False: it was asked for before, under the same key. */
  readonly added: boolean;
}

export interface RunRequest {
  readonly caller: Caller;
  readonly action: Extract<Action, 'jobs.run' | 'runs.rerun'>;
  readonly job: Job;
  /** The occurrence that the run stands for. */
  readonly nominalAtMs: number;
  /** What a key is remembered with: the same key for something else is another run. */
  readonly subject: string;
  readonly idempotencyKey: string | undefined;
  readonly details?: object;
}

export async function addAskedRun(ports: OperationPorts, request: RunRequest): Promise<AskedRun> {
  const { caller, action, job, nominalAtMs, subject, idempotencyKey: key } = request;
  const { jobs } = ports.storage;
  const { jobId } = job;
  const runId =
    key === undefined ? (ports.random.id() as RunId) : derivedRunId({ purpose: action, subject, key });
  const run: NewRun = { runId, fireAtMs: ports.clock.now(), nominalAtMs, trigger: 'manual', endsJob: false };
  const change = { action, ...jobSubject(job), after: { runId, ...request.details } };
  const audit = auditEntry(caller, change, ports.clock.now());
  const enqueued =
    key === undefined
      ? (await jobs.enqueue(jobId, run, audit)) && 'added'
      : await jobs.enqueueOnce(jobId, run, audit);
  if (enqueued === 'known') return { jobId, runId, added: false };
  if (enqueued !== 'added') throw (await jobs.get(jobId)) ? jobCancelled(jobId) : jobNotFound(jobId);
  announceChange(ports, job, run.fireAtMs);
  return { jobId, runId, added: true };
}

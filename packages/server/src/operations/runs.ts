/** Runs: read, cancel and repeat them, and start a run of a job outside its schedule. */
import { createHash } from 'node:crypto';
import {
  type Action,
  type Caller,
  isFinal,
  type Job,
  type JobId,
  Refusal,
  type RunId,
  requireMay,
  runsShownTo,
  sees,
  visibleTo,
} from '@carillon/domain';
import { auditEntry, jobSubject } from '../audit/audit-log.ts';
import type { NewRun } from '../storage/due.ts';
import type { RunPage, RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';
import { announceChange } from './support/announce.ts';
import { jobGone, jobNotFound, runNotFound, visibleJob, visibleRun } from './support/visibility.ts';

export interface RunDetails {
  readonly latest: RunView;
  /** Latest first. */
  readonly attempts: readonly RunView[];
}

/** ended: it was waiting, and is cancelled. asked: it is running, and was asked to stop. */
export type CancelledRun = 'asked' | 'ended';

export interface RequestedRun {
  readonly jobId: JobId;
  readonly runId: RunId;
  /** False: it was requested before, under the same key. */
  readonly added: boolean;
}

export function runOperations(ports: OperationPorts) {
  const { storage, clock, signals } = ports;

  return {
    async getRun(caller: Caller, runId: RunId): Promise<RunDetails> {
      const { attempts, job } = await visibleRun(ports, { caller, runId, action: 'runs.read' });
      const shown = runsShownTo(caller, job, attempts);
      return { latest: shown[0]!, attempts: shown };
    },

    /** Newest first. History outlives its job: a deleted job may still have runs. */
    async listRuns(caller: Caller, jobId: JobId, page: RunPage): Promise<RunView[]> {
      const job = await storage.jobs.get(jobId);
      if (job && !sees(caller, job)) throw jobNotFound(jobId);
      requireMay(caller, 'runs.read', job);
      const runs = await storage.runs.ofJob(jobId, page, clock.now());
      // The namespace of a deleted job is unknown: only callers who see every job see its runs.
      if (!job && (runs.length === 0 || visibleTo(caller, 'runs.read') !== undefined))
        throw jobNotFound(jobId);
      return runsShownTo(caller, job, runs);
    },

    /** The latest attempts of a job, from which its log is written. */
    async getJobLogs(caller: Caller, jobId: JobId, query: { limit: number }): Promise<RunView[]> {
      const job = await visibleJob(ports, { caller, jobId, action: 'runs.read' });
      return runsShownTo(caller, job, await storage.runs.ofJob(jobId, { limit: query.limit }, clock.now()));
    },

    /** A waiting run ends at once, a running one is asked to stop. Its job and its other runs go on. */
    async cancelRun(caller: Caller, runId: RunId): Promise<CancelledRun> {
      const { latest, job } = await visibleRun(ports, { caller, runId, action: 'runs.cancel' });
      const nowMs = clock.now();
      const subject = { kind: 'run', id: runId };
      const audit = auditEntry(caller, { action: 'runs.cancel', namespace: job?.namespace, subject }, nowMs);
      const verdict = await storage.jobs.cancelRun(runId, nowMs, audit);
      switch (verdict) {
        case 'unknown':
          throw runNotFound(runId);
        case 'finished':
          throw new Refusal('run_already_finished', `The run ${runId} has ended already.`);
        case 'asked':
          signals.send('cancel-requested', { runIds: [runId] });
          return verdict;
        case 'ended':
          signals.send('slots-freed', { jobIds: [latest.jobId] });
          return verdict;
      }
    },

    /** A new run of the job as it is now, for the same occurrence. The finished run stays in the history. */
    async rerunRun(
      caller: Caller,
      runId: RunId,
      { idempotencyKey }: { idempotencyKey?: string | undefined } = {},
    ): Promise<RequestedRun> {
      const action = 'runs.rerun';
      const { latest, job } = await visibleRun(ports, { caller, runId, action });
      if (!job) throw jobNotFound(latest.jobId);
      if (!isFinal(latest.status)) {
        throw new Refusal('run_not_finished', `The run ${runId} has not ended yet (${latest.status}).`);
      }
      const [nominalAtMs, details] = [latest.scheduledAtMs, { rerunOf: runId }];
      return await addRun(ports, {
        caller,
        action,
        job,
        nominalAtMs,
        subject: runId,
        idempotencyKey,
        details,
      });
    },

    /** Also while the job is paused. The limits of the job hold; its plan is unchanged. */
    async runJobNow(
      caller: Caller,
      jobId: JobId,
      { idempotencyKey }: { idempotencyKey?: string | undefined } = {},
    ): Promise<RequestedRun> {
      const action = 'jobs.run';
      const job = await visibleJob(ports, { caller, jobId, action });
      const nominalAtMs = clock.now();
      return await addRun(ports, { caller, action, job, nominalAtMs, subject: jobId, idempotencyKey });
    },
  };
}

interface RunRequest {
  readonly caller: Caller;
  readonly action: Extract<Action, 'jobs.run' | 'runs.rerun'>;
  readonly job: Job;
  /** The occurrence that the run stands for. */
  readonly nominalAtMs: number;
  /** An idempotency key counts per subject: the same key for another subject is another run. */
  readonly subject: string;
  readonly idempotencyKey: string | undefined;
  readonly details?: object;
}

/** Adds a run that a person requested: once per idempotency key, due at once, and recorded in the audit log. */
async function addRun(ports: OperationPorts, request: RunRequest): Promise<RequestedRun> {
  const { caller, action, job, nominalAtMs, subject, idempotencyKey: key } = request;
  const { jobs } = ports.storage;
  const { jobId } = job;
  const nowMs = ports.clock.now();
  const runId =
    key === undefined ? (ports.random.id() as RunId) : derivedRunId({ purpose: action, subject, key });
  const run: NewRun = { runId, fireAtMs: nowMs, nominalAtMs, trigger: 'manual', endsJob: false };
  const change = { action, ...jobSubject(job), after: { runId, ...request.details } };
  const audit = auditEntry(caller, change, nowMs);
  const result =
    key === undefined
      ? (await jobs.enqueue(jobId, run, audit)) && 'added'
      : await jobs.enqueueOnce(jobId, run, audit);
  if (result === 'known') return { jobId, runId, added: false };
  if (result !== 'added') throw await jobGone(ports, jobId);
  announceChange(ports, job, nowMs);
  return { jobId, runId, added: true };
}

/** The same key for the same subject gives the same run, through whichever server, without a table of keys. */
function derivedRunId(parts: { purpose: string; subject: string; key: string }): RunId {
  // None of the parts can hold a line break.
  const digest = createHash('sha256')
    .update(`${parts.purpose}\n${parts.subject}\n${parts.key}`)
    .digest('hex');
  // UUID version 8 of RFC 9562: a custom rule.
  const variant = ((Number.parseInt(digest[16]!, 16) & 0x3) | 0x8).toString(16);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join('-') as RunId;
}

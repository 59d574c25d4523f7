/** Runs: read, cancel and repeat them, and start a run of a job outside its schedule. */
import { createHash } from 'node:crypto';
import {
  type Action,
  actorOf,
  actorText,
  type Caller,
  callerKey,
  EVERYWHERE,
  isFinal,
  type Job,
  type JobId,
  type JsonObject,
  type Moment,
  may,
  Refusal,
  type RunId,
  type RunSelection,
  readRunInput,
  readRunReason,
  requireMay,
  requireMayInput,
  runsShownTo,
  visibleTo,
} from '@carillon/domain';
import { requestHash } from '@carillon/foundation';
import { auditEntry, jobSubject } from '../audit/audit-log.ts';
import { requireSecrets } from '../secrets/secrets.ts';
import type { NewRun, RunRequest } from '../storage/due.ts';
import type { StoredCheckpoint } from '../storage/run-state-store.ts';
import type { ListedRun, RunPage, RunQuery, RunView } from '../storage/run-store.ts';
import { checkpointOf, describeRun, type RunDetails } from './describe-run.ts';
import type { OperationPorts } from './operation-ports.ts';
import { announceChange } from './support/announce.ts';
import { type Part, readWithinBytes } from './support/read-within-bytes.ts';
import {
  jobGone,
  jobNotFound,
  runNotFound,
  visibleHistory,
  visibleJob,
  visibleRun,
} from './support/visibility.ts';

export type { RunDetails };

export interface CancelledRun {
  readonly jobId: JobId;
  /** cancelled: it was waiting, and has ended. cancelling: it is running, and was asked to stop. */
  readonly outcome: 'cancelled' | 'cancelling';
  /** False: it was asked to stop before. */
  readonly changed: boolean;
  /** As it is now; undefined for callers who may not read runs. */
  readonly run: RunView | undefined;
}

export interface RequestedRun {
  readonly jobId: JobId;
  readonly runId: RunId;
  /** False: it was requested before, under the same key. */
  readonly added: boolean;
}

export interface RunNowOptions {
  readonly idempotencyKey?: string | undefined;
  /** Merged over the payload of the job, for this run alone. */
  readonly input?: JsonObject | null | undefined;
  /** Why it is asked for: kept with the run. */
  readonly reason?: string | null | undefined;
}

export interface ListRunsQuery
  extends RunSelection,
    Pick<RunQuery, 'before' | 'results' | 'lastAttempts' | 'limit'> {}

export interface ListedRuns {
  readonly runs: readonly ListedRun[];
  /** More may follow before this position. Undefined: this is the end. */
  readonly next: ListedRun['cursor'] | undefined;
}

/** A line of a log quotes the beginning of a result. */
const LOGGED_RESULT_CHARS_MAX = 1_000;

export function momentMs(moment: Moment | undefined, nowMs: number): number | undefined {
  if (moment === undefined) return undefined;
  return 'atMs' in moment ? moment.atMs : nowMs - moment.agoMs;
}

export function runOperations(ports: OperationPorts) {
  const { storage, clock } = ports;

  return {
    async getRun(caller: Caller, runId: RunId): Promise<RunDetails> {
      const { attempts, job } = await visibleRun(ports, { caller, runId, action: 'runs.read' });
      return describeRun(ports, caller, { runId, job, attempts });
    },

    /** With its value, which may hold as much as a payload. */
    async getCheckpoint(caller: Caller, runId: RunId): Promise<StoredCheckpoint> {
      const { latest, job } = await visibleRun(ports, { caller, runId, action: 'runs.read' });
      requireMay(caller, 'payloads.read', job ?? { namespace: EVERYWHERE });
      const checkpoint = await checkpointOf(ports, latest);
      if (checkpoint) return checkpoint;
      throw new Refusal('checkpoint_not_found', `The run ${runId} has no checkpoint.`);
    },

    /** Across jobs, newest first; only of what the caller may see. */
    async listAllRuns(caller: Caller, { since, until, ...query }: ListRunsQuery): Promise<ListedRuns> {
      const action = 'runs.read';
      const { jobId } = query;
      const job = jobId && (await visibleHistory(ports, { caller, jobId, action }));
      if (!jobId) requireMay(caller, action);
      await ports.accounts.namespaces.requireKnown(caller, query.namespace);
      const nowMs = clock.now();
      const visible = visibleTo(
        caller,
        query.error === undefined ? action : maySearchErrors(caller, query, job),
      );
      const select = {
        ...query,
        failureKey: await failureKeyOf(ports, query),
        visible,
        nowMs,
        sinceMs: momentMs(since, nowMs),
        untilMs: momentMs(until, nowMs),
      };
      const read = async (
        limit: number,
        after = query.before,
      ): Promise<Part<ListedRun, ListedRun['cursor']>> => {
        const { runs, stoppedAt } = await storage.runs.list({ ...select, before: after, limit: limit + 1 });
        const rows = runs.slice(0, limit);
        return { rows, next: runs.length > limit ? rows.at(-1)?.cursor : stoppedAt };
      };
      const { rows: runs, next } = query.results
        ? await readWithinBytes<ListedRun, ListedRun['cursor']>({
            limit: query.limit,
            read,
            bytesOf: ({ run }) => run.result?.length ?? 0,
            cursorOf: ({ cursor }) => cursor,
          })
        : await read(query.limit);
      // History outlives its job, and ends on a later page.
      if (jobId && !job && runs.length === 0 && query.before === undefined) throw jobNotFound(jobId);
      const shown = runs.map((one) => ({ ...one, run: runsShownTo(caller, one.job, [one.run])[0]! }));
      return { runs: shown, next };
    },

    /** Newest first. History outlives its job: a deleted job may still have runs. */
    async listRuns(caller: Caller, jobId: JobId, page: RunPage): Promise<RunView[]> {
      const job = await visibleHistory(ports, { caller, jobId, action: 'runs.read' });
      const runs = await storage.runs.ofJob(jobId, page, clock.now());
      if (!job && runs.length === 0) throw jobNotFound(jobId);
      return runsShownTo(caller, job, runs);
    },

    /** The latest attempts of a job, from which its log is written. */
    async getJobLogs(caller: Caller, jobId: JobId, query: { limit: number }): Promise<RunView[]> {
      const job = await visibleJob(ports, { caller, jobId, action: 'runs.read' });
      const page = { limit: query.limit, resultCharsMax: LOGGED_RESULT_CHARS_MAX };
      return runsShownTo(caller, job, await storage.runs.ofJob(jobId, page, clock.now()));
    },

    /** A waiting run ends at once, a running one is asked to stop. Its job and its other runs go on. */
    async cancelRun(caller: Caller, runId: RunId): Promise<CancelledRun> {
      const { latest, job } = await visibleRun(ports, { caller, runId, action: 'runs.cancel' });
      const { jobId } = latest;
      const verdict = await cancelFound(ports, caller, { runId, jobId, namespace: job?.namespace });
      const outcome = verdict === 'ended' ? 'cancelled' : 'cancelling';
      const isShown = may(caller, 'runs.read', job ?? { namespace: EVERYWHERE });
      const [run] = isShown ? await storage.runs.attempts(runId, clock.now()) : [];
      return {
        ...{ jobId, outcome, changed: verdict !== 'asked_before' },
        run: run && runsShownTo(caller, job, [run])[0],
      };
    },

    /**
     * A new run of the job as it is now, for the same occurrence. The finished run stays in the history; the input it was asked for
     * with is kept, unless the request has one (null: none).
     */
    async rerunRun(caller: Caller, runId: RunId, options: RunNowOptions = {}): Promise<RequestedRun> {
      const action = 'runs.rerun';
      const { latest, job } = await visibleRun(ports, { caller, runId, action });
      return await rerunFound(ports, caller, { latest, job, options });
    },

    /** Also while the job is paused. The limits of the job hold; its plan is unchanged. */
    async runJobNow(caller: Caller, jobId: JobId, options: RunNowOptions = {}): Promise<RequestedRun> {
      const action = 'jobs.run';
      const job = await visibleJob(ports, { caller, jobId, action });
      const nominalAtMs = clock.now();
      return await addRun(ports, { caller, action, job, nominalAtMs, request: options, asked: options });
    },
  };
}

/** What fingerprints are shown under, where runs are narrowed by one. */
export async function failureKeyOf(
  { storage }: Pick<OperationPorts, 'storage'>,
  { failure }: Pick<RunSelection, 'failure'>,
): Promise<string | undefined> {
  return failure === undefined ? undefined : storage.stats.fingerprintKey();
}

/** A run that the caller may cancel. */
export async function cancelFound(
  { storage, clock, signals }: Pick<OperationPorts, 'storage' | 'clock' | 'signals'>,
  caller: Caller,
  { runId, jobId, namespace }: { runId: RunId; jobId: JobId; namespace: string | undefined },
): Promise<'asked' | 'asked_before' | 'ended'> {
  const nowMs = clock.now();
  const subject = { kind: 'run', id: runId };
  const audit = auditEntry(caller, { action: 'runs.cancel', namespace, subject }, nowMs);
  const verdict = await storage.jobs.cancelRun(runId, nowMs, audit);
  switch (verdict) {
    case 'unknown':
      throw runNotFound(runId);
    case 'finished':
      throw new Refusal('run_already_finished', `The run ${runId} has ended already.`);
    case 'ended':
      signals.send('slots-freed', { jobIds: [jobId] });
      return verdict;
    default:
      signals.send('cancel-requested', { runIds: [runId] });
      return verdict;
  }
}

/** A run that the caller may run again, and its job. */
export async function rerunFound(
  ports: OperationPorts,
  caller: Caller,
  found: {
    latest: Pick<RunView, 'runId' | 'jobId' | 'status' | 'trigger' | 'scheduledAtMs'>;
    job: Job | undefined;
    options: RunNowOptions;
  },
): Promise<RequestedRun> {
  const { job, options, latest } = found;
  const { runId, jobId, status, trigger, scheduledAtMs: nominalAtMs } = latest;
  if (!job) throw jobNotFound(jobId);
  if (!isFinal(status))
    throw new Refusal('run_not_finished', `The run ${runId} has not ended yet (${status}).`);
  // Only what somebody asked for has an input.
  const isKept = options.input === undefined && trigger !== 'schedule';
  const input = isKept ? await inputOf(ports, runId) : options.input;
  return await addRun(ports, {
    ...{ caller, action: 'runs.rerun', job, nominalAtMs, rerunOf: runId, asked: options },
    request: { ...options, input },
  });
}

/** Errors quote what payloads hold: only those that the caller sees whole are searched. */
export function maySearchErrors(
  caller: Caller,
  { namespace }: Pick<RunSelection, 'namespace'>,
  job: Job | undefined,
): Action {
  const action = 'payloads.read';
  const where = job ?? (namespace === undefined ? undefined : { namespace, userId: caller.userId });
  requireMay(caller, action, where, 'the filter error, which searches what errors quote,');
  return action;
}

/** The input that the run was asked for with. */
export async function inputOf(
  { storage }: Pick<OperationPorts, 'storage'>,
  runId: RunId,
): Promise<JsonObject | undefined> {
  const input = (await storage.runs.request(runId))?.input;
  return input === undefined ? undefined : (JSON.parse(input) as JsonObject);
}

interface AddedRun {
  readonly caller: Caller;
  readonly action: Extract<Action, 'jobs.run' | 'runs.rerun'>;
  readonly job: Job;
  /** The occurrence that the run stands for. */
  readonly nominalAtMs: number;
  readonly rerunOf?: RunId;
  readonly request: RunNowOptions;
  /** The request as it was sent: the same key with another one is refused. */
  readonly asked: RunNowOptions;
}

/** Adds a run that a person requested: once per idempotency key, due at once, and recorded in the audit log. */
async function addRun(ports: OperationPorts, request: AddedRun): Promise<RequestedRun> {
  const { caller, action, job, nominalAtMs, rerunOf, request: wanted, asked } = request;
  const { jobs } = ports.storage;
  const { jobId } = job;
  const nowMs = ports.clock.now();
  const { idempotencyKey: key, input, reason } = wanted;
  if (input) requireMayInput(caller, job, { input, given: asked.input !== undefined });
  const subject = rerunOf ?? jobId;
  const runId =
    key === undefined
      ? (ports.random.id() as RunId)
      : derivedRunId({ purpose: action, subject, caller, key });
  const kept = {
    ...runRequest(job, wanted, asked),
    originRunId: rerunOf,
    requestedBy: actorText(actorOf(caller)),
  };
  if (kept.payload !== undefined) {
    const { namespace, handler } = job;
    // An input decides what becomes of the secrets that the payload of the job names, too.
    await requireSecrets(ports.storage, caller, { namespace, payload: kept.payload });
    await ports.handlers.checkPayload({ handler, namespace, payload: kept.payload });
  }
  const run: NewRun = {
    ...{ runId, fireAtMs: nowMs, nominalAtMs, trigger: 'manual', endsJob: false, rerunOf },
    request: kept,
  };
  const details = {
    ...(rerunOf && { rerunOf }),
    ...(reason && { reason }),
    // The values may be secrets; the job's own payload is not repeated here either.
    ...(input && { input: Object.keys(input) }),
  };
  const change = { action, ...jobSubject(job), after: { runId, ...details } };
  const audit = auditEntry(caller, change, nowMs);
  const result =
    key === undefined
      ? (await jobs.enqueue(jobId, run, audit)) && 'added'
      : await jobs.enqueueOnce(jobId, run, audit);
  if (result === 'known') return { jobId, runId, added: false };
  if (result === 'conflict') {
    const message = `The Idempotency-Key was used before, for another request (run ${runId}).`;
    throw new Refusal('idempotency_key_reused', message, { field: 'Idempotency-Key' });
  }
  if (result !== 'added') throw await jobGone(ports, jobId);
  announceChange(ports, job, nowMs);
  return { jobId, runId, added: true };
}

/** What is kept of the request; undefined where there is nothing to keep. */
function runRequest(
  job: Job,
  { input, reason, idempotencyKey }: RunNowOptions,
  asked: RunNowOptions,
): RunRequest | undefined {
  if (!input && !reason && idempotencyKey === undefined) return undefined;
  const hash = () => requestHash({ input: asked.input, reason: asked.reason });
  return {
    ...(input && readRunInput(job, input)),
    reason: reason ? readRunReason(reason) : undefined,
    requestHash: idempotencyKey === undefined ? undefined : hash(),
  };
}

/**
 * The same key of the same caller for the same subject gives the same run, through whichever server, without a table of keys.
 */
function derivedRunId(parts: { purpose: string; subject: string; caller: Caller; key: string }): RunId {
  const { purpose, subject, caller, key } = parts;
  const digest = createHash('sha256')
    .update(JSON.stringify([purpose, subject, callerKey(caller), key]))
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

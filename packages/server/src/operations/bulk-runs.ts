/**
 * Cancels runs, or runs them again, in bulk: those that are named, or those of a filter. One request does a bounded number. What it names
 * is read at once; only a run that is changed costs more, and of those a few go on at a time, of all requests together.
 */
import {
  type Action,
  BULK_RUNS_MAX,
  type BulkRunAction,
  type Caller,
  isFinal,
  type Job,
  Refusal,
  type RunId,
  type RunSelection,
  type RunStatus,
  requireMay,
  sees,
  visibleTo,
} from '@carillon/domain';
import type { LatestAttempt, ListedRun } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';
import { cancelFound, failureKeyOf, maySearchErrors, momentMs, rerunFound } from './runs.ts';
import { type BulkLanes, type Charge, mapInParallel, orRefused } from './support/in-parallel.ts';
import { jobNotFound, requireVisibleRun } from './support/visibility.ts';

export interface BulkRunsRequest {
  readonly action: BulkRunAction;
  readonly of:
    | { readonly selection: RunSelection; readonly before?: ListedRun['cursor'] | undefined }
    | { readonly runIds: readonly RunId[] };
  readonly dryRun: boolean;
  /** Of runs that are run again: why, and the key under which each is added once. */
  readonly reason?: string | null | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly charge?: Charge;
}

export interface BulkRunResult {
  readonly runId: RunId;
  /** unchanged: it was asked to stop before, or was added before under the same key. */
  readonly outcome: 'changed' | 'unchanged' | 'refused';
  /** Of a run that is run again. */
  readonly newRunId?: RunId | undefined;
  readonly error?: Refusal;
}

export interface BulkRunsReport {
  readonly matched: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  readonly runIds: readonly RunId[];
  /** One for each run; in a dry run, only those that cannot be changed. */
  readonly results: readonly BulkRunResult[];
  /** More may match before this position. Undefined: all are done. */
  readonly next: ListedRun['cursor'] | undefined;
}

const PERMISSION: Record<BulkRunAction, Action> = { cancel: 'runs.cancel', rerun: 'runs.rerun' };

/** Unless the filter names statuses. What waits is listed of one job, or by itself. */
function defaultStatuses(action: BulkRunAction, { jobId }: RunSelection): readonly RunStatus[] {
  if (action === 'rerun') return ['FAILED', 'TIMED_OUT'];
  return jobId === undefined ? ['CLAIMED', 'RUNNING'] : ['QUEUED', 'CLAIMED', 'RUNNING'];
}

export function bulkRunOperations(ports: OperationPorts, lanes: BulkLanes) {
  const { storage, clock } = ports;

  return {
    async bulkRuns(caller: Caller, request: BulkRunsRequest): Promise<BulkRunsReport> {
      const { action, of, dryRun, reason, idempotencyKey, charge = () => undefined } = request;
      const permission = PERMISSION[action];
      requireMay(caller, permission);
      const named = 'runIds' in of ? [...new Set(of.runIds)] : undefined;
      if (named) charge(named.length);
      const { found, runIds, next } =
        'runIds' in of
          ? { found: await storage.runs.latest(named!, clock.now()), runIds: named!, next: undefined }
          : await select(ports, caller, { action, charge, ...of });
      const attempt = async (runId: RunId): Promise<BulkRunResult> => {
        const latest = requireVisibleRun(found.get(runId), { caller, runId, action: permission });
        requireFitting(action, latest);
        return dryRun ? { runId, outcome: 'unchanged' } : await lanes.run(() => change(latest));
      };
      const change = async (latest: LatestAttempt): Promise<BulkRunResult> => {
        const { runId, jobId } = latest;
        if (action === 'cancel') {
          const verdict = await cancelFound(ports, caller, {
            runId,
            jobId,
            namespace: latest.job?.namespace,
          });
          return { runId, outcome: verdict === 'asked_before' ? 'unchanged' : 'changed' };
        }
        const job = await storage.jobs.get(jobId);
        const again = await rerunFound(ports, caller, { latest, job, options: { reason, idempotencyKey } });
        return { runId, outcome: again.added ? 'changed' : 'unchanged', newRunId: again.runId };
      };
      const results = await mapInParallel(runIds, (runId) =>
        orRefused<BulkRunResult>(
          () => attempt(runId),
          (error) => ({ runId, outcome: 'refused', error }),
        ),
      );
      const count = (outcome: BulkRunResult['outcome']) =>
        results.filter((one) => one.outcome === outcome).length;
      const unknown = results.filter(({ error }) => error?.code === 'run_not_found').length;
      return {
        matched: runIds.length - unknown,
        changed: count('changed'),
        unchanged: dryRun ? 0 : count('unchanged'),
        refused: count('refused'),
        runIds,
        results: dryRun ? results.filter(({ outcome }) => outcome === 'refused') : results,
        next,
      };
    },
  };
}

/** As the change itself refuses it. */
function requireFitting(action: BulkRunAction, { runId, status }: { runId: RunId; status: RunStatus }): void {
  if (action === 'cancel' && isFinal(status))
    throw new Refusal('run_already_finished', `The run ${runId} has ended already.`);
  if (action === 'rerun' && !isFinal(status))
    throw new Refusal('run_not_finished', `The run ${runId} has not ended yet (${status}).`);
}

/**
 * A list has an entry for each attempt. A run is meant by its latest one alone: what failed at first and succeeded then is not run again
 * because it failed.
 */
async function select(
  ports: OperationPorts,
  caller: Caller,
  {
    action,
    selection,
    before,
    charge,
  }: { action: BulkRunAction; charge: Charge } & Extract<BulkRunsRequest['of'], { selection: object }>,
): Promise<Pick<BulkRunsReport, 'runIds' | 'next'> & { found: ReadonlyMap<RunId, LatestAttempt> }> {
  const { storage, accounts, clock } = ports;
  const { since, until, ...query } = selection;
  const job = await requireJob(ports, caller, selection);
  await accounts.namespaces.requireKnown(caller, query.namespace);
  const nowMs = clock.now();
  const permission = PERMISSION[action];
  const allowed = query.error === undefined ? permission : maySearchErrors(caller, selection, job);
  const { runs, stoppedAt } = await storage.runs.list({
    ...query,
    failureKey: await failureKeyOf(ports, query),
    statuses: query.statuses?.length ? query.statuses : defaultStatuses(action, selection),
    ...{ visible: visibleTo(caller, allowed), before, limit: BULK_RUNS_MAX + 1, nowMs },
    ...{ sinceMs: momentMs(since, nowMs), untilMs: momentMs(until, nowMs) },
  });
  const listed = runs.slice(0, BULK_RUNS_MAX);
  charge(listed.length);
  const found = await storage.runs.latest([...new Set(listed.map(({ run }) => run.runId))], nowMs);
  const meant = listed.filter(({ run }) => action === 'cancel' || found.get(run.runId)?.epoch === run.epoch);
  const next = runs.length > BULK_RUNS_MAX ? listed.at(-1)?.cursor : stoppedAt;
  return { found, runIds: [...new Set(meant.map(({ run }) => run.runId))], next };
}

async function requireJob(
  { storage }: OperationPorts,
  caller: Caller,
  { jobId }: RunSelection,
): Promise<Job | undefined> {
  if (jobId === undefined) return undefined;
  const job = await storage.jobs.get(jobId);
  if (!job || !sees(caller, job)) throw jobNotFound(jobId);
  return job;
}

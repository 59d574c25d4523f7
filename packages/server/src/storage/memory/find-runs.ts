/** Lists runs across jobs in memory, from the three tables that a run can be in. */
import { isFinal, type Job } from '@carillon/domain';
import {
  asksFor,
  compareRunCursors,
  isOfFailure,
  type ListedRun,
  LOOK_BACK_MS,
  listsNextAttempts,
  listsWaiting,
  MAY_FOLLOW,
  type RunCursor,
  type RunFilter,
  type RunList,
  type RunQuery,
  type RunView,
  type WaitingCursor,
} from '../run-store.ts';
import type { RunRecord } from './due-record.ts';
import { isVisible, matcher } from './find-jobs.ts';
import type { MemoryState } from './memory-state.ts';
import { isShown, leasedView, offeredIn, queuedView, readView } from './run-views.ts';

interface Row<Cursor> {
  readonly view: RunView;
  readonly cursor: Cursor;
}

export function findRuns(
  state: MemoryState,
  { before, visible, limit, nowMs, lastAttempts, failureKey, ...query }: RunQuery,
): RunList {
  const isLeftOut = (view: RunView) =>
    handedOutAgain(state, view) || (listsNextAttempts(query) && waitsAgain(state, view));
  const isSeen = ({ view }: Row<unknown>) => {
    const job = state.jobs.get(view.jobId);
    return (
      (job ? isVisible(job, visible) : visible === undefined) &&
      matches({ view, job }, query) &&
      isOfFailure({ ...query, failureKey }, { run: view, job }) &&
      !(lastAttempts && isLeftOut(view))
    );
  };
  const page =
    listsWaiting(query) === 'only'
      ? waitingRows(state, nowMs)
          .filter(
            (row) => isSeen(row) && (!before || compareWaiting(before as WaitingCursor, row.cursor) < 0),
          )
          .sort((a, b) => compareWaiting(a.cursor, b.cursor))
      : rowsOf(state, query, nowMs)
          .filter((row) => isSeen(row) && (!before || compareRunCursors(before as RunCursor, row.cursor) < 0))
          .sort((a, b) => compareRunCursors(a.cursor, b.cursor));
  const runs = page.slice(0, limit).map(({ view, cursor }): ListedRun => {
    const read = readView(state, view);
    const run = query.results ? read : { ...read, result: undefined };
    const triedAgain = handedOutAgain(state, view) || waitsAgain(state, view);
    return { run, job: shownOf(state.jobs.get(view.jobId)), triedAgain, cursor };
  });
  return { runs, stoppedAt: undefined };
}

function handedOutAgain({ history, leases }: MemoryState, { runId, epoch, status }: RunView): boolean {
  if (!MAY_FOLLOW.includes(status)) return false;
  return leases.ofRun(runId) !== undefined || history.ofRun(runId).some((other) => other.epoch > epoch);
}

function waitsAgain({ due }: MemoryState, { runId, status }: RunView): boolean {
  return MAY_FOLLOW.includes(status) && due.get(runId) !== undefined;
}

function shownOf(job: Job | undefined): ListedRun['job'] {
  if (!job) return undefined;
  const { name, namespace, userId, handler } = job;
  return { name, namespace, userId, handler };
}

function waitingRows(state: MemoryState, nowMs: number): Row<WaitingCursor>[] {
  return queuedOf(state, [...state.due.all()], nowMs).map(({ view }) => ({
    view,
    cursor: { jobId: view.jobId, runId: view.runId },
  }));
}

function queuedOf(state: MemoryState, due: readonly RunRecord[], nowMs: number): Row<RunCursor>[] {
  const isOffered = offeredIn(state);
  return due
    .filter((record) => isShown(record, nowMs))
    .map((record) => ({
      view: queuedView(record, nowMs, isOffered),
      cursor: { atMs: record.fireAtMs, runId: record.runId, epoch: record.epoch },
    }));
}

function rowsOf(state: MemoryState, query: RunFilter, nowMs: number): Row<RunCursor>[] {
  const { leases, history, due } = state;
  const { jobId } = query;
  const alive = (jobId === undefined ? [...leases.all()] : leases.ofJob(jobId)).map(leasedView);
  const ended = jobId === undefined ? history.all() : history.ofJob(jobId);
  const inHistory = [...alive, ...ended].map((view) => ({
    view,
    cursor: { atMs: view.createdAtMs, runId: view.runId, epoch: view.epoch },
  }));
  if (jobId === undefined || listsWaiting(query) === 'not') return inHistory;
  return [...queuedOf(state, due.ofJob(jobId), nowMs), ...inHistory];
}

/** The runs of the newest job first. */
function compareWaiting(a: WaitingCursor, b: WaitingCursor): number {
  if (a.jobId !== b.jobId) return a.jobId < b.jobId ? 1 : -1;
  return a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0;
}

const matches = matcher<{ view: RunView; job: Job | undefined }, RunFilter>({
  statuses: ({ view }, statuses) => asksFor(statuses, view.status),
  jobId: ({ view }, jobId) => view.jobId === jobId,
  namespace: ({ job }, namespace) => job?.namespace === namespace,
  userId: ({ job }, userId) => job?.userId === userId,
  handler: ({ job }, handler) => job?.handler === handler,
  labels: ({ job }, labels) =>
    job !== undefined && Object.entries(labels).every(([name, value]) => job.labels[name] === value),
  workerId: ({ view }, workerId) => view.executorId === workerId,
  error: ({ view }, error) => view.error?.toLowerCase().includes(error.toLowerCase()) === true,
  // By isOfFailure, which needs the key.
  failure: () => true,
  sinceMs: ({ view }, sinceMs) => {
    if (!isFinal(view.status) || view.createdAtMs >= sinceMs) return true;
    const endedSince = view.status !== 'SUCCESS' && view.modifiedAtMs >= sinceMs;
    return endedSince && view.createdAtMs >= sinceMs - LOOK_BACK_MS;
  },
  untilMs: ({ view }, untilMs) => view.createdAtMs < untilMs,
});

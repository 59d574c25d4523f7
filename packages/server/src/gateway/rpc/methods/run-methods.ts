/** Runs: of a job, of a worker, one by one; and those that were given up. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  deadLetterView,
  RUNS_QUERY,
  readShape,
  rpc,
  runView,
  toRunsQuery,
  writeRunPlace,
} from '@carillon/contract';
import { isFinal, Refusal } from '@carillon/domain';
import type { Operations } from '../../../operations/operations.ts';
import type { RunPage, RunView } from '../../../storage/run-store.ts';
import { cutPage, readLimit } from '../../page-links.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';
import { keyOf } from './job-methods.ts';

const { method } = rpc.JobService;

interface Paged {
  readonly pageSize: number;
  readonly pageToken: string;
}

export function runMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.getExecHistory, ['runs.read'], async ({ caller, request }) => {
      const rows = await operations.listRuns(caller, idOf.job(request.jobId), pageOf(request));
      return pageAnswer(rows, request);
    }),
    unary(method.listRuns, ['runs.read'], async ({ caller, request }) => {
      const { of } = request;
      switch (of.case) {
        case 'jobId':
          return pageAnswer(await operations.listRuns(caller, idOf.job(of.value), pageOf(request)), request);
        case 'workerId': {
          const workerId = rpc.textAsked(of.value, 'worker_id') ?? '';
          return pageAnswer(await operations.listWorkerRuns(caller, workerId, pageOf(request)), request);
        }
        default:
          throw new Refusal('field_missing', 'Give the job_id or the worker_id.', { field: 'job_id' });
      }
    }),
    unary(method.getRun, ['runs.read'], async ({ caller, request }) => {
      const { latest, attempts } = await operations.getRun(caller, idOf.run(request.runId));
      const messages = attempts.map((attempt) => rpc.runMessage(runView(attempt)));
      return { run: rpc.runMessage(runView(latest)), attempts: messages };
    }),
    unary(method.cancelRun, ['runs.cancel'], async ({ caller, request }) => {
      const runId = idOf.run(request.runId);
      const ended = (await operations.cancelRun(caller, runId)) === 'ended';
      return { runId, status: ended ? 'cancelled' : 'cancelling' };
    }),
    unary(method.rerunRun, ['runs.rerun'], async ({ caller, request }) => {
      const idempotencyKey = keyOf(request.idempotencyKey);
      const { jobId, runId } = await operations.rerunRun(caller, idOf.run(request.runId), { idempotencyKey });
      return { jobId, runId };
    }),
    unary(method.listDeadLetters, ['dead_letters.read'], async ({ caller, request }) => {
      const place = placeAsked(request.pageToken);
      const query = {
        limit: rpc.pageSizeAsked(request.pageSize),
        ...(request.jobId !== '' && { jobId: idOf.job(request.jobId) }),
        ...(place && { before: { diedAtMs: place.createdAtMs, runId: place.runId } }),
      };
      const { letters, next } = await operations.listDeadLetters(caller, query);
      return {
        deadLetters: letters.map((letter) => rpc.deadLetterMessage(deadLetterView(letter))),
        nextPageToken: next ? writeRunPlace({ createdAtMs: next.diedAtMs, runId: next.runId }) : '',
      };
    }),
    unary(method.redriveDeadLetter, ['dead_letters.redrive'], async ({ caller, request }) => {
      const { jobId, runId } = await operations.redriveDeadLetter(caller, idOf.deadLetter(request.runId));
      return { jobId, runId };
    }),
    unary(method.listWorkers, ['workers.read'], async ({ caller }) => {
      const workers = await operations.listWorkers(caller);
      return {
        workers: workers.map(({ workerId, nodeId, slots, running, handlers, alive, lastSeenMs }) => ({
          ...{ workerId, nodeId, slots, running, alive },
          handlers: [...handlers],
          lastSeen: timestampFromMs(lastSeenMs),
        })),
      };
    }),
  ];
}

/** Living runs come before the history and have no place in it: behind them pages go on by number. */
const BY_NUMBER = /^\+(\d{1,6})$/;

function pageOf({ pageSize, pageToken }: Paged): RunPage {
  const limit = readLimit(rpc.pageSizeAsked(pageSize));
  const offset = BY_NUMBER.exec(pageToken)?.[1];
  if (offset !== undefined) return { limit, offset: Number(offset) };
  const before = placeAsked(pageToken);
  return { limit, ...(before && { before }) };
}

/** A place in the history, as page tokens carry it. */
function placeAsked(token: string): RunPage['before'] {
  if (token === '') return undefined;
  try {
    return toRunsQuery(readShape(RUNS_QUERY, { before: token })).before;
  } catch (error) {
    const message = 'page_token must be the next_page_token of a page of the same list.';
    throw new Refusal('field_invalid', message, { field: 'page_token', cause: error });
  }
}

function pageAnswer(rows: readonly RunView[], asked: Paged) {
  const { shown, hasMore } = cutPage(rows, rpc.pageSizeAsked(asked.pageSize));
  return {
    runs: shown.map((run) => rpc.runMessage(runView(run))),
    nextPageToken: hasMore ? placeAfter(shown, asked) : '',
  };
}

function placeAfter(shown: readonly RunView[], { pageToken }: Paged): string {
  const last = shown.at(-1);
  if (last && isFinal(last.status)) return writeRunPlace(last);
  return `+${Number(BY_NUMBER.exec(pageToken)?.[1] ?? 0) + shown.length}`;
}

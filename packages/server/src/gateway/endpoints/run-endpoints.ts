/** Runs: of a job, of a worker, one by one. */
import {
  RUNS_QUERY,
  type RunsQuery,
  readId,
  runView,
  toRunsQuery,
  WORKER_RUNS_QUERY,
  writeRunPlace,
} from '@carillon/contract';
import { isFinal, type JobId, type RunId } from '@carillon/domain';
import type { RunPage, RunView } from '../../storage/run-store.ts';
import { type Call, type Endpoint, endpoint } from '../endpoint.ts';
import { cutPage, linkPages } from '../page-links.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function runEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/jobs/{id}/runs',
      access: 'runs.read',
      tag: 'runs',
      summary: 'List the runs of a job, newest first',
      query: RUNS_QUERY,
      answers: { 200: { description: 'The runs.' } },
      handle: async (call) => {
        const query = toRunsQuery(call.query);
        const jobId = readId(call.params.id!, 'job') as JobId;
        const rows = await operations.listRuns(call.caller, jobId, pageOf(query));
        return answerRuns(rows, { call, query, address });
      },
    }),

    endpoint({
      method: 'GET',
      path: '/job/executions',
      access: 'workers.read',
      tag: 'workers',
      summary: 'List what a worker is running',
      query: WORKER_RUNS_QUERY,
      answers: { 200: { description: 'The runs.' } },
      handle: async (call) => {
        const { worker_id: workerId, ...rest } = call.query;
        const query = toRunsQuery(rest);
        const rows = await operations.listWorkerRuns(call.caller, workerId, pageOf(query));
        return answerRuns(rows, { call, query, address });
      },
    }),

    endpoint({
      method: 'GET',
      path: '/runs/{id}',
      access: 'runs.read',
      tag: 'runs',
      summary: 'Read a run with all its attempts',
      answers: { 200: { description: 'The run.' } },
      handle: async ({ caller, params }) => {
        const { latest, attempts } = await operations.getRun(caller, readId(params.id!, 'run') as RunId);
        return { ...runView(latest), attempts: attempts.map(runView) };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/runs/{id}/cancel',
      access: 'runs.cancel',
      tag: 'runs',
      summary: 'Stop a run',
      answers: { 200: { description: 'It was waiting, and is cancelled.' }, 202: { description: 'Asked.' } },
      handle: async ({ caller, params, reply }) => {
        const runId = readId(params.id!, 'run') as RunId;
        const ended = (await operations.cancelRun(caller, runId)) === 'ended';
        reply.code(ended ? 200 : 202);
        return { run_id: runId, status: ended ? 'cancelled' : 'cancelling' };
      },
    }),
  ];
}

function pageOf({ before, page, limit }: RunsQuery): RunPage {
  const offset = page === undefined ? 0 : (page - 1) * limit;
  return { limit: limit + 1, offset, ...(before !== undefined && { before }) };
}

function answerRuns(
  rows: readonly RunView[],
  { call, query, address }: { call: Pick<Call, 'request' | 'reply'>; query: RunsQuery; address: string },
) {
  const { shown, hasMore } = cutPage(rows, query.limit);
  const last = shown.at(-1);
  // A place is one in the history; living runs come before all of it, whatever their age.
  const next = last && isFinal(last.status) ? { name: 'before', value: writeRunPlace(last) } : undefined;
  linkPages(call.request, call.reply, { address, page: query.page, hasMore, next });
  return shown.map(runView);
}

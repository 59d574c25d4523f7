/** Runs: of a job, of a worker, one by one. */
import {
  parseRunsQuery,
  parseWorkerRunsQuery,
  type RunsQuery,
  readId,
  requireNoBody,
  runView,
  writeRunPlace,
} from '@carillon/contract';
import { isFinal, type JobId, Refusal, type RunId } from '@carillon/domain';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RunPage, RunView } from '../../storage/run-store.ts';
import { cutPage, linkPages } from '../page-links.ts';
import type { AnyQuery, IdParams, RouteContext } from './route-context.ts';

export function runRoutes(api: FastifyInstance, { operations, address }: RouteContext): void {
  api.get<IdParams & AnyQuery>('/jobs/:id/runs', async (request, reply) => {
    const jobId = readId(request.params.id, 'job') as JobId;
    const query = parseRunsQuery(request.query);
    const rows = await operations.listRuns(jobId, pageOf(query));
    return answerRuns(rows, { request, reply, query, address });
  });

  api.get<AnyQuery>('/job/executions', async (request, reply) => {
    const { workerId, ...query } = parseWorkerRunsQuery(request.query);
    if (workerId === undefined) {
      throw new Refusal('field_missing', 'Name the worker in worker_id.', { field: 'worker_id' });
    }
    const rows = await operations.listWorkerRuns(workerId, pageOf(query));
    return answerRuns(rows, { request, reply, query, address });
  });

  api.get<IdParams>('/runs/:id', async (request) => {
    const { latest, attempts } = await operations.getRun(readId(request.params.id, 'run') as RunId);
    return { ...runView(latest), attempts: attempts.map(runView) };
  });

  api.post<IdParams>('/runs/:id/cancel', async (request, reply) => {
    requireNoBody(request.body);
    const runId = readId(request.params.id, 'run') as RunId;
    const ended = (await operations.cancelRun(runId)) === 'ended';
    reply.code(ended ? 200 : 202);
    return { run_id: runId, status: ended ? 'cancelled' : 'cancelling' };
  });
}

function pageOf({ before, page, limit }: RunsQuery): RunPage {
  const offset = page === undefined ? 0 : (page - 1) * limit;
  return { limit: limit + 1, offset, ...(before !== undefined && { before }) };
}

function answerRuns(
  rows: readonly RunView[],
  context: { request: FastifyRequest<AnyQuery>; reply: FastifyReply; query: RunsQuery; address: string },
) {
  const { query, address } = context;
  const { shown, hasMore } = cutPage(rows, query.limit);
  const last = shown.at(-1);
  // A place is one in the history; living runs come before all of it, whatever their age.
  const next = last && isFinal(last.status) ? { name: 'before', value: writeRunPlace(last) } : undefined;
  linkPages(context.request as FastifyRequest, context.reply, { address, page: query.page, hasMore, next });
  return shown.map(runView);
}

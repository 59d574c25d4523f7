/** Runs that failed for good: look at them, send them round again. */
import {
  deadLetterView,
  parseDeadLettersQuery,
  readId,
  requireNoBody,
  writeRunPlace,
} from '@carillon/contract';
import type { RunId } from '@carillon/domain';
import type { FastifyInstance } from 'fastify';
import { cutPage, linkPages } from '../page-links.ts';
import type { AnyQuery, IdParams, RouteContext } from './route-context.ts';

export function deadLetterRoutes(api: FastifyInstance, { operations, address }: RouteContext): void {
  api.get<AnyQuery>('/dead-letters', async (request, reply) => {
    const { limit, ...query } = parseDeadLettersQuery(request.query);
    const { shown, hasMore } = cutPage(
      await operations.listDeadLetters({ ...query, limit: limit + 1 }),
      limit,
    );
    const last = shown.at(-1);
    const next = last && {
      name: 'before',
      value: writeRunPlace({ createdAtMs: last.diedAtMs, runId: last.runId }),
    };
    linkPages(request, reply, { address, page: undefined, hasMore, next });
    return shown.map(deadLetterView);
  });

  api.post<IdParams>('/dead-letters/:id/redrive', async (request, reply) => {
    requireNoBody(request.body);
    const letter = await operations.redriveDeadLetter(readId(request.params.id, 'dead letter') as RunId);
    reply.code(202);
    return { job_id: letter.jobId, run_id: letter.runId, redriven_from: letter.redrivenFrom };
  });
}

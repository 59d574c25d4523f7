/** Runs that failed for good: look at them, send them round again. */
import {
  DEAD_LETTERS_QUERY,
  deadLetterView,
  readId,
  toDeadLettersQuery,
  writeRunPlace,
} from '@carillon/contract';
import type { RunId } from '@carillon/domain';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { cutPage, linkPages } from '../page-links.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function deadLetterEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/dead-letters',
      access: 'dead_letters.read',
      tag: 'dead letters',
      summary: 'List dead letters, latest first',
      query: DEAD_LETTERS_QUERY,
      answers: { 200: { description: 'The dead letters.' } },
      handle: async ({ caller, query, request, reply }) => {
        const { limit, ...filter } = toDeadLettersQuery(query);
        const rows = await operations.listDeadLetters(caller, { ...filter, limit: limit + 1 });
        const { shown, hasMore } = cutPage(rows, limit);
        const last = shown.at(-1);
        const next = last && {
          name: 'before',
          value: writeRunPlace({ createdAtMs: last.diedAtMs, runId: last.runId }),
        };
        linkPages(request, reply, { address, page: undefined, hasMore, next });
        return shown.map(deadLetterView);
      },
    }),

    endpoint({
      method: 'POST',
      path: '/dead-letters/{id}/redrive',
      access: 'dead_letters.redrive',
      tag: 'dead letters',
      summary: 'Send a dead letter round again',
      answers: { 202: { description: 'A new run was added.' } },
      handle: async ({ caller, params, reply }) => {
        const runId = readId(params.id!, 'dead letter') as RunId;
        const letter = await operations.redriveDeadLetter(caller, runId);
        reply.code(202);
        return { job_id: letter.jobId, run_id: letter.runId, redriven_from: letter.redrivenFrom };
      },
    }),
  ];
}

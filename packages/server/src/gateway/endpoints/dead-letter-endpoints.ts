/** Runs that failed for good: look at them, send them round again. */
import {
  DEAD_LETTERS_QUERY,
  deadLetterAnswer,
  deadLetterView,
  EXAMPLES,
  REDRIVE_BODY,
  readId,
  redrivenAnswer,
  redriveReportAnswer,
  redriveReportView,
  toDeadLettersQuery,
  toRedriveRequest,
  writeRunPlace,
} from '@carillon/contract';
import type { Caller, RunId } from '@carillon/domain';
import { z } from 'zod';
import type { DeadLetterPlace, DeadLetterQuery } from '../../storage/run-store.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { linkPages, tellTotal } from '../page-links.ts';
import { userNamed } from './caller-words.ts';
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
      answers: {
        200: {
          description: 'The dead letters.',
          schema: z.array(deadLetterAnswer),
          example: [EXAMPLES.deadLetter],
        },
      },
      handle: async ({ caller, query, request, reply }) => {
        const { limit, ...asked } = toDeadLettersQuery(query);
        const { letters, next } = await operations.listDeadLetters(caller, {
          ...selected(caller, asked),
          limit,
        });
        linkPages(request, reply, {
          address,
          page: undefined,
          hasMore: next !== undefined,
          next: next && { name: 'before', value: placeText(next) },
        });
        if (asked.before === undefined) {
          tellTotal(reply, { page: 1, limit, shown: letters.length, ended: next === undefined });
        }
        return letters.map(deadLetterView);
      },
    }),

    endpoint({
      method: 'GET',
      path: '/dead-letters/{id}',
      access: 'dead_letters.read',
      tag: 'dead letters',
      summary: 'Read a dead letter',
      params: { id: 'The run that died.' },
      answers: {
        200: { description: 'The dead letter.', schema: deadLetterAnswer, example: EXAMPLES.deadLetter },
      },
      handle: async ({ caller, params }) =>
        deadLetterView(await operations.getDeadLetter(caller, readId(params.id!, 'dead letter') as RunId)),
    }),

    endpoint({
      method: 'POST',
      path: '/dead-letters/{id}/redrive',
      access: 'dead_letters.redrive',
      tag: 'dead letters',
      summary: 'Send a dead letter round again',
      description: 'Asked twice, it answers the run that the first request made.',
      params: { id: 'The run that died.' },
      answers: {
        202: {
          description: 'A new run was added.',
          schema: redrivenAnswer,
          example: { job_id: EXAMPLES.jobId, run_id: EXAMPLES.newRunId, redriven_from: EXAMPLES.runId },
        },
      },
      handle: async ({ caller, params, reply }) => {
        const runId = readId(params.id!, 'dead letter') as RunId;
        const letter = await operations.redriveDeadLetter(caller, runId);
        reply.code(202);
        return { job_id: letter.jobId, run_id: letter.runId, redriven_from: letter.redrivenFrom };
      },
    }),

    endpoint({
      method: 'POST',
      path: '/dead-letters/redrive',
      access: 'dead_letters.redrive',
      tag: 'dead letters',
      summary: 'Send many dead letters round again',
      description:
        'All that still lie there and fit the filter, up to 1,000 per request; "next" of the answer, sent as "before", goes on with the rest.',
      body: REDRIVE_BODY,
      bodyExamples: { 'dry run': { filter: { reason: 'retries_exhausted' }, dry_run: true, limit: 100 } },
      answers: {
        200: {
          description: 'What was done, or would be.',
          schema: redriveReportAnswer,
          example: {
            dry_run: true,
            matched: 1,
            redriven: 0,
            refused: 0,
            runs: [EXAMPLES.runId],
            next: null,
          },
        },
      },
      handle: async ({ caller, body }) => {
        const { selection, ...request } = toRedriveRequest(body);
        const { next, ...report } = await operations.bulkRedriveDeadLetters(caller, {
          ...request,
          selection: selected(caller, selection),
        });
        return redriveReportView(request.dryRun, { ...report, next: next && placeText(next) });
      },
    }),
  ];
}

type Asked = {
  readonly [Name in keyof Omit<DeadLetterQuery, 'limit' | 'visible'>]?: DeadLetterQuery[Name] | undefined;
};

/** Without the filters that were not given. */
function selected(caller: Caller, asked: Asked): Omit<DeadLetterQuery, 'limit' | 'visible'> {
  const named = { ...asked, userId: userNamed(caller, asked.userId) };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

function placeText({ diedAtMs, runId }: DeadLetterPlace): string {
  return writeRunPlace({ createdAtMs: diedAtMs, runId });
}

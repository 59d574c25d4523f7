/** Runs that failed for good: read them, redrive them. */
import {
  DEAD_LETTERS_QUERY,
  deadLetterAnswer,
  deadLetterView,
  EXAMPLES,
  REDRIVE_BODY,
  redrivenAnswer,
  redriveReportAnswer,
  redriveReportView,
  rpc,
  toDeadLettersQuery,
  toRedriveRequest,
  writeRunCursor,
} from '@carillon/contract';
import type { Caller } from '@carillon/domain';
import { z } from 'zod';
import type { DeadLetterCursor, DeadLetterQuery } from '../../storage/run-store.ts';
import { userNamed } from './jobs.ts';
import { type ApiContext, type Operation, operation, reading, totalHeader } from './operation.ts';

const { method: call } = rpc.JobService;
const subjectIs = 'The run that died.';

export function deadLetterOperations({ operations, charge }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/dead-letters',
      rpc: { method: call.listDeadLetters },
      access: 'dead_letters.read',
      tag: 'dead letters',
      summary: 'List dead letters, latest first',
      cursor: 'cursor',
      query: reading(DEAD_LETTERS_QUERY, toDeadLettersQuery),
      answers: {
        200: {
          description: 'The dead letters.',
          schema: z.array(deadLetterAnswer),
          example: [EXAMPLES.deadLetter],
        },
      },
      handle: async ({ caller, query: { limit, ...selection } }) => {
        const { letters, next } = await operations.listDeadLetters(caller, {
          ...selected(caller, selection),
          limit,
        });
        const ended = next === undefined;
        return {
          body: letters.map(deadLetterView),
          list: {
            hasMore: !ended,
            next: next && cursorText(next),
            cursorAt: (index) => cursorText(letters[index]!),
          },
          ...(selection.before === undefined && {
            headers: totalHeader({ limit, shown: letters.length, ended }),
          }),
        };
      },
    }),

    operation({
      method: 'GET',
      path: '/dead-letters/{id}',
      rpc: { method: call.getDeadLetter },
      access: 'dead_letters.read',
      tag: 'dead letters',
      summary: 'Read a dead letter',
      subject: 'dead letter',
      subjectIs,
      answers: {
        200: { description: 'The dead letter.', schema: deadLetterAnswer, example: EXAMPLES.deadLetter },
      },
      handle: async ({ caller, id }) => ({
        body: deadLetterView(await operations.getDeadLetter(caller, id)),
      }),
    }),

    operation({
      method: 'POST',
      path: '/dead-letters/{id}/redrive',
      rpc: { method: call.redriveDeadLetter },
      access: 'dead_letters.redrive',
      tag: 'dead letters',
      summary: 'Send a dead letter round again',
      description: 'Asked twice, it answers the run that the first request made.',
      subject: 'dead letter',
      subjectIs,
      answers: {
        202: {
          description: 'A new run was added.',
          schema: redrivenAnswer,
          example: { job_id: EXAMPLES.jobId, run_id: EXAMPLES.newRunId, redriven_from: EXAMPLES.runId },
        },
      },
      handle: async ({ caller, id }) => {
        const { jobId, runId, redrivenFrom } = await operations.redriveDeadLetter(caller, id);
        return { status: 202, body: { job_id: jobId, run_id: runId, redriven_from: redrivenFrom } };
      },
    }),

    operation({
      method: 'POST',
      path: '/dead-letters/redrive',
      isBulk: true,
      rpc: { method: call.redriveDeadLetters, names: { next: 'next_page_token' } },
      access: 'dead_letters.redrive',
      tag: 'dead letters',
      summary: 'Send many dead letters round again',
      description:
        'All that still lie there and fit the filter, up to 1,000 per request; "next" of the answer, sent as "cursor", goes on with the rest. Or those of the runs that are named in "run_ids".',
      cursor: 'cursor',
      body: reading(REDRIVE_BODY, toRedriveRequest),
      bodyExamples: {
        'dry run': { filter: { reason: 'retries_exhausted' }, dry_run: true, limit: 100 },
        'named runs': { run_ids: [EXAMPLES.runId] },
      },
      answers: {
        200: {
          description: 'What was done, or would be.',
          schema: redriveReportAnswer,
          example: {
            ...{ dry_run: false, matched: 1, redriven: 1, unchanged: 0, refused: 0 },
            run_ids: [EXAMPLES.runId],
            results: [
              {
                ...{ run_id: EXAMPLES.runId, outcome: 'redriven', job_id: EXAMPLES.jobId },
                ...{ new_run_id: EXAMPLES.newRunId, error: null },
              },
            ],
            runs: [EXAMPLES.runId],
            next: null,
          },
        },
      },
      handle: async ({ caller, body: { dryRun, of } }) => {
        const { next, ...report } = await operations.bulkRedriveDeadLetters(caller, {
          dryRun,
          of: 'runIds' in of ? of : { ...of, selection: selected(caller, of.selection) },
          charge: (items) => charge(caller, items),
        });
        return { body: redriveReportView(dryRun, { ...report, next: next && cursorText(next) }) };
      },
    }),
  ];
}

type Filter = Omit<DeadLetterQuery, 'limit' | 'visible'>;

/** Without the filters that were not given. */
function selected(
  caller: Caller,
  given: { readonly [Name in keyof Filter]?: Filter[Name] | undefined },
): Filter {
  const named = { ...given, userId: userNamed(caller, given.userId) };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

function cursorText({ diedAtMs, runId }: DeadLetterCursor): string {
  return writeRunCursor({ createdAtMs: diedAtMs, runId });
}

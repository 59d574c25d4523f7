/** Runs that were given up: look at them, send them round again. */
import { deadLetterView, redriveReportView, rpc, writeRunPlace } from '@carillon/contract';
import { BULK_LETTERS_MAX, type Caller, Refusal } from '@carillon/domain';
import type { Operations } from '../../../operations/operations.ts';
import type { DeadLetterPlace } from '../../../storage/run-store.ts';
import { userNamed } from '../../endpoints/caller-words.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';
import { runPlaceAsked } from '../run-pages.ts';

const { method } = rpc.JobService;

export function deadLetterMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.listDeadLetters, ['dead_letters.read'], async ({ caller, request }) => {
      const { letters, next } = await operations.listDeadLetters(caller, {
        ...selected(caller, rpc.letterFilterAsked(request)),
        ...(request.redriven !== undefined && { redriven: request.redriven }),
        ...placeAsked(request.pageToken),
        limit: rpc.pageSizeAsked(request.pageSize),
      });
      return {
        deadLetters: letters.map((letter) => rpc.deadLetterMessage(deadLetterView(letter))),
        nextPageToken: next ? placeText(next) : '',
      };
    }),
    unary(method.getDeadLetter, ['dead_letters.read'], async ({ caller, request }) => {
      const letter = await operations.getDeadLetter(caller, idOf.deadLetter(request.runId));
      return { deadLetter: rpc.deadLetterMessage(deadLetterView(letter)) };
    }),
    unary(method.redriveDeadLetter, ['dead_letters.redrive'], async ({ caller, request }) => {
      const { jobId, runId } = await operations.redriveDeadLetter(caller, idOf.deadLetter(request.runId));
      return { jobId, runId };
    }),
    unary(method.redriveDeadLetters, ['dead_letters.redrive'], async ({ caller, request }) => {
      const { filter, dryRun, limit, pageToken } = request;
      // Everything is meant only where it is said.
      if (filter === undefined) throw new Refusal('field_missing', 'filter is missing.', { field: 'filter' });
      const { next, ...report } = await operations.bulkRedriveDeadLetters(caller, {
        selection: selected(caller, rpc.letterFilterAsked(filter, 'filter.')),
        dryRun,
        limit: rpc.countAsked(limit, { field: 'limit', fallback: BULK_LETTERS_MAX, max: BULK_LETTERS_MAX }),
        ...placeAsked(pageToken),
      });
      const view = redriveReportView(dryRun, { ...report, next: next && placeText(next) });
      const { matched, redriven, refused, runs: runIds } = view;
      return { matched, redriven, refused, runIds, nextPageToken: view.next ?? '' };
    }),
  ];
}

type Filter = ReturnType<typeof rpc.letterFilterAsked>;
type Selection = { [Name in keyof Filter]?: NonNullable<Filter[Name]> };

/** Without the filters that were not given. */
function selected(caller: Caller, asked: Filter): Selection {
  const named = { ...asked, userId: userNamed(caller, asked.userId) };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

function placeAsked(token: string): { before?: DeadLetterPlace } {
  const place = runPlaceAsked(token);
  return place ? { before: { diedAtMs: place.createdAtMs, runId: place.runId } } : {};
}

function placeText({ diedAtMs, runId }: DeadLetterPlace): string {
  return writeRunPlace({ createdAtMs: diedAtMs, runId });
}

/** Lists of runs: the page that is asked of the operations, and the answer with its links. */
import { type RunsQuery, runView, writeRunPlace } from '@carillon/contract';
import { isFinal } from '@carillon/domain';
import type { RunPage, RunView } from '../../storage/run-store.ts';
import type { Call } from '../endpoint.ts';
import { cutPage, linkPages, readLimit } from '../page-links.ts';

export function runPageOf({ before, page, limit }: RunsQuery): RunPage {
  const offset = page === undefined ? 0 : (page - 1) * limit;
  return { limit: readLimit(limit), offset, ...(before !== undefined && { before }) };
}

export function answerRuns(
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

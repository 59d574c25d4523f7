/** Pages of runs, as calls ask for them and are answered. */
import { RUNS_QUERY, readShape, rpc, runView, toRunsQuery, writeRunPlace } from '@carillon/contract';
import { isFinal } from '@carillon/domain';
import type { RunPage, RunView } from '../../storage/run-store.ts';
import { cutPage, readLimit } from '../page-links.ts';

export interface Paged {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** Living runs come before the history and have no place in it: behind them pages go on by number. */
const BY_NUMBER = /^\+(\d{1,6})$/;

export function runPageAsked({ pageSize, pageToken }: Paged): RunPage {
  const limit = readLimit(rpc.pageSizeAsked(pageSize));
  const offset = BY_NUMBER.exec(pageToken)?.[1];
  if (offset !== undefined) return { limit, offset: Number(offset) };
  const before = runPlaceAsked(pageToken);
  return { limit, ...(before && { before }) };
}

/** A place in the history, as page tokens carry it. */
export function runPlaceAsked(token: string): RunPage['before'] {
  return rpc.pageTokenAsked(token, (before) => toRunsQuery(readShape(RUNS_QUERY, { before })).before);
}

export function runPageAnswer(rows: readonly RunView[], asked: Paged) {
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

/**
 * The runs that the screen lists: each once, by its last attempt, and those that wait before all others. The server lists what waits by
 * itself, because it may be millions of runs: a page of them is shown here, and whether there are more is kept for the screen.
 */

import type { ListedRun, ListPage, RunFilter } from '@carillon/client';
import type { QueryClient } from '@tanstack/react-query';
import { carillon } from '../../api/carillon.ts';
import { queryKeys } from '../../api/query-keys.ts';
import type { PagedSource } from '../../ui/paged-list.ts';

const PAGE = 50;
export const WAITING_SHOWN_MAX = 50;

/** What waits is of no instant yet, on no worker, and has no error. */
export function showsWaiting(filter: RunFilter): boolean {
  const { status, since, until, error, failure, worker_id, job_id } = filter;
  return [status, since, until, error, failure, worker_id, job_id].every((given) => given === undefined);
}

export const waitingKey = (filter: RunFilter) => queryKeys.runs('waiting', filter);

export function listRuns(queries: QueryClient, filter: RunFilter, each: boolean): PagedSource<ListedRun> {
  const list = carillon.runs.list({ ...filter, limit: PAGE, attempts: each ? 'all' : 'last' });
  if (!showsWaiting(filter)) return list;
  return {
    page: async () => {
      const [waiting, page] = await Promise.all([
        queries.fetchQuery({
          queryKey: waitingKey(filter),
          queryFn: () => readWaiting(filter),
          staleTime: 0,
        }),
        list.page(),
      ]);
      return { ...page, items: withWaiting(waiting.items, page.items, each) };
    },
    from: (cursor) => list.from(cursor),
  };
}

function readWaiting(filter: RunFilter): Promise<ListPage<ListedRun>> {
  return carillon.runs.list({ ...filter, status: 'QUEUED', limit: WAITING_SHOWN_MAX }).page();
}

/** A run that waits for its next attempt is one row, not two; where attempts are rows, its earlier ones stay. */
export function withWaiting(
  waiting: readonly ListedRun[],
  others: readonly ListedRun[],
  each: boolean,
): ListedRun[] {
  const waits = new Set(each ? [] : waiting.map(({ run_id: id }) => id));
  return [...waiting, ...others.filter(({ run_id: id }) => !waits.has(id))];
}

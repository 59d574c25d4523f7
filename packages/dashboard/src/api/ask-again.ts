/**
 * Asks queries again after a change. The library does not repeat a first question that is still under way, and its answer may be from
 * before the change: such a question is asked once more when it is answered, or the page would miss the change for good.
 */
import type { Query, QueryClient } from '@tanstack/react-query';

export async function askAgain(
  queries: Pick<QueryClient, 'invalidateQueries'>,
  isMeant: (query: Pick<Query, 'queryKey'>) => boolean,
): Promise<void> {
  const early = new Set<unknown>();
  await queries.invalidateQueries({
    predicate: (query) => {
      if (!isMeant(query)) return false;
      if (query.state.data === undefined && query.state.fetchStatus !== 'idle') early.add(query);
      return true;
    },
  });
  if (early.size > 0) await queries.invalidateQueries({ predicate: (query) => early.has(query) });
}

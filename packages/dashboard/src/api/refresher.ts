/**
 * Asks again what an update of the stream says has changed: what is named at once; lists, counts and charts at once after a quiet
 * time, and at most every two seconds however much happens. So a failure stands on the page within about two seconds.
 */
import type { LiveUpdate } from '@carillon/client';
import type { QueryClient } from '@tanstack/react-query';
import { askAgain } from './ask-again.ts';
import type { AboutRuns } from './query-keys.ts';

const LISTS_MS = 2_000;
/** The server shares counts between callers for a second: what was asked for at once may be from before, and is asked for once more. */
const AGAIN_MS = 1_100;

export function createRefresher(queries: Pick<QueryClient, 'invalidateQueries'>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  const wanted = new Set<AboutRuns>();
  const ask = () => {
    askedAt = Date.now();
    const about = new Set<unknown>(wanted);
    void askAgain(
      queries,
      ({ queryKey: [first, second] }) =>
        about.has(first) &&
        (second === 'list' || first === 'stats' || first === 'failures' || first === 'workers'),
    );
  };
  const askLater = (ms: number) => {
    timer = setTimeout(() => {
      timer = undefined;
      ask();
      wanted.clear();
    }, ms);
  };
  const refresh = ({ changed, refetch }: Pick<LiveUpdate, 'changed' | 'refetch'>) => {
    const ids = new Set<unknown>([...changed.jobs, ...changed.runs]);
    void askAgain(
      queries,
      ({ queryKey: [first, second] }) =>
        (first === 'jobs' || first === 'runs') && second !== 'list' && (refetch || ids.has(second)),
    );
    // A job that is made, edited or run by hand may have a run that waits.
    if (refetch || changed.jobs.length > 0) for (const about of ['jobs', 'runs'] as const) wanted.add(about);
    if (refetch || changed.runs.length > 0)
      for (const about of ['runs', 'stats', 'failures'] as const) wanted.add(about);
    if (refetch || changed.workers) wanted.add('workers');
    if (refetch || changed.dead_letters) wanted.add('dead');
    if (wanted.size === 0 || timer !== undefined) return;
    const leftMs = askedAt + LISTS_MS - Date.now();
    if (leftMs > 0) return askLater(leftMs);
    ask();
    askLater(AGAIN_MS);
  };
  return Object.assign(refresh, { stop: () => clearTimeout(timer) });
}

/**
 * The pages of a list of any length: at most PAGES_MAX are kept, and those that were let go are read again when somebody scrolls back to
 * them. While somebody reads far down, only the pages that are seen are read again; where they stand nothing moves.
 */
import type { ListPage } from '@carillon/client';
import { hashKey, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { isAboutRuns } from '../api/query-keys.ts';
import { useRefreshMs } from '../api/use-refresh.ts';

export const PAGES_MAX = 40;
/** What is kept of a list whose top is shown: all of it is read again whenever something changes. */
const TOP_ROWS = 150;

/** Where a page begins. */
interface PageStart {
  /** Undefined: the first page. */
  readonly cursor: string | undefined;
  /** Rows before it. */
  readonly start: number;
  readonly before: PageStart | undefined;
}

interface Pages<T> {
  readonly pages: ListPage<T>[];
  readonly pageParams: unknown[];
}

const HEAD: PageStart = { cursor: undefined, start: 0, before: undefined };

/** A list of the client, or one that is put together from several. */
export interface PagedSource<T> {
  readonly page: () => Promise<ListPage<T>>;
  readonly from: (cursor: string) => Pick<PagedSource<T>, 'page'>;
}

interface PagedListOptions<T> {
  readonly queryKey: readonly unknown[];
  readonly list: () => PagedSource<T>;
  /** How often it is read by itself while the stream tells what changed; undefined: as lists of jobs and runs are. */
  readonly everyMs: number | undefined;
  /** The rows that are seen lie below the first page. */
  readonly isDeep: boolean;
}

export function usePagedList<T>({ queryKey, list, everyMs, isDeep }: PagedListOptions<T>) {
  const refreshMs = useRefreshMs(everyMs);
  const queries = useQueryClient();
  const read = ({ cursor }: PageStart) => (cursor === undefined ? list() : list().from(cursor)).page();
  const query = useInfiniteQuery<ListPage<T>, Error, Pages<T>, readonly unknown[], PageStart>({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: HEAD,
    getNextPageParam: (page, _, start) => nextStart(page, start),
    getPreviousPageParam: (_, __, start) => start.before,
    maxPages: PAGES_MAX,
    // What people change in the settings is read when it is opened.
    refetchInterval: isAboutRuns(queryKey) ? refreshMs : false,
    enabled: !isDeep || queries.getQueryData(queryKey) === undefined,
  });
  // Until it is answered, rows of the question before stand there.
  const starts = (query.isPlaceholderData ? [] : (query.data?.pageParams ?? [])) as readonly PageStart[];
  const offset = starts[0]?.start ?? 0;

  // Back at the top: what lies far below is let go, and read when it is scrolled to.
  const wasDeep = useRef(isDeep);
  useEffect(() => {
    if (wasDeep.current && !isDeep)
      queries.setQueryData<Pages<T>>(queryKey, (data) =>
        data && (data.pageParams[0] as PageStart).start === 0 ? topOf(data) : data,
      );
    wasDeep.current = isDeep;
  }, [isDeep, queries, queryKey]);

  /** The beginning, as it is now: rows that were added since are among it. */
  const readTop = async () => {
    const pages: ListPage<T>[] = [];
    const pageParams: PageStart[] = [];
    for (
      let start: PageStart | undefined = HEAD;
      start && start.start < TOP_ROWS && pages.length < PAGES_MAX;
    ) {
      const page: ListPage<T> = await read(start);
      pages.push(page);
      pageParams.push(start);
      start = nextStart(page, start);
    }
    queries.setQueryData<Pages<T>>(queryKey, { pages, pageParams });
  };
  const isReadingTop = useRef(false);
  const readBefore = () => {
    if (isReadingTop.current || query.isFetchingPreviousPage || offset === 0) return;
    if (starts[0]!.before?.before !== undefined) return void query.fetchPreviousPage();
    isReadingTop.current = true;
    void readTop().finally(() => {
      isReadingTop.current = false;
    });
  };

  /** Reads the pages of these rows again, each from where it begins: rows change, and none moves, also where one has `ended`. */
  const refresh = async (from: number, to: number, isEnded: (item: T) => boolean) => {
    for (const [i, start] of starts.entries()) {
      const page = query.data!.pages[i]!;
      if (start.start > to || start.start + page.items.length < from) continue;
      const fresh = await read(start).catch(() => undefined);
      if (fresh)
        queries.setQueryData<Pages<T>>(
          queryKey,
          (data) => data && replaced(data, start, fresh.items, isEnded),
        );
    }
  };
  return { ...query, offset, readBefore, refresh };
}

function nextStart<T>(page: ListPage<T>, start: PageStart): PageStart | undefined {
  if (!page.hasMore || page.cursor === undefined) return undefined;
  return { cursor: page.cursor, start: start.start + page.items.length, before: start };
}

function topOf<T>({ pages, pageParams }: Pages<T>): Pages<T> {
  const count = (pageParams as readonly PageStart[]).filter(({ start }) => start < TOP_ROWS).length;
  return { pages: pages.slice(0, count), pageParams: pageParams.slice(0, count) };
}

function replaced<T>(
  data: Pages<T>,
  start: PageStart,
  fresh: readonly T[],
  isEnded: (item: T) => boolean,
): Pages<T> {
  const pages = data.pages.map((page, i) => {
    if (data.pageParams[i] !== start) return page;
    const items = [...fresh];
    for (const [at, item] of page.items.entries()) if (isEnded(item)) items.splice(at, 0, item);
    return { ...page, items };
  });
  return { ...data, pages };
}

/** Calls back when somebody says that what the list shows may have changed, also while it is not read by itself. */
export function useInvalidation(queryKey: readonly unknown[], onInvalid: () => void): void {
  const queries = useQueryClient();
  const call = useRef(onInvalid);
  call.current = onInvalid;
  const hash = hashKey(queryKey);
  useEffect(
    () =>
      queries.getQueryCache().subscribe((event) => {
        if (event.type === 'updated' && event.action.type === 'invalidate' && event.query.queryHash === hash)
          call.current();
      }),
    [queries, hash],
  );
}

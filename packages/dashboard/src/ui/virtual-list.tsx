/**
 * A list of any length: pages are read as it is scrolled, only visible rows are drawn, and at most 2,000 rows are kept. New entries
 * do not move what is shown. Keys: j and k move, Enter opens, x selects.
 */
import type { ListPage } from '@carillon/client';
import { Box, Button, Checkbox, Group, Text, VisuallyHidden } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Waiting } from './card.tsx';
import { useHeldItems } from './held-items.ts';
import { useListPlace } from './list-place.ts';
import { Problem } from './problem.tsx';
import { useShortcuts } from './shortcuts.ts';
import classes from './virtual-list.module.css';

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  /** A track of CSS grid, such as `2fr` or `120px`. */
  readonly width: string;
  readonly cell: (item: T) => ReactNode;
  /** Left out on screens narrower than this. */
  readonly from?: 'sm' | 'md' | 'lg' | undefined;
  readonly align?: 'right' | undefined;
}

/** A list of the client, or one that is put together from several. */
export interface Pages<T> {
  readonly page: () => Promise<ListPage<T>>;
  readonly from: (cursor: string) => Pick<Pages<T>, 'page'>;
}

interface VirtualListProps<T> {
  /** Names the list for people who cannot see it. */
  readonly label: string;
  readonly queryKey: readonly unknown[];
  readonly list: () => Pages<T>;
  readonly columns: readonly Column<T>[];
  readonly idOf: (item: T) => string;
  readonly onOpen?: ((item: T) => void) | undefined;
  readonly empty: ReactNode;
  /** Ticked rows; left out: nothing can be ticked. */
  readonly selection?:
    | { readonly ids: ReadonlySet<string>; readonly change: (ids: ReadonlySet<string>) => void }
    | undefined;
  readonly refetchMs?: number | undefined;
  readonly onItems?: ((items: readonly T[]) => void) | undefined;
}

const ROW_PX = 36;
const PAGES_MAX = 40;
const OVERSCAN = 12;
const WIDTHS = { sm: 640, md: 960, lg: 1280 } as const;

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { label, queryKey, list, idOf, onOpen, empty, selection, refetchMs, onItems } = props;
  const query = useInfiniteQuery<
    ListPage<T>,
    Error,
    { pages: ListPage<T>[] },
    readonly unknown[],
    string | undefined
  >({
    queryKey: [...queryKey],
    queryFn: ({ pageParam }): Promise<ListPage<T>> =>
      pageParam === undefined ? list().page() : list().from(pageParam).page(),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.hasMore ? page.cursor : undefined),
    maxPages: PAGES_MAX,
    refetchInterval: refetchMs ?? false,
  });
  const fresh = useMemo(
    () => unique(query.data?.pages.flatMap((page) => page.items) ?? [], idOf),
    [query.data, idOf],
  );
  const frame = useRef<HTMLDivElement>(null);
  const place = useListPlace(label);
  const question = JSON.stringify(queryKey);
  const { items, waiting, release, hold } = useHeldItems(fresh, {
    idOf,
    question: query.isPlaceholderData ? undefined : question,
    pinned: (selection?.ids.size ?? 0) > 0,
  });
  useEffect(() => onItems?.(items), [items, onItems]);

  const width = useWidth(frame);
  const columns = props.columns.filter(({ from }) => from === undefined || width >= WIDTHS[from]);
  const tracks = [...(selection ? ['36px'] : []), ...columns.map((column) => column.width)].join(' ');
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    initialOffset: place.before?.scrollTop ?? 0,
  });
  const isShown = query.data !== undefined && items.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when there is something to scroll
  useLayoutEffect(() => {
    if (isShown && frame.current && place.before) frame.current.scrollTop = place.before.scrollTop;
    // An empty list has no frame that the pointer could leave.
    if (!isShown) hold({ pointer: false, scrolled: false });
  }, [isShown]);
  const asked = useRef(question);
  useEffect(() => {
    if (asked.current === question) return;
    asked.current = question;
    frame.current?.scrollTo({ top: 0 });
  }, [question]);
  const visible = rows.getVirtualItems();
  const lastIndex = visible.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && lastIndex >= items.length - OVERSCAN) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, lastIndex, items.length]);

  const [at, setRow] = useState(place.before?.at ?? -1);
  const setAt = (index: number) => {
    setRow(index);
    place.keep({ at: index });
  };
  const move = (to: number) => {
    const index = Math.max(0, Math.min(items.length - 1, to));
    setAt(index);
    rows.scrollToIndex(index, { align: 'auto' });
  };
  const toggle = (id: string) => {
    if (!selection) return;
    const ids = new Set(selection.ids);
    if (!ids.delete(id)) ids.add(id);
    selection.change(ids);
  };
  const focused = items[at];
  useShortcuts({
    j: () => move(at + 1),
    k: () => move(at - 1),
    x: () => focused && toggle(idOf(focused)),
    Enter: () => focused && onOpen?.(focused),
  });

  if (query.data === undefined)
    return query.error ? (
      <Problem error={query.error} onRetry={() => void query.refetch()} />
    ) : (
      <Waiting height={300} />
    );
  if (items.length === 0 && !hasNextPage) return <>{empty}</>;
  const allTicked =
    selection !== undefined && items.length > 0 && items.every((item) => selection.ids.has(idOf(item)));
  return (
    <Box>
      {query.error && <Problem error={query.error} onRetry={() => void query.refetch()} />}
      {waiting > 0 && (
        <Button
          size="compact-xs"
          mb={6}
          onClick={() => {
            release();
            rows.scrollToOffset(0);
          }}
        >
          Show {waiting} new
        </Button>
      )}
      <Box
        ref={frame}
        className={classes.frame}
        role="table"
        aria-label={label}
        aria-rowcount={-1}
        tabIndex={0}
        onPointerEnter={() => hold({ pointer: true })}
        onPointerLeave={() => hold({ pointer: false })}
        onScroll={({ currentTarget: { scrollTop } }) => {
          place.keep({ scrollTop });
          hold({ scrolled: scrollTop > 0 });
        }}
      >
        <div role="rowgroup" className={classes.head}>
          <div role="row" className={classes.row} style={{ gridTemplateColumns: tracks }}>
            {selection && (
              <span role="columnheader" className={classes.cell}>
                <Checkbox
                  size="xs"
                  aria-label="Select all that are shown"
                  checked={allTicked}
                  indeterminate={!allTicked && selection.ids.size > 0}
                  onChange={() => selection.change(allTicked ? new Set() : new Set(items.map(idOf)))}
                />
              </span>
            )}
            {columns.map(({ key, title, align }) => (
              <span key={key} role="columnheader" className={classes.cell} data-align={align}>
                {title === '' ? <VisuallyHidden>Actions</VisuallyHidden> : title}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className={classes.body} style={{ height: rows.getTotalSize() }}>
          {visible.map(({ index, start }) => {
            const item = items[index]!;
            const id = idOf(item);
            return (
              <div
                key={id}
                role="row"
                aria-rowindex={index + 2}
                tabIndex={-1}
                className={classes.row}
                data-at={index === at || undefined}
                data-id={id}
                data-open={onOpen !== undefined || undefined}
                style={{ gridTemplateColumns: tracks, transform: `translateY(${start}px)`, height: ROW_PX }}
                onClick={(event) => {
                  setAt(index);
                  if (!isControl(event.target)) onOpen?.(item);
                }}
              >
                {selection && (
                  <span role="cell" className={classes.cell}>
                    <Checkbox
                      size="xs"
                      aria-label="Select"
                      checked={selection.ids.has(id)}
                      onChange={() => toggle(id)}
                    />
                  </span>
                )}
                {columns.map(({ key, cell, align }) => (
                  <span key={key} role="cell" className={classes.cell} data-align={align}>
                    {cell(item)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </Box>
      <Group justify="space-between" mt={6} mih={22}>
        <Text size="xs" c="dimmed">
          {items.length} shown{hasNextPage ? ', more below' : ''}
        </Text>
        {hasNextPage && (
          <Button
            size="compact-xs"
            variant="subtle"
            loading={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          >
            Read more
          </Button>
        )}
      </Group>
    </Box>
  );
}

/** A list that grows at its head repeats entries at the seams of its pages. */
function unique<T>(items: readonly T[], idOf: (item: T) => string): T[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const id = idOf(item);
    return !seen.has(id) && seen.add(id);
  });
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, label') !== null;
}

function useWidth(frame: React.RefObject<HTMLDivElement | null>): number {
  const [width, setWidth] = useState(() => window.innerWidth);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(entry.contentRect.width));
    observer.observe(element);
    return () => observer.disconnect();
  });
  return width;
}

/**
 * A list of any length: pages are read as it is scrolled, only visible rows are drawn, and at most 2,000 rows are kept. New entries
 * do not move what is shown. Keys: j and k move, Enter opens, x selects.
 */
import { Box, Button, Checkbox, Group, Text, VisuallyHidden } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Waiting } from './card.tsx';
import { instantOfCursor } from './cursor-instant.ts';
import { useHeldItems } from './held-items.ts';
import { Instant } from './instant.tsx';
import { useListPlace } from './list-place.ts';
import { type PagedSource, useInvalidation, usePagedList } from './paged-list.ts';
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
  /** Where it is left out, it stands on a line of its own below the row; drawn otherwise there, where other columns are told with it. */
  readonly below?: true | ((item: T) => ReactNode) | undefined;
  /** How many lines it may take there; left out: one. */
  readonly linesBelow?: number | undefined;
  readonly align?: 'right' | undefined;
}

interface VirtualListProps<T> {
  /** Names the list for people who cannot see it. */
  readonly label: string;
  readonly queryKey: readonly unknown[];
  readonly list: () => PagedSource<T>;
  readonly columns: readonly Column<T>[];
  readonly idOf: (item: T) => string;
  readonly onOpen?: ((item: T) => void) | undefined;
  readonly empty: ReactNode;
  /** Ticked rows; left out: nothing can be ticked. */
  readonly selection?:
    | { readonly ids: ReadonlySet<string>; readonly change: (ids: ReadonlySet<string>) => void }
    | undefined;
  /** Rows that their own button has taken out of the list: they stand where they are until the pointer leaves it. */
  readonly ended?: ReadonlySet<string> | undefined;
  /** How often it is read by itself while the stream tells what changed; left out: as lists of jobs and runs are. */
  readonly everyMs?: number | undefined;
  readonly onItems?: ((items: readonly T[]) => void) | undefined;
}

const ROW_PX = 36;
const LINE_PX = 22;
const OVERSCAN = 12;
/** Of a filter that finds nothing more, so many pages are looked through before somebody is asked whether to go on. */
const SEARCHED_PAGES = 20;
/** Further down than any first page reaches: rows are read again where they stand. */
const DEEP_PX = 100 * ROW_PX;
const WIDTHS = { sm: 640, md: 960, lg: 1280 } as const;

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { label, queryKey, list, idOf, onOpen, empty, selection, ended, everyMs, onItems } = props;
  const frame = useRef<HTMLDivElement>(null);
  const place = useListPlace(label);
  const question = JSON.stringify(queryKey);
  const [isDeep, setDeep] = useState((place.before?.scrollTop ?? 0) > DEEP_PX);
  // Another question begins at its top.
  const asked = useRef(question);
  const isOther = asked.current !== question;
  const query = usePagedList({ queryKey, list, everyMs, isDeep: isDeep && !isOther });
  const { offset } = query;
  const fresh = useMemo(
    () => unique(query.data?.pages.flatMap((page) => page.items) ?? [], idOf),
    [query.data, idOf],
  );
  const { items, waiting, release, hold } = useHeldItems(fresh, {
    idOf,
    question: query.isPlaceholderData ? undefined : question,
    pinned: (selection?.ids.size ?? 0) > 0,
    // Rows of other pages than before are other rows; those that are read above them are not new.
    isMoved: isDeep || offset > 0,
    hasMore: query.hasNextPage,
    ended,
  });
  // Rows that waited stand above those that are seen from here on.
  const waited = useRef(waiting);
  const rowPx = useRef(ROW_PX);
  useLayoutEffect(() => {
    if (isDeep && frame.current) frame.current.scrollTop += waited.current * rowPx.current;
  }, [isDeep]);
  if (!isDeep) waited.current = waiting;
  useEffect(() => onItems?.(items), [items, onItems]);

  const width = useWidth(frame);
  const hasRoom = ({ from }: Column<T>) => from === undefined || width >= WIDTHS[from];
  const columns = props.columns.filter(hasRoom);
  const below = props.columns.filter((column) => column.below && !hasRoom(column));
  const height = ROW_PX + below.reduce((lines, column) => lines + linesOf(column), 0) * LINE_PX;
  const tracks = [...(selection ? ['36px'] : []), ...columns.map((column) => column.width)].join(' ');
  const rows = useVirtualizer({
    count: offset + items.length,
    getScrollElement: () => frame.current,
    estimateSize: () => height,
    overscan: OVERSCAN,
    initialOffset: place.before?.scrollTop ?? 0,
  });
  rowPx.current = height;
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights that were estimated before are wrong now
  useLayoutEffect(() => rows.measure(), [height]);
  const isShown = query.data !== undefined && items.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when there is something to scroll
  useLayoutEffect(() => {
    if (isShown && frame.current && place.before) frame.current.scrollTop = place.before.scrollTop;
    // An empty list has no frame that the pointer could leave.
    if (!isShown) hold({ pointer: false, scrolled: false });
  }, [isShown]);
  useEffect(() => {
    if (asked.current === question) return;
    asked.current = question;
    search.current = { rows: 0, pages: 0 };
    setPaused(false);
    setDeep(false);
    frame.current?.scrollTo({ top: 0 });
  }, [question]);
  const visible = rows.getVirtualItems();
  const [firstIndex, lastIndex] = [visible[0]?.index ?? 0, visible.at(-1)?.index ?? 0];
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const search = useRef({ rows: 0, pages: 0 });
  const [isPaused, setPaused] = useState(false);
  useEffect(() => {
    if (!hasNextPage || isFetchingNextPage || isPaused) return;
    if (lastIndex < offset + items.length - OVERSCAN) return;
    const rows = offset + items.length;
    search.current =
      rows === search.current.rows ? { rows, pages: search.current.pages + 1 } : { rows, pages: 0 };
    if (search.current.pages < SEARCHED_PAGES) void fetchNextPage();
    else setPaused(true);
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, isPaused, lastIndex, offset, items.length]);
  // Further pages are read, and have nothing that matches so far.
  const isSearching = hasNextPage && !isPaused && search.current.pages > 0;
  const searchedTo = instantOfCursor(query.data?.pages.at(-1)?.cursor);
  const readMore = () => {
    search.current = { rows: 0, pages: 0 };
    setPaused(false);
    void fetchNextPage();
  };
  useEffect(() => {
    if (isShown && offset > 0 && firstIndex < offset + OVERSCAN) query.readBefore();
  });
  const isEnded = (item: T) => ended?.has(idOf(item)) === true;
  useInvalidation(queryKey, () => isDeep && void query.refresh(firstIndex, lastIndex, isEnded));
  useTouchElsewhere(frame, () => hold({ pointer: false }));

  const [at, setRow] = useState(place.before?.at ?? -1);
  const setAt = (index: number) => {
    setRow(index);
    place.keep({ at: index });
  };
  const move = (to: number) => {
    const index = Math.max(offset, Math.min(offset + items.length - 1, to));
    setAt(index);
    rows.scrollToIndex(index, { align: 'auto' });
  };
  const toggle = (id: string) => {
    if (!selection) return;
    const ids = new Set(selection.ids);
    if (!ids.delete(id)) ids.add(id);
    selection.change(ids);
  };
  const focused = items[at - offset];
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
        // A finger leaves with every tap, and may tap once more.
        onPointerLeave={({ pointerType }) => pointerType !== 'touch' && hold({ pointer: false })}
        onScroll={({ currentTarget: { scrollTop } }) => {
          place.keep({ scrollTop });
          hold({ scrolled: scrollTop > 0 });
          // Only at the very top nothing moves when what lies far below is let go.
          setDeep(scrollTop > (isDeep ? 0 : DEEP_PX));
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
            {below.map(({ key, title }) => (
              <VisuallyHidden key={key} role="columnheader">
                {title || 'Actions'}
              </VisuallyHidden>
            ))}
          </div>
        </div>
        <div role="rowgroup" className={classes.body} style={{ height: rows.getTotalSize() }}>
          {visible.map(({ index, start }) => {
            const item = items[index - offset];
            // Let go, and on its way again.
            if (item === undefined) return null;
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
                style={{ gridTemplateColumns: tracks, transform: `translateY(${start}px)`, height }}
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
                {below.map((column) => (
                  <span
                    key={column.key}
                    role="cell"
                    className={classes.below}
                    data-lines={column.linesBelow}
                    style={{
                      gridColumn: `${selection ? 2 : 1} / -1`,
                      height: linesOf(column) * LINE_PX,
                      WebkitLineClamp: column.linesBelow,
                    }}
                  >
                    {typeof column.below === 'function' ? column.below(item) : column.cell(item)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </Box>
      <Group justify="space-between" mt={6} mih={22}>
        <Text size="xs" c="dimmed">
          {items.length} shown
          {hasNextPage && (isPaused ? ', nothing more found so far' : !isSearching && ', more below')}
          {hasNextPage && (isPaused || isSearching) && searchedTo !== undefined && (
            <>
              {', searched back to '}
              <Instant at={searchedTo} kind="absolute" />
            </>
          )}
        </Text>
        {isSearching && (
          <Button size="compact-xs" variant="subtle" onClick={() => setPaused(true)}>
            Stop
          </Button>
        )}
        {hasNextPage && !isSearching && (
          <Button size="compact-xs" variant="subtle" loading={isFetchingNextPage} onClick={readMore}>
            {isPaused ? 'Search on' : 'Read more'}
          </Button>
        )}
      </Group>
    </Box>
  );
}

const linesOf = ({ linesBelow = 1 }: { readonly linesBelow?: number | undefined }) => linesBelow;

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

function useTouchElsewhere(frame: React.RefObject<HTMLDivElement | null>, onTouch: () => void): void {
  const call = useRef(onTouch);
  call.current = onTouch;
  useEffect(() => {
    const look = ({ pointerType, target }: PointerEvent) => {
      if (pointerType === 'touch' && !frame.current?.contains(target as Node)) call.current();
    };
    document.addEventListener('pointerdown', look);
    return () => document.removeEventListener('pointerdown', look);
  }, [frame]);
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

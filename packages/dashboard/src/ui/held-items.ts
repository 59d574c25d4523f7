/**
 * What a list shows while somebody is at it: rows change in place, rows of further pages follow, and new rows wait until they are
 * asked for, so that nothing moves under a pointer or a tick.
 */
import { useMemo, useRef, useState, useSyncExternalStore } from 'react';

const NONE: ReadonlySet<string> = new Set();

export interface Held<T> {
  readonly items: readonly T[];
  /** How many new ones wait. */
  readonly waiting: number;
}

interface HoldOptions<T> {
  readonly idOf: (item: T) => string;
  /** What follows was not read. */
  readonly hasMore?: boolean;
  /** Rows that their own button has taken out of the list: no other one moves to their place. */
  readonly ended?: ReadonlySet<string> | undefined;
}

/** `shown` is what stands there now; `fresh` is what the list holds by now, in order. */
export function holdItems<T>(
  shown: readonly T[],
  fresh: readonly T[],
  { idOf, hasMore = false, ended = NONE }: HoldOptions<T>,
): Held<T> {
  if (shown.length === 0) return { items: fresh, waiting: 0 };
  const now = new Map(fresh.map((item) => [idOf(item), item]));
  const known = new Set(shown.map(idOf));
  let lastKnown = -1;
  fresh.forEach((item, index) => {
    if (known.has(idOf(item))) lastKnown = index;
  });
  const isKept = (item: T) => now.has(idOf(item)) || ended.has(idOf(item));
  if (lastKnown === -1) {
    const kept = shown.filter(isKept);
    // Nothing of it is left: another list.
    return kept.length === 0 ? { items: fresh, waiting: 0 } : { items: kept, waiting: fresh.length };
  }
  const end = hasMore ? shown.findLastIndex(isKept) + 1 : shown.length;
  const items = [
    ...shown.slice(0, end).map((item) => now.get(idOf(item)) ?? item),
    ...fresh.slice(lastKnown + 1),
  ];
  const waiting = fresh.slice(0, lastKnown).filter((item) => !known.has(idOf(item))).length;
  return { items, waiting };
}

const listeners = new Set<() => void>();
let releasedByAct = 0;

/** After something that the person did: its effect is seen at once, wherever their pointer is. */
export function releaseLists(): void {
  releasedByAct += 1;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Holds while the pointer is over the list, it is scrolled down, or rows are ticked (`pinned`). Another question is never held, nor are the
 * rows far down (`isMoved`), which are not read anew from the top.
 */
export function useHeldItems<T>(
  fresh: readonly T[],
  {
    idOf,
    question,
    pinned,
    isMoved,
    hasMore,
    ended,
  }: {
    idOf: (item: T) => string;
    question: string | undefined;
    pinned: boolean;
    isMoved: boolean;
    hasMore: boolean;
    ended?: ReadonlySet<string> | undefined;
  },
) {
  const [busy, setBusy] = useState({ pointer: false, scrolled: false });
  const [releasedHere, setReleased] = useState(0);
  const released = releasedHere + useSyncExternalStore(subscribe, () => releasedByAct);
  const before = useRef<{ question: string | undefined; released: number; items: readonly T[] }>({
    ...{ question, released, items: [] },
  });
  const isHeld =
    !isMoved &&
    (pinned || busy.pointer || busy.scrolled) &&
    question !== undefined &&
    before.current.question === question &&
    before.current.released === released;
  const held = useMemo(
    () =>
      isHeld
        ? holdItems(before.current.items, fresh, { idOf, hasMore, ended })
        : { items: fresh, waiting: 0 },
    [isHeld, fresh, idOf, hasMore, ended],
  );
  before.current = { question, released, items: isMoved ? [] : held.items };
  return {
    ...held,
    release: () => setReleased((times) => times + 1),
    hold: (change: Partial<typeof busy>) =>
      setBusy((now) => {
        const next = { ...now, ...change };
        return next.pointer === now.pointer && next.scrolled === now.scrolled ? now : next;
      }),
  };
}

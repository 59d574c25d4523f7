/**
 * The newest events. The interface reads forward only, and the id of an event is its place in one order: the transaction
 * that recorded it, its row, its number in the row. So reading starts a few transactions before the end, then ever
 * further back until enough was found; every stretch is read once.
 */
import { CarillonError } from './carillon-error.ts';
import type { CarillonEvent } from './generated/types.ts';

export interface LatestEvents {
  /** Oldest first. */
  readonly events: readonly CarillonEvent[];
  /** Where a stream goes on after them, with nothing missed. */
  readonly lastEventId: string;
  /** There are older ones that were wanted too. */
  readonly hasMore: boolean;
}

/** One page after a place, and the place up to which it has looked. */
export type ReadPage = (
  lastEventId: string,
  limit: number,
) => Promise<{ events: readonly CarillonEvent[]; through: string }>;

/** A place that no database reaches: the server answers where its events end. */
const BEYOND_ALL = '999999999999999-0';
const PAGE_MAX = 1_000;
/** One transaction may tell of thousands of runs, so the first look is short; most tell of nothing, so it grows fast. */
const FIRST_STEP = 4;
const STEP_GROWTH = 4;
/** Looking for what is rare ends here, and says that there may be more. */
const READS_MAX = 200;

export async function latestEvents(
  read: ReadPage,
  { count, sinceMs = Number.NEGATIVE_INFINITY }: { count: number; sinceMs?: number | undefined },
): Promise<LatestEvents> {
  const { through: end } = await read(BEYOND_ALL, 1);
  let found: CarillonEvent[] = [];
  let until = transactionOf(end) + 1;
  let readsLeft = READS_MAX;
  for (let step = FIRST_STEP; until > 0; step *= STEP_GROWTH) {
    const from = Math.max(0, until - step);
    const stretch = await readStretch(read, { from, until, keep: count + 1, readsMax: readsLeft });
    readsLeft -= stretch.reads;
    if (readsLeft === 0) break;
    found = [...stretch.events, ...found];
    const [oldest] = found;
    const isEnough = found.length > count || (oldest !== undefined && Date.parse(oldest.time) < sinceMs);
    if (isEnough || stretch.isFirst) break;
    until = from;
  }
  const wanted = found.filter(({ time }) => Date.parse(time) >= sinceMs);
  return {
    events: wanted.slice(Math.max(0, wanted.length - count)),
    lastEventId: end,
    hasMore: wanted.length > count || readsLeft === 0,
  };
}

/** What the transactions `from` to before `until` told: the last ones of it, as many as are to be kept. */
async function readStretch(
  read: ReadPage,
  { from, until, keep, readsMax }: { from: number; until: number; keep: number; readsMax: number },
): Promise<{ events: CarillonEvent[]; isFirst: boolean; reads: number }> {
  let events: CarillonEvent[] = [];
  let isFirst = from === 0;
  let after = `${from}-0`;
  for (let reads = 1; ; reads += 1) {
    const page = await read(after, PAGE_MAX);
    for (const event of page.events) {
      // Nothing is kept from before the place that was asked for.
      if (event.id.startsWith('gap-')) isFirst = true;
      else if (transactionOf(event.id) < until) events.push(event);
    }
    events = events.slice(Math.max(0, events.length - keep));
    if (reads === readsMax || page.through === after || transactionOf(page.through) >= until)
      return { events, isFirst, reads };
    after = page.through;
  }
}

function transactionOf(place: string): number {
  const transaction = /^(\d+)-\d/.exec(place)?.[1];
  if (transaction !== undefined) return Number(transaction);
  throw new CarillonError({
    code: 'answer_unreadable',
    message: `"${place}" is not a place among the events of a server that this client knows.`,
    fix: 'Use a client of the version of the server.',
  });
}

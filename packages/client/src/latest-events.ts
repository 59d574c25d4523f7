/**
 * The newest events. The interface reads forward only, and the id of an event is its position in one order: the
 * transaction that recorded it, its row, its number in the row. So reading starts a few transactions before the end, then
 * ever further back until enough was found; every range is read once.
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

/** One page after a position, and the position up to which the server has looked. */
export type ReadPage = (
  lastEventId: string,
  limit: number,
) => Promise<{ events: readonly CarillonEvent[]; through: string }>;

/** A position that no database reaches: the server answers where its events end. */
const AFTER_ALL_EVENTS = '999999999999999-0';
const PAGE_MAX = 1_000;
/** In transactions. One may hold thousands of events, so the first range is short; most hold none, so ranges grow fast. */
const RANGE_FIRST = 4;
const RANGE_GROWTH = 4;
/** Looking for what is rare ends here, and says that there may be more. */
const READS_MAX = 200;

export async function latestEvents(
  read: ReadPage,
  { count, sinceMs = Number.NEGATIVE_INFINITY }: { count: number; sinceMs?: number | undefined },
): Promise<LatestEvents> {
  const { through: end } = await read(AFTER_ALL_EVENTS, 1);
  let found: CarillonEvent[] = [];
  let until = transactionOf(end) + 1;
  let readsLeft = READS_MAX;
  for (let length = RANGE_FIRST; until > 0; length *= RANGE_GROWTH) {
    const from = Math.max(0, until - length);
    const range = await readRange(read, { from, until, keep: count + 1, readsMax: readsLeft });
    readsLeft -= range.reads;
    if (readsLeft === 0) break;
    found = [...range.events, ...found];
    const [oldest] = found;
    const isEnough = found.length > count || (oldest !== undefined && Date.parse(oldest.time) < sinceMs);
    if (isEnough || range.isFirst) break;
    until = from;
  }
  const wanted = found.filter(({ time }) => Date.parse(time) >= sinceMs);
  return {
    events: wanted.slice(Math.max(0, wanted.length - count)),
    lastEventId: end,
    hasMore: wanted.length > count || readsLeft === 0,
  };
}

/** The events of the transactions `from` to before `until`: the last ones, as many as are to be kept. */
async function readRange(
  read: ReadPage,
  { from, until, keep, readsMax }: { from: number; until: number; keep: number; readsMax: number },
): Promise<{ events: CarillonEvent[]; isFirst: boolean; reads: number }> {
  let events: CarillonEvent[] = [];
  let isFirst = from === 0;
  let after = `${from}-0`;
  for (let reads = 1; ; reads += 1) {
    const page = await read(after, PAGE_MAX);
    for (const event of page.events) {
      // Nothing is kept from before the position that was asked for.
      if (event.id.startsWith('gap-')) isFirst = true;
      else if (transactionOf(event.id) < until) events.push(event);
    }
    events = events.slice(Math.max(0, events.length - keep));
    if (reads === readsMax || page.through === after || transactionOf(page.through) >= until)
      return { events, isFirst, reads };
    after = page.through;
  }
}

function transactionOf(eventId: string): number {
  const transaction = /^(\d+)-\d/.exec(eventId)?.[1];
  if (transaction !== undefined) return Number(transaction);
  throw new CarillonError({
    code: 'answer_unreadable',
    message: `"${eventId}" is not a place among the events of a server that this client knows.`,
    fix: 'Use a client of the version of the server.',
  });
}

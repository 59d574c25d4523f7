/**
 * Where an event stands in the one order of all: the transaction that recorded it, its row, and its number within the row.
 * Written out it is the event's id, and reading goes on exactly after it.
 */
export interface EventPlace {
  /** Counted on through the generations of the storage. */
  readonly xid: number;
  readonly seq: number;
  /** WHOLE_ROW: after all of the row. */
  readonly index: number;
}

/** So many transactions lie between two generations of the storage. */
export const PLACES_PER_GENERATION = 2 ** 38;

export const WHOLE_ROW = 2 ** 31 - 1;
/** Before everything. */
export const FIRST_PLACE: EventPlace = { xid: 0, seq: 0, index: WHOLE_ROW };

export function writePlace({ xid, seq, index }: EventPlace): string {
  return index === WHOLE_ROW ? `${xid}-${seq}` : `${xid}-${seq}-${index}`;
}

/** Undefined: not written by writePlace. */
export function readPlace(text: string): EventPlace | undefined {
  const [, xid, seq, index] = /^(\d{1,15})-(\d{1,15})(?:-(\d{1,9}))?$/.exec(text) ?? [];
  if (xid === undefined) return undefined;
  return { xid: Number(xid), seq: Number(seq), index: index === undefined ? WHOLE_ROW : Number(index) };
}

/** Of the storage, when the event was recorded. */
export function generationOf({ xid }: Pick<EventPlace, 'xid'>): number {
  return Math.floor(xid / PLACES_PER_GENERATION);
}

export function comparePlaces(a: EventPlace, b: EventPlace): number {
  return a.xid - b.xid || a.seq - b.seq || a.index - b.index;
}

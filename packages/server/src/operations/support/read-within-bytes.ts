/**
 * Reads a list whose entries may be large part by part, and ends it early: what one answer holds, and what it takes to read it, stays
 * bounded however many entries were asked for.
 */

/** Of what entries carry, in one answer. */
export const LIST_BYTES_MAX = 5_000_000;
/** So many of the largest fit into an answer. */
const FIRST_PART = 20;

export interface Part<Row, Cursor> {
  readonly rows: readonly Row[];
  /** More may follow after it. Undefined: this is the end. */
  readonly next: Cursor | undefined;
}

export async function readWithinBytes<Row, Cursor>({
  limit,
  read,
  bytesOf,
  cursorOf,
}: {
  readonly limit: number;
  /** The next so many. */
  readonly read: (count: number, after: Cursor | undefined) => Promise<Part<Row, Cursor>>;
  readonly bytesOf: (row: Row) => number;
  readonly cursorOf: (row: Row) => Cursor;
}): Promise<Part<Row, Cursor>> {
  const rows: Row[] = [];
  let bytes = 0;
  let next: Cursor | undefined;
  let count = Math.min(limit, FIRST_PART);
  for (;;) {
    const part = await read(count, next);
    for (const row of part.rows) {
      bytes += bytesOf(row);
      // One entry is always answered, or nobody could ever get past it.
      if (bytes > LIST_BYTES_MAX && rows.length > 0) return { rows, next: cursorOf(rows.at(-1)!) };
      rows.push(row);
    }
    next = part.next;
    if (next === undefined || rows.length >= limit || part.rows.length < count) return { rows, next };
    const room = Math.floor((LIST_BYTES_MAX - bytes) / Math.max(1, bytes / rows.length));
    count = Math.min(limit - rows.length, Math.max(FIRST_PART, room));
  }
}

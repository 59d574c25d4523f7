import { describe, expect, test } from 'vitest';
import { compareEventCursors, ROW_END, readEventCursor, writeEventCursor } from './event.ts';

describe('the place of an event', () => {
  test.each([
    { xid: 1, seq: 2, index: 3 },
    { xid: 4_294_967_296, seq: 9_000_000_000, index: 0 },
    { xid: 7, seq: 8, index: ROW_END },
  ])('reads back as it was written: %o', (cursor) => {
    expect(readEventCursor(writeEventCursor(cursor))).toEqual(cursor);
  });

  test.each(['', '1', '1-', 'a-b-c', '1-2-3-4', '-1-2', '1-2-', '1e3-2', '9999999999999999-1'])(
    'is not read from %j',
    (text) => {
      expect(readEventCursor(text)).toBeUndefined();
    },
  );

  test('orders by transaction, then row, then number; the end of a row comes after all of it', () => {
    const written = ['10-1-0', '2-9-9', '2-10-0', '2-9', '2-9-10'];
    const sorted = written.map((text) => readEventCursor(text)!).sort(compareEventCursors);
    expect(sorted.map(writeEventCursor)).toEqual(['2-9-9', '2-9-10', '2-9', '2-10-0', '10-1-0']);
  });
});

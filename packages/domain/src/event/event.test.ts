import { describe, expect, test } from 'vitest';
import { comparePlaces, readPlace, WHOLE_ROW, writePlace } from './event.ts';

describe('the place of an event', () => {
  test.each([
    { xid: 1, seq: 2, index: 3 },
    { xid: 4_294_967_296, seq: 9_000_000_000, index: 0 },
    { xid: 7, seq: 8, index: WHOLE_ROW },
  ])('reads back as it was written: %o', (place) => {
    expect(readPlace(writePlace(place))).toEqual(place);
  });

  test.each(['', '1', '1-', 'a-b-c', '1-2-3-4', '-1-2', '1-2-', '1e3-2', '9999999999999999-1'])(
    'is not read from %j',
    (text) => {
      expect(readPlace(text)).toBeUndefined();
    },
  );

  test('orders by transaction, then row, then number; the end of a row comes after all of it', () => {
    const written = ['10-1-0', '2-9-9', '2-10-0', '2-9', '2-9-10'];
    const sorted = written.map((text) => readPlace(text)!).sort(comparePlaces);
    expect(sorted.map(writePlace)).toEqual(['2-9-9', '2-9-10', '2-9', '2-10-0', '10-1-0']);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobId } from '../ids.ts';
import { compareJobCursors, keyOfNone } from './job-order.ts';

const cursor = (key: string | number, jobId = 'a') => ({ key, jobId: jobId as JobId });

describe('places in a list of jobs', () => {
  it('go by key, then by id, and the other way round when the list does', () => {
    const sorted = [cursor(1, 'b'), cursor(2, 'a'), cursor(2, 'b'), cursor(10, 'a')];
    const shuffled = [sorted[3]!, sorted[1]!, sorted[2]!, sorted[0]!];
    expect(shuffled.toSorted((a, b) => compareJobCursors(a, b, { descending: false }))).toEqual(sorted);
    expect(shuffled.toSorted((a, b) => compareJobCursors(a, b, { descending: true }))).toEqual(
      sorted.toReversed(),
    );
  });

  it('compare texts as the bytes of UTF-8 do', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        const compared = compareJobCursors(cursor(a), cursor(b), { descending: false });
        expect(Math.sign(compared)).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
    expect(compareJobCursors(cursor('\uffee'), cursor('😀'), { descending: false })).toBeLessThan(0);
  });

  it('of jobs that nothing is planned for come last both ways', () => {
    for (const descending of [true, false]) {
      const none = cursor(keyOfNone({ descending }));
      expect(compareJobCursors(cursor(1_900_000_000_000), none, { descending })).toBeLessThan(0);
    }
  });
});

/** What every adapter of the counters promises. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Counters } from './counters.ts';

const MINUTE_MS = 60_000;
const NOON_MS = Date.UTC(2030, 0, 1, 12);

/** make: empty counters, and a second server's view of the same ones. */
export function describeCounters(
  name: string,
  make: () => Promise<{ here: Counters; there: Counters }>,
): void {
  describe(name, () => {
    let here: Counters;
    let there: Counters;
    beforeEach(async () => {
      ({ here, there } = await make());
    });

    const count = (over: Partial<Parameters<Counters['add']>[0][number]> = {}) => ({
      name: 'a',
      windowMs: MINUTE_MS,
      atMs: NOON_MS,
      add: 1,
      ...over,
    });

    it('answers what all servers together have counted', async () => {
      expect(await here.add([count({ add: 3 })])).toEqual([3]);
      expect(await there.add([count({ add: 2 })])).toEqual([5]);
      expect(await here.add([count({ add: 0 })])).toEqual([5]);
    });

    it('keeps names, windows and their lengths apart, and answers in the order given', async () => {
      const later = NOON_MS + MINUTE_MS;
      const counts = [count({ name: 'z', add: 4 }), count(), count({ atMs: later, add: 2 })];
      expect(await here.add(counts)).toEqual([4, 1, 2]);
      expect(await here.add([count({ windowMs: 2 * MINUTE_MS })])).toEqual([1]);
      expect(await here.add([...counts].reverse())).toEqual([4, 2, 8]);
    });

    it('a window holds all its instants, from the first to the last', async () => {
      expect(await here.add([count()])).toEqual([1]);
      expect(await here.add([count({ atMs: NOON_MS + MINUTE_MS - 1 })])).toEqual([2]);
      expect(await here.add([count({ atMs: NOON_MS + MINUTE_MS })])).toEqual([1]);
    });

    it('the same window twice in one call is counted twice', async () => {
      expect(await here.add([count({ add: 2 }), count({ add: 3 })])).toEqual([5, 5]);
    });

    it('what was counted can be taken back', async () => {
      await here.add([count({ add: 3 })]);
      expect(await here.add([count({ add: -1 })])).toEqual([2]);
    });

    it('nothing asked is nothing answered', async () => {
      expect(await here.add([])).toEqual([]);
    });

    it('loses nothing when servers count the same things at once, in any order', async () => {
      const names = Array.from({ length: 20 }, (_, i) => count({ name: `n${i}` }));
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          (i % 2 === 0 ? here : there).add(i % 3 === 0 ? names : [...names].reverse()),
        ),
      );
      expect(await here.add(names.map((one) => ({ ...one, add: 0 })))).toEqual(names.map(() => 20));
    });

    it('forgets windows that have ended, and no others', async () => {
      await here.add([count(), count({ atMs: NOON_MS + MINUTE_MS })]);
      await here.forget(NOON_MS + MINUTE_MS);
      const kept = await here.add([count({ add: 0 }), count({ atMs: NOON_MS + MINUTE_MS, add: 0 })]);
      expect(kept).toEqual([0, 1]);
    });

    it('takes names with any characters', async () => {
      const name = 'sign-in/name/"quoted" \\ {comma,} – ü';
      await here.add([count({ name })]);
      expect(await there.add([count({ name })])).toEqual([2]);
    });
  });
}

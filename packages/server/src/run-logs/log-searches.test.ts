import { ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Claimant } from '../shared-limit/shared-limit.ts';
import { LogSearches, leavingAtEnd } from './log-searches.ts';

let clock: ManualClock;
let searches: LogSearches;

beforeEach(() => {
  clock = new ManualClock();
  searches = new LogSearches(clock);
});

/** Of no namespace. */
const someone = (name: string): Claimant => ({ of: name, words: 'for you', shares: [], mayUseKept: true });
const enter = (name: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => searches.enter(someone(name))));
const REFUSED = { status: 429, code: 'rate_limited', retryAfterSeconds: 2 };

describe('searches of logs', () => {
  test('have four places for each caller; the next one waits a moment and is refused in words', async () => {
    await enter('ann', 4);
    const waiting = searches.enter(someone('ann'));
    const refused = expect(waiting).rejects.toMatchObject({
      ...REFUSED,
      message:
        '4 logs are searched for you already; wait until one of these answers has ended, and try again in 2 seconds.',
    });
    await enter('bob', 1);
    clock.advance(2_000);
    await refused;
  });

  test('have twenty places in total', async () => {
    for (const who of ['a', 'b', 'c', 'd', 'e']) await enter(who, 4);
    const refused = expect(searches.enter(someone('ann'))).rejects.toMatchObject(REFUSED);
    clock.advance(2_000);
    await refused;
  });

  test('let in who waits, in their order, when a place is free', async () => {
    const [leave] = await enter('ann', 4);
    const order: number[] = [];
    const waiting = [1, 2].map((n) => searches.enter(someone('ann')).then(() => order.push(n)));
    leave!();
    leave!();
    await waiting[0];
    const refused = expect(waiting[1]).rejects.toMatchObject(REFUSED);
    clock.advance(2_000);
    await refused;
    expect(order).toEqual([1]);
  });

  test('refuse at once where too many wait, and forget who has gone', async () => {
    const leaves = await enter('ann', 4);
    const gone = new AbortController();
    const waiting = Array.from({ length: 4 }, () => searches.enter(someone('ann'), gone.signal));
    const refused = Promise.all(waiting.map((each) => expect(each).rejects.toMatchObject(REFUSED)));
    await expect(searches.enter(someone('ann'))).rejects.toMatchObject(REFUSED);
    gone.abort();
    await refused;
    for (const leave of leaves) leave();
    await enter('ann', 4);
  });
});

describe('a reading that is counted', () => {
  async function* numbers() {
    yield 1;
    yield 2;
  }

  test.each([0, 1, 2, 3])('leaves when it has ended, after %i items were asked for', async (asked) => {
    let left = 0;
    const { items, close } = leavingAtEnd(numbers(), () => {
      left += 1;
    });
    for (let i = 0; i < asked; i += 1) await items.next();
    expect(left).toBe(asked === 3 ? 1 : 0);
    close();
    await items.return();
    expect(left).toBe(1);
  });
});

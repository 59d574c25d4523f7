import { ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { claimantIn } from './claimant.fixture.ts';
import { FairTurns } from './fair-turns.ts';

let clock: ManualClock;
let turns: FairTurns;
let started: string[];
let gates: Map<string, () => void>;

beforeEach(() => {
  clock = new ManualClock();
  turns = new FairTurns({ clock, placesMax: 6 });
  started = [];
  gates = new Map();
});

/** Named after their group, such as a1. */
function ask(name: string, caller = name): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  gates.set(name, () => resolve(name));
  return turns.run(claimantIn([name[0]!], caller), () => {
    started.push(name);
    return promise;
  });
}

async function end(...names: string[]): Promise<void> {
  for (const name of names) gates.get(name)!();
  await new Promise(setImmediate);
}

const many = (group: string, count: number) =>
  Array.from({ length: count }, (_, i) => ask(`${group}${i + 1}`));

describe('requests that take turns', () => {
  test('of one group leave places to others, however many there are', async () => {
    many('a', 100);
    expect(started).toEqual(['a1', 'a2', 'a3', 'a4']);
    const other = ask('b1');
    expect(started.at(-1)).toBe('b1');
    await end('b1');
    expect(await other).toBe('b1');
  });

  test('wait, and the group that has fewest is next; of equal ones, who came first', async () => {
    many('a', 20);
    many('b', 3);
    void ask('c1');
    started = [];
    await end('a1');
    expect(started).toEqual(['c1']);
    await end('a2');
    expect(started).toEqual(['c1', 'a5']);
  });

  test('of one group wait for the caller that has fewest', async () => {
    many('a', 4);
    for (const name of ['b1', 'b2', 'b3']) void ask(name, 'bob');
    void ask('b4', 'ben');
    started = [];
    await end('a1', 'a2');
    expect(started).toEqual(['b4', 'b3']);
  });

  test('leave their place when they fail', async () => {
    for (let i = 0; i < 20; i += 1)
      await expect(turns.run(claimantIn(['a'], 'a'), () => Promise.reject(new Error('no')))).rejects.toThrow(
        'no',
      );
    void ask('a1');
    expect(started).toEqual(['a1']);
  });

  test('are refused after a while in words that say whose they are, and take no place then', async () => {
    const asked = many('a', 5);
    const refused = expect(asked[4]).rejects.toMatchObject({
      ...{ code: 'rate_limited', status: 429, retryAfterSeconds: 2 },
      message:
        'Too many requests for the namespace a are under way; try again in 2 seconds, with fewer at the same time.',
    });
    many('b', 2);
    const overloaded = expect(ask('c1')).rejects.toMatchObject({ code: 'overloaded', status: 503 });
    clock.advance(5_000);
    await refused;
    await overloaded;
    await end('a1', 'a2');
    expect(started).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2']);
  });

  test('are refused at once where very many wait', async () => {
    const asked = many('a', 505);
    await expect(asked[504]).rejects.toMatchObject({ code: 'rate_limited' });
    const later = expect(Promise.allSettled(asked)).resolves.toHaveLength(505);
    clock.advance(5_000);
    await end('a1', 'a2', 'a3', 'a4');
    await later;
  });
});

/** Who is refused where too many wait: of random callers and groups it is never one who asks for less than another. */
import { ManualClock } from '@carillon/foundation';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { claimantIn, INSTALLATION } from './claimant.fixture.ts';
import { FairTurns } from './fair-turns.ts';
import type { Claimant } from './shared-limit.ts';

const MAX = { totalMax: 30, groupMax: 12, callerMax: 8 };

interface Asked {
  readonly who: Claimant;
  state: 'waits' | 'works' | 'ended' | 'refused';
  end: () => void;
}

/** Requests, and what has become of each. */
class World {
  readonly clock = new ManualClock();
  readonly turns = new FairTurns({ clock: this.clock, placesMax: 3, waiting: MAX });
  readonly asked: Asked[] = [];

  async ask(who: Claimant): Promise<Asked> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const one: Asked = { who, state: 'waits', end: resolve };
    this.asked.push(one);
    const work = () => {
      one.state = 'works';
      return promise;
    };
    this.turns.run(who, work).then(
      () => {
        one.state = 'ended';
      },
      () => {
        one.state = 'refused';
      },
    );
    await settled();
    return one;
  }

  in(state: Asked['state']): Asked[] {
    return this.asked.filter((one) => one.state === state);
  }
}

const settled = () => new Promise(setImmediate);
const groupsOf = ({ of, shares }: Claimant) => (shares.length === 0 ? [of] : shares.map((share) => share.of));
const countOf = (all: readonly Asked[], test: (who: Claimant) => boolean) =>
  all.filter(({ who }) => test(who)).length;

const CALLERS: Claimant[] = [
  claimantIn(['a'], 'ann'),
  claimantIn(['a'], 'abe'),
  claimantIn(['a'], 'key 1', 'eve'),
  claimantIn(['a'], 'key 2', 'eve'),
  claimantIn(['a', 'b'], 'amy'),
  claimantIn(['b'], 'bob'),
  claimantIn(['b', 'c'], 'key 3', 'eve'),
  claimantIn(['c'], 'cat'),
  INSTALLATION,
];

/** Most of a run comes from few callers, as a flood does. */
const events = fc
  .tuple(
    fc.subarray(CALLERS, { minLength: 1, maxLength: 3 }),
    fc.array(fc.nat({ max: 99 }), { minLength: 40, maxLength: 120 }),
  )
  .map(([loud, rolls]) =>
    rolls.map((roll) => {
      if (roll < 12) return 'end' as const;
      if (roll < 30) return CALLERS[roll % CALLERS.length]!;
      return loud[roll % loud.length]!;
    }),
  );

test('nobody is refused while another caller, of the group that is full, has more waiting', async () => {
  await fc.assert(
    fc.asyncProperty(events, async (all) => {
      const world = new World();
      for (const event of all) {
        if (event === 'end') {
          world.in('works')[0]?.end();
          await settled();
          continue;
        }
        const before = world.in('waits');
        const known = new Set(world.in('refused'));
        const newest = await world.ask(event);
        const refused = world.in('refused').filter((one) => !known.has(one));
        if (newest.state === 'works') {
          expect(refused).toEqual([]);
          continue;
        }
        const waiting = [...before, newest];
        const ofCaller = ({ of }: Claimant) => countOf(waiting, (who) => who.of === of);
        const full = groupsOf(event).filter(
          (group) => countOf(waiting, (who) => groupsOf(who).includes(group)) > MAX.groupMax,
        );
        const isFull = waiting.length > MAX.totalMax;
        const hasTooMany = event.shares.length > 0 && ofCaller(event) > MAX.callerMax;
        if (hasTooMany) {
          expect(refused).toEqual([newest]);
          continue;
        }
        expect(refused.length > 0).toBe(full.length > 0 || isFull);
        for (const { who } of refused) {
          const sharing = (group: string) => waiting.filter((one) => groupsOf(one.who).includes(group));
          const rivals = [
            ...full.filter((group) => groupsOf(who).includes(group)).map(sharing),
            ...(isFull ? [waiting] : []),
          ];
          const mosts = rivals.map((those) => Math.max(...those.map((one) => ofCaller(one.who))));
          expect(mosts).toContain(ofCaller(who));
        }
      }
      world.clock.advance(5_000);
      for (const one of world.asked) one.end();
      await settled();
      expect(world.in('waits')).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

describe('a caller that fills what waits of its namespace', () => {
  test('gives up its newest for each other that comes, also for one who has rights elsewhere', async () => {
    const world = new World();
    const [ann, abe, amy] = [
      claimantIn(['a'], 'ann'),
      claimantIn(['a'], 'abe'),
      claimantIn(['a', 'b'], 'amy'),
    ];
    for (let i = 0; i < 2 + MAX.callerMax; i += 1) await world.ask(ann);
    for (let i = 0; i < MAX.groupMax - MAX.callerMax; i += 1) await world.ask(abe);
    expect(world.in('refused')).toEqual([]);
    const others = [await world.ask(amy), await world.ask(abe)];
    expect(others.map(({ state }) => state)).toEqual(['waits', 'waits']);
    expect(world.in('refused').map(({ who }) => who.of)).toEqual(['ann', 'ann']);
    // Abe has had no place either, and came before her.
    for (let i = 0; i < 2; i += 1) {
      world.in('works')[0]!.end();
      await settled();
    }
    expect(others[0]!.state).toBe('works');
  });

  test('is told that it has too many when it has as many as one may', async () => {
    const world = new World();
    const ann = claimantIn(['a'], 'ann');
    for (let i = 0; i < 2 + MAX.callerMax; i += 1) await world.ask(ann);
    await expect(world.turns.run(ann, async () => undefined)).rejects.toMatchObject({
      ...{ code: 'rate_limited', retryAfterSeconds: 2 },
      message: 'Too many requests for you wait; try again in 2 seconds, with fewer at the same time.',
    });
  });

  test('with one request each of many keys of one maker is refused before one of somebody else', async () => {
    const world = new World();
    for (let i = 0; i < 2 + MAX.groupMax; i += 1) await world.ask(claimantIn(['a'], `key ${i}`, 'eve'));
    const bob = await world.ask(claimantIn(['a'], 'bob', 'bob'));
    expect(bob.state).toBe('waits');
    expect(world.in('refused').map(({ who }) => who.of)).toEqual([`key ${1 + MAX.groupMax}`]);
  });
});

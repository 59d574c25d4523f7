import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { namespaceKey, tenantOf } from '../storage/lane.ts';
import { CATCH_UP_RUNS_MAX, FairQueue, type LaneOffer } from './fair-queue.ts';

interface Lane {
  readonly tenant: number;
  readonly handlerKey: number;
}

const HTTP = 1;
const GPU = 2;
const EVERY: LaneOffer = { offers: () => true };

const laneOf = (namespace: string, userId?: string, handlerKey = HTTP): Lane => ({
  tenant: tenantOf({ namespace, userId }),
  handlerKey,
});

function queueOf(...lanes: Lane[]): FairQueue<Lane> {
  const queue = new FairQueue<Lane>();
  for (const lane of lanes) queue.add(lane);
  return queue;
}

/** Takes so often, each time all that the lane was charged for; its lane can be taken again at once. Answers who was taken. */
function takes(queue: FairQueue<Lane>, count: number, { charge = 1, offer = EVERY } = {}): Lane[] {
  return Array.from({ length: count }, () => {
    const lane = queue.take(charge, offer)!;
    queue.giveBack(lane, { charged: charge, given: charge });
    queue.add(lane);
    return lane;
  });
}

function counted<Key>(keys: Iterable<Key>): Map<Key, number> {
  const counts = new Map<Key, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

const spread = (counts: Iterable<number>) => {
  const all = [...counts];
  return Math.max(...all) - Math.min(...all);
};

/** Namespaces with users with numbers of lanes. */
const shapes = fc.array(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 6,
});

describe('shares', () => {
  test('are equal between namespaces, and in a namespace between users, whatever the number of lanes', () => {
    fc.assert(
      fc.property(
        shapes,
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 200 }),
        (shape, charge, count) => {
          const names = new Map<number, { namespace: number; user: string }>();
          const queue = new FairQueue<Lane>();
          for (const [namespace, users] of shape.entries()) {
            for (const [user, lanes] of users.entries()) {
              const lane = laneOf(`n${namespace}`, `u${user}`);
              names.set(lane.tenant, { namespace, user: `${namespace}/${user}` });
              for (let i = 0; i < lanes; i += 1) queue.add({ ...lane });
            }
          }
          const taken = takes(queue, count, { charge }).map(({ tenant }) => names.get(tenant)!);
          const byNamespace = counted(shape.keys());
          for (const { namespace } of taken) byNamespace.set(namespace, byNamespace.get(namespace)! + 1);
          expect(spread(byNamespace.values())).toBeLessThanOrEqual(1);
          for (const [namespace, users] of shape.entries()) {
            const byUser = counted(users.map((_, user) => `${namespace}/${user}`));
            for (const { user } of taken) if (byUser.has(user)) byUser.set(user, byUser.get(user)! + 1);
            expect(spread(byUser.values())).toBeLessThanOrEqual(1);
          }
        },
      ),
    );
  });

  test('are counted in runs: whoever gives few at a time is taken more often', () => {
    const [few, many] = [laneOf('few'), laneOf('many')];
    const queue = queueOf(few, many);
    const runs = new Map([few, many].map((lane) => [lane, 0]));
    for (let i = 0; i < 600; i += 1) {
      const lane = queue.take(10)!;
      const found = lane === few ? 2 : 10;
      runs.set(lane, runs.get(lane)! + found);
      queue.giveBack(lane, { charged: 10, given: found });
      queue.add(lane);
    }
    expect(spread(runs.values())).toBeLessThanOrEqual(10);
  });

  test('hold while several are taken at the same time', () => {
    const lanes = ['a', 'b', 'c'].flatMap((name) => [laneOf(name), laneOf(name), laneOf(name)]);
    const queue = queueOf(...lanes);
    const beside = Array.from({ length: 6 }, () => queue.take(8)!);
    expect([...counted(beside.map(({ tenant }) => tenant)).values()]).toEqual([2, 2, 2]);
  });

  test('that were charged and not given come back: who got nothing is next', () => {
    const queue = queueOf(laneOf('a'), laneOf('b'));
    const first = queue.take(100)!;
    queue.giveBack(first, { charged: 100, given: 0 });
    queue.add(first);
    const next = [queue.take(1), queue.take(1)].map((lane) => lane!.tenant);
    expect(new Set(next).size).toBe(2);
  });

  test('are not earned by idling: who comes late gets as much as the others from then on', () => {
    const [early, late] = [laneOf('early'), laneOf('late')];
    const queue = queueOf(early);
    takes(queue, 1_000);
    queue.add(late);
    const counts = counted(takes(queue, 100));
    expect(Math.abs(counts.get(late)! - 50)).toBeLessThanOrEqual(1);
  });

  test('are not doubled by leaving for a moment: who is emptied again and again gets what the others get', () => {
    const [steady, brief] = [laneOf('steady'), laneOf('brief')];
    const queue = queueOf(steady, brief);
    const counts = counted(takes(queue, 1_000, { charge: 8 }));
    expect(Math.abs(counts.get(steady)! - 500)).toBeLessThanOrEqual(1);
  });

  test('that were charged and not given do not put newcomers back, whatever the number of users', () => {
    const crowd = Array.from({ length: 1_000 }, (_, user) => laneOf('crowd', `u${user}`));
    const queue = queueOf(...crowd);
    for (let i = 0; i < 10; i += 1) {
      const beside = Array.from({ length: 256 }, () => queue.take(8)!);
      for (const lane of beside) {
        queue.giveBack(lane, { charged: 8, given: 0 });
        queue.add(lane);
      }
    }
    const late = laneOf('late');
    queue.add(late);
    // Nobody got anything: the two namespaces are equal.
    expect([queue.take(1), queue.take(1)]).toContain(late);
  });

  test('that are given count from then on, also where more was given than charged', () => {
    const [more, other] = [laneOf('more'), laneOf('other')];
    const queue = queueOf(more, other);
    const first = queue.take(1)!;
    queue.giveBack(first, { charged: 1, given: 10 });
    queue.add(first);
    expect(takes(queue, 10)).not.toContain(first);
    expect(takes(queue, 2)).toContain(first);
  });

  test('start anew when nobody was left', () => {
    const [a, b] = [laneOf('a'), laneOf('b')];
    const queue = queueOf(a);
    queue.giveBack(queue.take(1_000)!, { charged: 1_000, given: 1_000 });
    queue.add(b);
    queue.add(a);
    expect(spread(counted(takes(queue, 100)).values())).toBeLessThanOrEqual(1);
  });
});

describe('a lane', () => {
  test('is never lost and never taken twice, whatever happens in whatever order', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({
          kind: fc.constant('add' as const),
          namespace: fc.nat(3),
          user: fc.nat(2),
          handlerKey: fc.nat(2),
        }),
        fc.record({
          kind: fc.constant('take' as const),
          charge: fc.integer({ min: 1, max: 20 }),
          handlerKey: fc.nat(2),
        }),
        fc.record({ kind: fc.constant('remove' as const), which: fc.nat() }),
        fc.record({
          kind: fc.constant('return' as const),
          which: fc.nat(),
          given: fc.nat(20),
          stays: fc.boolean(),
        }),
      ),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const queue = new FairQueue<Lane>();
        const ready = new Set<Lane>();
        const taken: { lane: Lane; charge: number }[] = [];
        for (const step of all) {
          if (step.kind === 'add') {
            const lane = laneOf(`n${step.namespace}`, `u${step.user}`, step.handlerKey);
            ready.add(lane);
            queue.add(lane);
          } else if (step.kind === 'take') {
            const lane = queue.take(step.charge, { offers: (key) => key <= step.handlerKey });
            const wanted = [...ready].filter(({ handlerKey }) => handlerKey <= step.handlerKey);
            expect(lane === undefined).toBe(wanted.length === 0);
            if (lane === undefined) continue;
            expect(wanted).toContain(lane);
            ready.delete(lane);
            taken.push({ lane, charge: step.charge });
          } else if (step.kind === 'remove') {
            const lane = [...ready][step.which % Math.max(1, ready.size)];
            if (!lane) continue;
            ready.delete(lane);
            queue.remove(lane);
          } else if (taken.length > 0) {
            const [{ lane, charge }] = taken.splice(step.which % taken.length, 1) as [(typeof taken)[0]];
            queue.giveBack(lane, { charged: charge, given: step.given });
            if (!step.stays) continue;
            ready.add(lane);
            queue.add(lane);
          }
          expect(queue.counts(EVERY)).toMatchObject({ ready: ready.size, taken: taken.length });
        }
        const rest = new Set<Lane>();
        for (let lane = queue.take(1); lane; lane = queue.take(1)) rest.add(lane);
        expect(rest).toEqual(ready);
      }),
    );
  });

  test('of the same tenant comes in turn: none waits for ever behind another', () => {
    const lanes = [laneOf('a'), laneOf('a'), laneOf('a')];
    expect(new Set(takes(queueOf(...lanes), 3))).toEqual(new Set(lanes));
  });
});

describe('handlers', () => {
  const http: LaneOffer = { offers: (key) => key === HTTP };
  const gpu: LaneOffer = { offers: (key) => key === GPU };

  test('that are not offered are left where they are, and stand before nobody', () => {
    const wanted = laneOf('wanted');
    const others = Array.from({ length: 100 }, (_, i) => laneOf(`n${i}`, undefined, GPU));
    const queue = queueOf(...others, wanted);
    expect(new Set(takes(queue, 50, { offer: http }))).toEqual(new Set([wanted]));
    expect(queue.counts(gpu)).toEqual({ ready: 100, taken: 0, tenants: 100 });
  });

  test('do not multiply a share: two of one namespace get as much together as one of another', () => {
    const queue = queueOf(laneOf('two', undefined, HTTP), laneOf('two', undefined, GPU), laneOf('one'));
    const counts = counted(takes(queue, 100).map(({ tenant }) => tenant));
    expect([...counts.values()]).toEqual([50, 50]);
  });

  test('are all served in a namespace that uses several', () => {
    const lanes = [laneOf('a', 'u', HTTP), laneOf('a', 'v', GPU)];
    expect(spread(counted(takes(queueOf(...lanes), 100)).values())).toBeLessThanOrEqual(1);
  });

  test('that nobody could serve for long catch up, but do not shut out the others for as long', () => {
    const [served, stuck] = [laneOf('served'), laneOf('stuck', undefined, GPU)];
    const queue = queueOf(served, stuck);
    takes(queue, 1_000, { charge: 1_000, offer: http });
    const runs = CATCH_UP_RUNS_MAX / 100 + 10;
    expect(takes(queue, runs, { charge: 100 })).toContain(served);
  });
});

describe('namespaces', () => {
  const only = (...names: string[]): LaneOffer => ({ ...EVERY, namespaces: names.map(namespaceKey) });

  test('that a worker does not serve are left where they are, and stand before nobody', () => {
    const wanted = laneOf('wanted');
    const others = Array.from({ length: 100 }, (_, i) => laneOf(`n${i}`));
    const queue = queueOf(...others, wanted);
    expect(new Set(takes(queue, 50, { offer: only('wanted') }))).toEqual(new Set([wanted]));
    expect(queue.counts(only('wanted'))).toEqual({ ready: 1, taken: 0, tenants: 1 });
    expect(queue.counts(EVERY)).toEqual({ ready: 101, taken: 0, tenants: 101 });
    expect(queue.take(1, only('nobody'))).toBeUndefined();
    expect(queue.counts(only('nobody'))).toEqual({ ready: 0, taken: 0, tenants: 0 });
  });

  test('that a worker serves get equal shares of it, and so do their users', () => {
    const [a, b1, b2] = [laneOf('a'), laneOf('b', 'u'), laneOf('b', 'v')];
    const counts = counted(takes(queueOf(a, b1, b2, laneOf('c')), 100, { offer: only('a', 'b') }));
    expect([a, b1, b2].map((lane) => counts.get(lane))).toEqual([50, 25, 25]);
  });

  test('are counted while lanes of theirs are taken', () => {
    const queue = queueOf(laneOf('a'), laneOf('a', undefined, GPU), laneOf('b'));
    const lane = queue.take(1, only('a'))!;
    expect(queue.counts(only('a'))).toEqual({ ready: 1, taken: 1, tenants: 1 });
    queue.giveBack(lane, { charged: 1, given: 1 });
    expect(queue.counts(only('a'))).toEqual({ ready: 1, taken: 0, tenants: 1 });
  });
});

describe('memory', () => {
  test('keeps nobody who is gone, once the others got as much', () => {
    const stays = laneOf('stays');
    const queue = queueOf(stays);
    for (let i = 0; i < 10_000; i += 1) {
      queue.add(laneOf('many', `u${i}`));
      queue.add(laneOf(`n${i}`));
      for (let lane = queue.take(1); lane; lane = lane === stays ? undefined : queue.take(1)) {
        queue.giveBack(lane, { charged: 1, given: 1 });
        if (lane === stays) queue.add(lane);
      }
      expect(queue.size).toBeLessThan(100);
    }
  });

  test('is empty when everybody left', () => {
    const queue = queueOf(laneOf('a', 'u'), laneOf('a', 'v'), laneOf('b'));
    for (let lane = queue.take(5); lane; lane = queue.take(5)) queue.giveBack(lane, { charged: 5, given: 3 });
    expect(queue.size).toBe(0);
  });

  test('does not grow with claims that find nothing', () => {
    const queue = queueOf(laneOf('a'), laneOf('b'), laneOf('b'));
    for (let i = 0; i < 10_000; i += 1) {
      const lanes = [queue.take(1_000)!, queue.take(1_000)!];
      for (const lane of lanes) {
        queue.giveBack(lane, { charged: 1_000, given: 0 });
        queue.add(lane);
      }
    }
    expect(queue.size).toBeLessThan(100);
  });
});

test('ten thousand tenants are served in turn, each as often as the others', () => {
  const queue = new FairQueue<Lane>();
  for (let i = 0; i < 10_000; i += 1) queue.add({ tenant: i * 2 ** 26, handlerKey: HTTP });
  const counts = counted(takes(queue, 100_000, { charge: 8 }));
  expect(counts.size).toBe(10_000);
  expect(spread(counts.values())).toBe(0);
});

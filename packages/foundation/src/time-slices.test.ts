import { expect, test } from 'vitest';
import { TimeSlices } from './time-slices.ts';

/** Every part takes a millisecond, and the turns of the event loop are taken by hand. */
function world() {
  let ms = 0;
  const deferred: (() => void)[] = [];
  const slices = new TimeSlices({
    clock: { monotonic: () => ms },
    defer: (callback) => void deferred.push(callback),
  });
  const done: string[] = [];
  const work = async (name: string, parts: number) => {
    for (let part = 1; part <= parts; part += 1) {
      await slices.run(() => {
        ms += 1;
        done.push(`${name}${part}`);
      });
    }
  };
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const turn = async () => {
    for (const callback of deferred.splice(0)) callback();
    await settle();
  };
  const tick = (byMs: number) => {
    ms += byMs;
  };
  return { slices, done, work, settle, turn, tick, deferred };
}

test('work that takes less than a slice waits for nobody', async () => {
  const { done, work, deferred } = world();
  await work('a', 2);
  expect(done).toEqual(['a1', 'a2']);
  expect(deferred).toEqual([]);
});

test('longer work goes on with the next turn, a slice each', async () => {
  const { done, work, settle, turn } = world();
  const all = work('a', 5);
  await settle();
  expect(done).toEqual(['a1', 'a2']);
  await turn();
  expect(done).toEqual(['a1', 'a2', 'a3', 'a4']);
  await turn();
  await all;
  expect(done).toHaveLength(5);
});

test('items are done in order, as many with each turn as fit into a slice', async () => {
  const { slices, tick, settle, turn } = world();
  const seen: string[] = [];
  const all = slices.runAll(['a', 'b', 'c', 'd', 'e'], (item, index) => {
    tick(1);
    seen.push(item);
    return `${item}${index}`;
  });
  await settle();
  expect(seen.join('')).toBe('ab');
  await turn();
  expect(seen.join('')).toBe('abcd');
  await turn();
  expect(await all).toEqual(['a0', 'b1', 'c2', 'd3', 'e4']);
  expect(await slices.runAll([], () => 1)).toEqual([]);
});

test('many that come together share the slices, one slice per turn, and each gets on', async () => {
  const { done, work, settle, turn } = world();
  const all = Promise.all(['a', 'b', 'c'].map((name) => work(name, 4)));
  await settle();
  for (let before = 0; done.length < 12; before = done.length) {
    expect(done.length - before).toBeLessThanOrEqual(2);
    await turn();
    expect(done.length).toBeGreaterThan(before);
  }
  await all;
  expect(done.toSorted().join(' ')).toBe('a1 a2 a3 a4 b1 b2 b3 b4 c1 c2 c3 c4');
});

test('a part that fails has used its time too', async () => {
  const { slices, tick, work, settle, turn, done } = world();
  const failed = slices.run(() => {
    tick(2);
    throw new Error('refused');
  });
  await expect(failed).rejects.toThrow('refused');
  const rest = work('a', 1);
  await settle();
  expect(done).toEqual([]);
  await turn();
  await rest;
  expect(done).toEqual(['a1']);
});

test('without a word about turns, those of the event loop are taken', async () => {
  let ms = 0;
  let turns = 0;
  let counting: NodeJS.Immediate;
  const count = () => {
    turns += 1;
    counting = setImmediate(count);
  };
  counting = setImmediate(count);
  const slices = new TimeSlices({ clock: { monotonic: () => ms++ } });
  for (let part = 0; part < 20; part += 1) await slices.run(() => undefined);
  clearImmediate(counting);
  expect(turns).toBeGreaterThanOrEqual(9);
});

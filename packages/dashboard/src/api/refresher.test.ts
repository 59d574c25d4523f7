import type { LiveUpdate } from '@carillon/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRefresher } from './refresher.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const START = Date.parse('2030-01-01T00:00:00Z');
const NOTHING: LiveUpdate['changed'] = { jobs: [], runs: [], workers: false, dead_letters: false };
const RUN_ENDED = { changed: { ...NOTHING, jobs: ['j'], runs: ['r'] }, refetch: false };

/** The seconds at which queries of this key were asked again. */
function watched(queryKey: readonly unknown[]) {
  vi.setSystemTime(START);
  const asked: number[] = [];
  const refresh = createRefresher({
    invalidateQueries: async ({ predicate } = {}) => {
      if (predicate?.({ queryKey, state: { data: [] } } as never)) asked.push((Date.now() - START) / 1_000);
    },
  });
  return { refresh, asked };
}

test('after a quiet time a failure is asked for at once, and once more when counts are not shared any longer', () => {
  const { refresh, asked } = watched(['failures', '1h']);
  refresh(RUN_ENDED);
  expect(asked).toEqual([0]);
  vi.advanceTimersByTime(10_000);
  expect(asked).toEqual([0, 1.1]);
});

test('however much happens, lists are asked for every two seconds', () => {
  const { refresh, asked } = watched(['runs', 'list']);
  for (let second = 0; second < 10; second += 1) {
    refresh(RUN_ENDED);
    vi.advanceTimersByTime(1_000);
  }
  expect(asked).toEqual([0, 1.1, 3.1, 5.1, 7.1, 9.1]);
});

test('what is named is asked for with every message; what is not, never', () => {
  const named = watched(['runs', 'r']);
  for (let i = 0; i < 3; i += 1) named.refresh(RUN_ENDED);
  expect(named.asked).toHaveLength(3);
  const other = watched(['runs', 'another']);
  other.refresh(RUN_ENDED);
  vi.advanceTimersByTime(5_000);
  expect(other.asked).toEqual([]);
  const letters = watched(['dead', 'list']);
  letters.refresh(RUN_ENDED);
  vi.advanceTimersByTime(5_000);
  expect(letters.asked).toEqual([]);
});

test('nothing is asked for after the end', () => {
  const { refresh, asked } = watched(['failures']);
  refresh(RUN_ENDED);
  refresh.stop();
  vi.advanceTimersByTime(5_000);
  expect(asked).toEqual([0]);
});

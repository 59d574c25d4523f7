import { describe, expect, test } from 'vitest';
import { misfireWords } from './misfire-words.ts';

const clock = (at: Date) => at.toISOString().slice(5, 16);
const every = (ms: number, count = 10) =>
  Array.from({ length: count }, (_, i) => new Date(Date.UTC(2030, 0, 1, 9) + i * ms).toISOString());
const DAY = 86_400_000;
const HOUR = 3_600_000;
const from = (policy: object | undefined, fires: readonly string[]) =>
  misfireWords(policy as never, fires, clock);

describe('what an outage leaves of a schedule', () => {
  test('by default the most recent one alone', () =>
    expect(from(undefined, every(DAY))).toBe(
      'If nothing could run from 01-01T09:00 until just before 01-04T09:00, only that of 01-03T09:00 is made up for then; the other 2 are skipped. What a pause leaves out is skipped.',
    ));

  test('nothing, but what is hardly late', () => {
    expect(from({ policy: 'none' }, every(DAY))).toContain('all 3 runs are skipped. What a pause');
    expect(from({ policy: 'none' }, every(30_000))).toContain('only that of 01-01T09:01 is made up for then');
  });

  test('all within the window, and no more than are allowed', () => {
    expect(from({ policy: 'all' }, every(HOUR))).toContain(
      'all 3 runs are made up for then. So is what a pause leaves out.',
    );
    // The window of a day ends just before the next one.
    expect(from({ policy: 'all' }, every(DAY))).toContain('only that of 01-03T09:00 is made up for then');
    expect(from({ policy: 'all', window_seconds: 3 * 86_400 }, every(DAY))).toContain('all 3 runs');
    expect(from({ policy: 'all', max_runs: 2 }, every(HOUR))).toContain(
      'the latest 2 are made up for then; the other one is skipped.',
    );
  });

  test('everything after a moment', () =>
    expect(from({}, every(1_000))).toContain('all 3 runs are made up for'));

  test('the end of a schedule leaves less to tell', () => {
    expect(from({}, every(DAY, 2))).toContain('that run is made up for then.');
    expect(from({ policy: 'none' }, every(DAY, 2))).toContain('that run is skipped.');
    expect(from({}, every(DAY, 1))).toBeUndefined();
    expect(from({}, [])).toBeUndefined();
  });
});

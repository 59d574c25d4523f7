/** The frequency words of the API (hourly, daily ...) as intervals. Days and longer follow the calendar and keep the wall clock. */
import { Refusal } from '../errors/refusal.ts';
import { HOUR_MS } from './civil-date.ts';
import type { Interval } from './schedule.ts';

const INTERVALS = new Map<string, Interval>([
  ['hourly', { kind: 'exact', everyMs: HOUR_MS }],
  ['daily', { kind: 'calendar', unit: 'day', every: 1 }],
  ['weekly', { kind: 'calendar', unit: 'week', every: 1 }],
  ['monthly', { kind: 'calendar', unit: 'month', every: 1 }],
  ['yearly', { kind: 'calendar', unit: 'month', every: 12 }],
]);

export const FREQUENCY_WORDS: readonly string[] = [...INTERVALS.keys()];

export function frequencyToInterval(word: string, options: { field?: string } = {}): Interval {
  const interval = INTERVALS.get(String(word).trim().toLowerCase());
  if (interval !== undefined) return interval;
  const message = `"${String(word).slice(0, 40)}" is not a frequency. Known: ${FREQUENCY_WORDS.join(', ')}.`;
  throw new Refusal('interval_invalid', message, options);
}

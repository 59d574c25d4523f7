/** Writes an interval in the short form that parseInterval reads back to the same: 1h30m, 1.5s, 1d, 2w, 3mo. */
import { HOUR_MS, MINUTE_MS, SECOND_MS } from './civil-date.ts';
import type { Interval } from './schedule.ts';

const CALENDAR_SUFFIX = { day: 'd', week: 'w', month: 'mo' } as const;

export function formatInterval(interval: Interval): string {
  if (interval.kind === 'calendar') return `${interval.every}${CALENDAR_SUFFIX[interval.unit]}`;
  const hours = Math.floor(interval.everyMs / HOUR_MS);
  const minutes = Math.floor((interval.everyMs % HOUR_MS) / MINUTE_MS);
  const milliseconds = interval.everyMs % MINUTE_MS;
  // Never in days: an exact 24 hours is not a calendar day.
  const parts = [hours > 0 ? `${hours}h` : '', minutes > 0 ? `${minutes}m` : ''];
  if (milliseconds > 0) parts.push(`${milliseconds / SECOND_MS}s`);
  return parts.join('');
}

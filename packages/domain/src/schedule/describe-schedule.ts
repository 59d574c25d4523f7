/**
 * A schedule in plain English, for lists, previews and mails: "every weekday at 09:00 (Europe/Paris)". Common patterns
 * become words; anything else names its expression, so that the words are never wrong.
 */

import { civilFromDays, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, weekdayOfDays } from './civil-date.ts';
import { describeCron, MONTHS, WEEKDAYS } from './describe-cron.ts';
import { parseCron } from './parse-cron.ts';
import type { IntervalSchedule, Schedule } from './schedule.ts';
import { toLocal } from './wall-clock.ts';

export function describeSchedule(schedule: Schedule): string {
  switch (schedule.type) {
    case 'IMMEDIATE':
      return 'once, right away';
    case 'FUTURE':
      return `once, at ${new Date(schedule.atMs)
        .toISOString()
        .replace('T', ' ')
        .replace(/(:00)?\.\d+Z$/, '')} UTC`;
    case 'CRON': {
      const words =
        describeCron(parseCron(schedule.expression)) ?? `by the cron expression "${schedule.expression}"`;
      return `${words} (${schedule.zone})`;
    }
    case 'INTERVAL':
      return describeIntervalSchedule(schedule);
  }
}

function describeIntervalSchedule({ interval, anchorMs, zone }: IntervalSchedule): string {
  if (interval.kind === 'exact') return `every ${exactWords(interval.everyMs)}`;
  const localMs = toLocal(zone, anchorMs);
  const days = Math.floor(localMs / DAY_MS);
  const time = `at ${clock(localMs - days * DAY_MS)} (${zone})`;
  const { unit, every } = interval;
  if (unit === 'day') return `every ${counted(every, 'day')} ${time}`;
  if (unit === 'week') return `every ${counted(every, 'week')} on ${WEEKDAYS[weekdayOfDays(days)]} ${time}`;
  const { month, day } = civilFromDays(days);
  const orLast = day > 28 ? ' (or the last day of a shorter month)' : '';
  if (every % 12 === 0) {
    return `every ${counted(every / 12, 'year')} on ${day} ${MONTHS[month - 1]}${month === 2 ? orLast : ''} ${time}`;
  }
  return `every ${counted(every, 'month')} on day ${day}${orLast} ${time}`;
}

/** "15 minutes", "1 hour 30 minutes"; a single one is just "hour". */
function exactWords(everyMs: number): string {
  const parts: string[] = [];
  const hours = Math.floor(everyMs / HOUR_MS);
  const minutes = Math.floor((everyMs % HOUR_MS) / MINUTE_MS);
  const seconds = (everyMs % MINUTE_MS) / SECOND_MS;
  for (const [count, unit] of [
    [hours, 'hour'],
    [minutes, 'minute'],
    [seconds, 'second'],
  ] as const) {
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? '' : 's'}`);
  }
  return parts.length === 1 ? (parts[0] ?? '').replace(/^1 /, '') : parts.join(' ');
}

function counted(count: number, unit: string): string {
  return count === 1 ? unit : `${count} ${unit}s`;
}

function clock(timeMs: number): string {
  const text = new Date(timeMs).toISOString().slice(11, 19);
  return text.endsWith(':00') ? text.slice(0, 5) : text;
}

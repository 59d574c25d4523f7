/**
 * The occurrences of a schedule within its start and end. What is costly to prepare (a parsed expression, the anchor's
 * wall clock) is shared by all schedules with the same rule.
 */
import { Cache } from '../cache.ts';
import { CalendarOccurrences } from './calendar-occurrences.ts';
import { CronCalendar } from './cron-calendar.ts';
import { CronOccurrences } from './cron-occurrences.ts';
import { ExactOccurrences } from './exact-occurrences.ts';
import { parseCron } from './parse-cron.ts';
import type { CronSchedule, Occurrences, RecurringSchedule } from './schedule.ts';

/** A calendar weighs about 2 kB: 20 MB at most. It knows no zone, and is shared by all of them. */
const CALENDARS_MAX = 10_000;
const calendars = new Cache<string, CronCalendar>({ entriesMax: CALENDARS_MAX });
const cronRules = new Cache<string, CronOccurrences>({ entriesMax: CALENDARS_MAX });

export function occurrencesOf(schedule: RecurringSchedule): Occurrences {
  const whole = wholeOccurrences(schedule);
  const { startMs = Number.NEGATIVE_INFINITY, endMs = Number.POSITIVE_INFINITY } = schedule;
  if (schedule.startMs === undefined && schedule.endMs === undefined) return whole;
  return {
    next(afterMs) {
      const nextMs = whole.next(Math.max(afterMs, startMs - 1));
      return nextMs !== undefined && nextMs <= endMs ? nextMs : undefined;
    },
    previous: (atMs, floorMs) => whole.previous(Math.min(atMs, endMs), Math.max(floorMs, startMs)),
    count: (fromMs, toMs) => whole.count(Math.max(fromMs, startMs), Math.min(toMs, endMs)),
  };
}

function wholeOccurrences(schedule: RecurringSchedule): Occurrences {
  if (schedule.type === 'CRON') return cronOccurrences(schedule);
  const { interval, anchorMs, zone, daylightSaving } = schedule;
  if (interval.kind === 'exact') return new ExactOccurrences(anchorMs, interval.everyMs);
  return new CalendarOccurrences({ interval, anchorMs, zone, daylightSaving });
}

function cronOccurrences(schedule: CronSchedule): CronOccurrences {
  const { expression, zone, daylightSaving } = schedule;
  const key = `${expression}|${zone}|${daylightSaving.gap}|${daylightSaving.overlap}`;
  return cronRules.getOrCompute(
    key,
    () => new CronOccurrences(cronCalendar(expression), zone, daylightSaving),
  );
}

function cronCalendar(expression: string): CronCalendar {
  return calendars.getOrCompute(expression, () => new CronCalendar(parseCron(expression)));
}

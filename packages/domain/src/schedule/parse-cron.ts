/**
 * Reads a cron expression: 5 fields (minute hour day-of-month month day-of-week), 6 (second first), or a nickname such
 * as @daily. Whatever it accepts fires at least once between 1970 and 2100; nonsense and impossible dates are refused
 * with the field and the reason.
 */

import { Cache } from '../cache.ts';
import { Refusal } from '../errors/refusal.ts';
import { hasCronDays } from './cron-days.ts';
import {
  type CronFieldContext,
  type CronFieldSpec,
  parseCronField,
  parseCronValue,
  refuseField,
} from './cron-field.ts';
import type { CronRule, MonthDayRule, WeekdayRule } from './cron-rule.ts';

export const CRON_LENGTH_MAX = 200;

const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

const MONTH_NAMES = names('JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC', 1);
const WEEKDAY_NAMES = names('SUN MON TUE WED THU FRI SAT', 0);

const SECOND: CronFieldSpec = { name: 'second', min: 0, max: 59 };
const MINUTE: CronFieldSpec = { name: 'minute', min: 0, max: 59 };
const HOUR: CronFieldSpec = { name: 'hour', min: 0, max: 23 };
const MONTH_DAY: CronFieldSpec = {
  name: 'day-of-month',
  min: 1,
  max: 31,
  extras: 'L (last day), L-3, LW (last working day), 15W (working day nearest to the 15th)',
};
const MONTH: CronFieldSpec = { name: 'month', min: 1, max: 12, names: MONTH_NAMES };
const WEEKDAY: CronFieldSpec = {
  name: 'day-of-week',
  min: 0,
  max: 7,
  names: WEEKDAY_NAMES,
  extras: '2#1 (first Tuesday), 5L (last Friday); 0 and 7 are Sunday',
};

/** By the three date fields as written. Most expressions share a few. */
const datesExist = new Cache<string, boolean>({ entriesMax: 1_024 });

export function parseCron(input: string, options: { field?: string } = {}): CronRule {
  const expression = requireText(input, options);
  const fields = splitFields(expression, options);
  const [second, minute, hour, monthDay, month, weekday] = fields;
  const values = (text: string, spec: CronFieldSpec) => parseCronField(text, { spec, ...options }).values;
  const hours = values(hour, HOUR);
  const rule: CronRule = {
    expression,
    seconds: values(second, SECOND),
    minutes: values(minute, MINUTE),
    hours,
    months: values(month, MONTH),
    monthDays: parseMonthDays(monthDay, { spec: MONTH_DAY, ...options }),
    weekdays: parseWeekdays(weekday, { spec: WEEKDAY, ...options }),
    isRhythm: hours.length === 24,
  };
  if (!datesExist.getOrCompute(`${monthDay} ${month} ${weekday}`, () => hasCronDays(rule))) {
    const message = `"${expression}" never fires: no year has a day that matches day-of-month "${monthDay}", month "${month}" and day-of-week "${weekday}".`;
    throw new Refusal('cron_never_fires', message, options);
  }
  return rule;
}

function requireText(input: unknown, options: { field?: string }): string {
  if (typeof input !== 'string') throw new Refusal('cron_invalid', 'A cron expression is a text.', options);
  const expression = input.trim();
  if (expression === '') throw new Refusal('cron_invalid', 'The cron expression is empty.', options);
  if (expression.length > CRON_LENGTH_MAX) {
    const message = `The cron expression has ${expression.length} characters; at most ${CRON_LENGTH_MAX} are read.`;
    throw new Refusal('cron_invalid', message, options);
  }
  return expression;
}

type SixFields = [string, string, string, string, string, string];

function splitFields(expression: string, options: { field?: string }): SixFields {
  let text = expression;
  if (expression.startsWith('@')) {
    const nickname = NICKNAMES[expression.toLowerCase()];
    if (nickname === undefined) {
      const message = `"${expression}" is not a nickname. Known: ${Object.keys(NICKNAMES).join(', ')}.`;
      throw new Refusal('cron_invalid', message, options);
    }
    text = nickname;
  }
  const fields = text.split(/\s+/);
  if (fields.length === 5) fields.unshift('0');
  if (fields.length !== 6) {
    const given = expression.split(/\s+/).length;
    const message = `"${expression}" has ${given} field${given === 1 ? '' : 's'}; a cron expression has 5 (minute hour day-of-month month day-of-week) or 6 (second first).`;
    throw new Refusal('cron_invalid', message, options);
  }
  return fields as SixFields;
}

function parseMonthDays(text: string, context: CronFieldContext): MonthDayRule {
  const nearestWeekdayTo: number[] = [];
  const daysBeforeLast: number[] = [];
  let lastWeekday = false;
  const takePart = (part: string): boolean => {
    const upper = part.toUpperCase();
    if (upper === 'L') daysBeforeLast.push(0);
    else if (upper === 'LW' || upper === 'WL') lastWeekday = true;
    else if (/^L-\d+$/.test(upper)) {
      const before = Number(upper.slice(2));
      if (before < 1 || before > 30)
        throw refuseField(part, 'must lie 1 to 30 days before the last', context);
      daysBeforeLast.push(before);
    } else if (/^\d+W$/.test(upper)) nearestWeekdayTo.push(parseCronValue(upper.slice(0, -1), context));
    else return false;
    return true;
  };
  const { any, values } = parseCronField(text, context, takePart);
  return { any, days: values, nearestWeekdayTo, daysBeforeLast, lastWeekday };
}

function parseWeekdays(text: string, context: CronFieldContext): WeekdayRule {
  const nth: { weekday: number; nth: number }[] = [];
  const last: number[] = [];
  const takePart = (part: string): boolean => {
    const lastOf = /^(\w+?)#?L$/i.exec(part);
    if (lastOf?.[1] !== undefined) {
      last.push(parseCronValue(lastOf[1], context) % 7);
      return true;
    }
    if (part.toUpperCase() === 'L') throw refuseField(part, 'needs a weekday before it, as in 5L', context);
    if (!part.includes('#')) return false;
    const [weekday = '', count = ''] = part.split('#');
    if (!/^[1-5]$/.test(count)) throw refuseField(part, 'needs a count from 1 to 5 after "#"', context);
    nth.push({ weekday: parseCronValue(weekday, context) % 7, nth: Number(count) });
    return true;
  };
  const { any, values } = parseCronField(text, context, takePart);
  const days = [...new Set(values.map((value) => value % 7))].sort((a, b) => a - b);
  return { any, days, nth, last };
}

function names(words: string, first: number): Readonly<Record<string, number>> {
  return Object.fromEntries(words.split(' ').map((word, index) => [word, index + first]));
}

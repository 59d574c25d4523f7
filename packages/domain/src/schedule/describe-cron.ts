/**
 * A cron rule in plain English, for the common patterns: "every weekday at 09:00", "every 10 minutes". Undefined when the
 * words would be longer or vaguer than the expression itself. When both day fields are set the words say "or".
 */
import type { CronRule, MonthDayRule, WeekdayRule } from './cron-rule.ts';

/** The names of weekdays (from Sunday, 0) and months (from January, 0), for descriptions. */
export const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
export const MONTHS =
  'January February March April May June July August September October November December'.split(' ');

const NTH = ['', 'first', 'second', 'third', 'fourth', 'fifth'];
/** More items than this read worse than the expression. */
const LISTED_MAX = 6;

export function describeCron(rule: CronRule): string | undefined {
  const yearly = describeYearlyDay(rule);
  const days = yearly ?? describeDays(rule);
  const months = yearly === undefined ? describeMonths(rule.months) : '';
  const time = describeTime(rule);
  if (days === undefined || months === undefined || time === undefined) return undefined;
  if (time.startsWith('at ')) return `${days}${months} ${time}`;
  const onlyOn = days === 'every day' ? '' : `, ${days}`;
  return `${time}${onlyOn}${months}`;
}

function describeTime(rule: CronRule): string | undefined {
  const { seconds, minutes, hours } = rule;
  const beat = describeBeat(rule);
  if (beat !== undefined) {
    if (rule.isRhythm) return beat;
    const [first = 0] = hours;
    const last = hours.at(-1) ?? 0;
    if (last - first !== hours.length - 1) return undefined;
    return `${beat} from ${clock(first, 0)} to ${clock(last, 59)}`;
  }
  const [minute = 0] = minutes;
  const everyHours = regularStep(hours, 24);
  if (
    everyHours !== undefined &&
    hours.length > LISTED_MAX &&
    minutes.length === 1 &&
    seconds.join() === '0'
  ) {
    return `${every(everyHours, 'hour')}${atMinute(minute)}`;
  }
  if (seconds.length !== 1 || hours.length * minutes.length > LISTED_MAX) return undefined;
  const [second = 0] = seconds;
  return `at ${list(hours.flatMap((hour) => minutes.map((minute) => clock(hour, minute, second))))}`;
}

/** What happens within an hour, when that is a regular beat. */
function describeBeat({ seconds, minutes, isRhythm }: CronRule): string | undefined {
  const [minute = 0] = minutes;
  const [second = 0] = seconds;
  if (seconds.length > 1) {
    const everySeconds = regularStep(seconds, 60);
    return everySeconds === undefined || minutes.length !== 60 ? undefined : every(everySeconds, 'second');
  }
  if (second !== 0) return undefined;
  if (minutes.length > 1) {
    const everyMinutes = regularStep(minutes, 60);
    return everyMinutes === undefined ? undefined : every(everyMinutes, 'minute');
  }
  return isRhythm ? `every hour${atMinute(minute)}` : undefined;
}

/** "every year on 1 January" for one plain date. */
function describeYearlyDay({ months, monthDays, weekdays }: CronRule): string | undefined {
  const { days, nearestWeekdayTo, daysBeforeLast, lastWeekday } = monthDays;
  const special = lastWeekday || nearestWeekdayTo.length + daysBeforeLast.length > 0;
  if (!weekdays.any || months.length !== 1 || days.length !== 1 || special) return undefined;
  return `every year on ${days[0]} ${MONTHS[(months[0] ?? 1) - 1]}`;
}

function describeDays({ monthDays, weekdays }: CronRule): string | undefined {
  if (monthDays.any && weekdays.any) return 'every day';
  const byDate = monthDays.any ? undefined : describeMonthDays(monthDays);
  const byWeekday = weekdays.any ? undefined : describeWeekdays(weekdays);
  if (monthDays.any) return byWeekday;
  if (weekdays.any) return byDate;
  return byDate === undefined || byWeekday === undefined ? undefined : `${byDate} or ${byWeekday}`;
}

function describeMonthDays(rule: MonthDayRule): string | undefined {
  const items = rule.days.map((day) => `day ${day}`);
  for (const before of rule.daysBeforeLast) {
    items.push(
      before === 0 ? 'the last day' : `${before} ${before === 1 ? 'day' : 'days'} before the last day`,
    );
  }
  for (const day of rule.nearestWeekdayTo) items.push(`the working day nearest to day ${day}`);
  if (rule.lastWeekday) items.push('the last working day');
  return items.length > LISTED_MAX ? undefined : `on ${list(items)} of the month`;
}

function describeWeekdays(rule: WeekdayRule): string {
  const items = rule.nth.map(({ weekday, nth }) => `on the ${NTH[nth]} ${WEEKDAYS[weekday]} of the month`);
  for (const weekday of rule.last) items.push(`on the last ${WEEKDAYS[weekday]} of the month`);
  const plain = rule.days.join('');
  if (plain === '12345') items.unshift('every weekday');
  else if (plain === '06') items.unshift('every Saturday and Sunday');
  else if (plain !== '') items.unshift(`every ${list(rule.days.map((day) => WEEKDAYS[day] ?? ''))}`);
  return list(items);
}

function describeMonths(months: readonly number[]): string | undefined {
  if (months.length === 12) return '';
  return months.length > LISTED_MAX
    ? undefined
    : ` in ${list(months.map((month) => MONTHS[month - 1] ?? ''))}`;
}

/** The step of values that start at 0 and divide their circle evenly: 0, 10, 20 ... 50 of 60 is 10. */
function regularStep(values: readonly number[], size: number): number | undefined {
  const step = size / values.length;
  return values.every((value, index) => value === index * step) ? step : undefined;
}

function atMinute(minute: number): string {
  return minute === 0 ? '' : ` at minute ${minute}`;
}

function every(count: number, unit: string): string {
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`;
}

function clock(hour: number, minute: number, second = 0): string {
  const parts = second === 0 ? [hour, minute] : [hour, minute, second];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

function list(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

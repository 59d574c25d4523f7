import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { describeSchedule } from './describe-schedule.ts';
import { anyCron, at, cron, every } from './schedule-arbitraries.ts';

describe('describeSchedule', () => {
  test.each([
    ['0 9 * * 1-5', 'every weekday at 09:00'],
    ['30 9,18 * * *', 'every day at 09:30 and 18:30'],
    ['@daily', 'every day at 00:00'],
    ['@hourly', 'every hour'],
    ['5 * * * *', 'every hour at minute 5'],
    ['* * * * *', 'every minute'],
    ['*/10 * * * *', 'every 10 minutes'],
    ['*/10 * * * MON-FRI', 'every 10 minutes, every weekday'],
    ['*/15 9-17 * * 1-5', 'every 15 minutes from 09:00 to 17:59, every weekday'],
    ['0 */2 * * *', 'every 2 hours'],
    ['* * * * * *', 'every second'],
    ['*/5 * * * * *', 'every 5 seconds'],
    ['15 0 9 * * *', 'every day at 09:00:15'],
    ['0 12 * * 0,6', 'every Saturday and Sunday at 12:00'],
    ['0 12 * * MON,THU', 'every Monday and Thursday at 12:00'],
    ['0 0 1,15 * *', 'on day 1 and day 15 of the month at 00:00'],
    ['0 0 L * *', 'on the last day of the month at 00:00'],
    ['0 0 LW 6 *', 'on the last working day of the month in June at 00:00'],
    ['0 0 15W * *', 'on the working day nearest to day 15 of the month at 00:00'],
    ['0 9 * * 2#1', 'on the first Tuesday of the month at 09:00'],
    ['0 9 * * 5L', 'on the last Friday of the month at 09:00'],
    ['0 0 1 1 *', 'every year on 1 January at 00:00'],
    ['0 0 1 1,7 *', 'on day 1 of the month in January and July at 00:00'],
    ['*/7 * * * *', 'by the cron expression "*/7 * * * *"'],
    ['0 0 1-20 * *', 'by the cron expression "0 0 1-20 * *"'],
  ])('says %j in words', (expression, words) => {
    expect(describeSchedule(cron(expression, 'Europe/Paris'))).toBe(`${words} (Europe/Paris)`);
  });

  test('hazard 5: says "or" when day-of-month and day-of-week are both set', () => {
    expect(describeSchedule(cron('0 9 13 * 5'))).toBe(
      'on day 13 of the month or every Friday at 09:00 (UTC)',
    );
  });

  test('says intervals in words, with the wall clock where they keep it', () => {
    const anchor = '2026-01-31T08:00Z';
    const zone = 'Europe/Paris';
    expect(describeSchedule(every({ kind: 'exact', everyMs: 900_000 }, anchor))).toBe('every 15 minutes');
    expect(describeSchedule(every({ kind: 'exact', everyMs: 3_600_000 }, anchor))).toBe('every hour');
    expect(describeSchedule(every({ kind: 'exact', everyMs: 5_401_500 }, anchor))).toBe(
      'every 1 hour 30 minutes 1.5 seconds',
    );
    const words = (unit: 'day' | 'week' | 'month', count: number) =>
      describeSchedule(every({ kind: 'calendar', unit, every: count }, anchor, zone));
    expect(words('day', 1)).toBe('every day at 09:00 (Europe/Paris)');
    expect(words('week', 2)).toBe('every 2 weeks on Saturday at 09:00 (Europe/Paris)');
    expect(words('month', 1)).toBe(
      'every month on day 31 (or the last day of a shorter month) at 09:00 (Europe/Paris)',
    );
    expect(words('month', 12)).toBe('every year on 31 January at 09:00 (Europe/Paris)');
  });

  test('says one-off schedules in words', () => {
    expect(describeSchedule({ type: 'IMMEDIATE' })).toBe('once, right away');
    expect(describeSchedule({ type: 'FUTURE', atMs: at('2027-03-01T09:00Z') })).toBe(
      'once, at 2027-03-01 09:00 UTC',
    );
    expect(describeSchedule({ type: 'FUTURE', atMs: at('2027-03-01T09:00:05Z') })).toBe(
      'once, at 2027-03-01 09:00:05 UTC',
    );
  });

  test('has words for everything that is accepted', () => {
    fc.assert(
      fc.property(anyCron, (expression) => {
        try {
          const words = describeSchedule(cron(expression));
          expect(words).toMatch(/^\S.*\S \(UTC\)$/);
          expect(words).not.toMatch(/undefined|NaN| {2}/);
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal);
        }
      }),
      { numRuns: 300 },
    );
  });
});

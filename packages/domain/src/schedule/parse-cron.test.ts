import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { nextFire, nextFires } from './next-fires.ts';
import { parseCron } from './parse-cron.ts';
import { anyCron, at, cron, iso } from './schedule-arbitraries.ts';

function refusal(run: () => unknown): Refusal {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  return expect.fail('was accepted');
}

describe('parseCron', () => {
  test('reads fields, names, ranges, lists and steps', () => {
    const rule = parseCron('  */20 9-11,14 1/10 jan,Jul-SEP MON-fri  ');
    expect(rule.expression).toBe('*/20 9-11,14 1/10 jan,Jul-SEP MON-fri');
    expect(rule.seconds).toEqual([0]);
    expect(rule.minutes).toEqual([0, 20, 40]);
    expect(rule.hours).toEqual([9, 10, 11, 14]);
    expect(rule.monthDays.days).toEqual([1, 11, 21, 31]);
    expect(rule.months).toEqual([1, 7, 8, 9]);
    expect(rule.weekdays.days).toEqual([1, 2, 3, 4, 5]);
  });

  test('reads seconds when there are 6 fields, and Sunday as 0, 7, SUN or the end of a range', () => {
    expect(parseCron('15,45 * * * * *').seconds).toEqual([15, 45]);
    for (const sunday of ['0', '7', 'SUN', '0,7'])
      expect(parseCron(`0 0 * * ${sunday}`).weekdays.days).toEqual([0]);
    expect(parseCron('0 0 * * FRI-SUN').weekdays.days).toEqual([0, 5, 6]);
    expect(parseCron('0 0 * * 5-0').weekdays.days).toEqual([0, 5, 6]);
    expect(parseCron('0 0 * * */2').weekdays.days).toEqual([0, 2, 4, 6]);
  });

  test('reads L, W and #', () => {
    expect(parseCron('0 0 L,L-3,15W,LW * *').monthDays).toEqual({
      any: false,
      days: [],
      nearestWeekdayTo: [15],
      daysBeforeLast: [0, 3],
      lastWeekday: true,
    });
    const { weekdays } = parseCron('0 0 ? * 5L,TUE#1,SUN#L,1#5');
    expect(weekdays.last).toEqual([5, 0]);
    expect(weekdays.nth).toEqual([
      { weekday: 2, nth: 1 },
      { weekday: 1, nth: 5 },
    ]);
  });

  test('reads the nicknames', () => {
    const next = (nickname: string) => iso(nextFires(cron(nickname), at('2026-05-06T07:08Z'), 1))[0];
    expect(next('@yearly')).toBe('2027-01-01T00:00Z');
    expect(next('@ANNUALLY')).toBe('2027-01-01T00:00Z');
    expect(next('@monthly')).toBe('2026-06-01T00:00Z');
    expect(next('@weekly')).toBe('2026-05-10T00:00Z');
    expect(next('@daily')).toBe('2026-05-07T00:00Z');
    expect(next('@midnight')).toBe('2026-05-07T00:00Z');
    expect(next('@hourly')).toBe('2026-05-06T08:00Z');
  });

  test('calls it a rhythm exactly when every hour is admitted', () => {
    const rhythms = ['* * * * *', '*/10 * * * *', '0 * * * *', '5 0-23 * * 1-5', '@hourly', '0 */1 * * *'];
    const fixed = ['0 9 * * *', '*/10 2 * * *', '0 */2 * * *', '0 0-22 * * *', '@daily'];
    expect(rhythms.map((expression) => parseCron(expression).isRhythm)).toEqual(rhythms.map(() => true));
    expect(fixed.map((expression) => parseCron(expression).isRhythm)).toEqual(fixed.map(() => false));
  });

  test.each([
    ['', 'empty'],
    ['   ', 'empty'],
    ['* * * *', 'has 4 fields'],
    ['* * * * * * *', 'has 7 fields'],
    ['hello', 'has 1 field;'],
    ['@reboot', 'not a nickname'],
    ['60 * * * *', 'minute field, "60" is above 59'],
    ['* 24 * * *', 'hour field, "24" is above 23'],
    ['* * 0 * *', 'day-of-month field, "0" is below 1'],
    ['* * 32 * *', 'day-of-month field, "32" is above 31'],
    ['* * * 13 *', 'month field, "13" is above 12'],
    ['* * * * 8', 'day-of-week field, "8" is above 7'],
    ['61 * * * * *', 'second field, "61" is above 59'],
    ['a * * * *', 'minute field, "a" is not a value'],
    ['* * * FOO *', 'month field, "FOO" is not a value'],
    ['MON * * * *', 'minute field, "MON" is not a value'],
    ['-5 * * * *', 'lacks a value'],
    ['1,,2 * * * *', 'empty place'],
    ['1, * * * *', 'empty place'],
    ['*/0 * * * *', 'step of 0'],
    ['*/90 * * * *', 'use an interval instead'],
    ['*/x * * * *', 'whole number after "/"'],
    ['*/5/5 * * * *', 'more than one "/"'],
    ['1-2-3 * * * *', 'not a range'],
    ['50-10 * * * *', 'runs backwards; write "50-59,0-10" instead'],
    ['* * * * SAT-MON', 'runs backwards; write "6-6,0-1" instead'],
    ['1.5 * * * *', 'is not a value'],
    ['1e1 * * * *', 'is not a value'],
    ['* * L-31 * *', '1 to 30 days before'],
    ['* * 32W * *', 'is above 31'],
    ['* * * * L', 'needs a weekday before it'],
    ['* * * * 1#6', 'count from 1 to 5'],
    ['* * * * 1#', 'count from 1 to 5'],
    ['* * * * +MON', 'is not a value'],
    ['* * * * *'.padEnd(201, '0').concat('1'), 'at most 200'],
  ])('refuses %j and says why', (expression, reason) => {
    const { code, message, field } = refusal(() => parseCron(expression, { field: 'schedule' }));
    expect(code).toBe('cron_invalid');
    expect(message).toContain(reason);
    expect(field).toBe('schedule');
  });

  test('refuses what is not a text', () => {
    expect(refusal(() => parseCron(5 as unknown as string)).code).toBe('cron_invalid');
  });

  test('hazard 6: dates that no year has are refused when saved, quickly', () => {
    const impossible = [
      '0 0 30 2 *',
      '0 0 31 2 *',
      '0 0 31 4 *',
      '0 0 31 4,6,9,11 *',
      '0 0 30,31 FEB ?',
      '0 0 30W 2 *',
      '0 0 L-30 2 *',
    ];
    for (const expression of impossible) {
      const { code, message } = refusal(() => parseCron(expression));
      expect(code).toBe('cron_never_fires');
      expect(message).toContain('never fires');
    }
  });

  test('hazard 6: the 31st, L, Feb 29 and the fifth Monday of February have a next fire', () => {
    const fires = (expression: string, n: number) =>
      iso(nextFires(cron(expression), at('2026-01-01T00:00Z'), n));
    expect(fires('0 0 31 * *', 3)).toEqual(['2026-01-31T00:00Z', '2026-03-31T00:00Z', '2026-05-31T00:00Z']);
    expect(fires('0 0 L * *', 3)).toEqual(['2026-01-31T00:00Z', '2026-02-28T00:00Z', '2026-03-31T00:00Z']);
    expect(fires('0 0 29 2 *', 2)).toEqual(['2028-02-29T00:00Z', '2032-02-29T00:00Z']);
    expect(fires('0 0 * 2 1#5', 2)).toEqual(['2044-02-29T00:00Z', '2072-02-29T00:00Z']);
    expect(fires('0 0 31W * *', 2)).toEqual(['2026-01-30T00:00Z', '2026-03-31T00:00Z']);
    expect(fires('0 0 1W * *', 2)).toEqual(['2026-02-02T00:00Z', '2026-03-02T00:00Z']);
  });

  test('hazard 6: every accepted expression fires, and every text is either accepted or refused by name', () => {
    const nearlyCron = fc.array(
      fc.constantFrom(
        '*',
        '/',
        '-',
        ',',
        'L',
        'W',
        '#',
        '?',
        '@',
        ' ',
        '0',
        '1',
        '5',
        '31',
        '60',
        'MON',
        'FEB',
      ),
      { maxLength: 14 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          anyCron,
          nearlyCron.map((parts) => parts.join('')),
          fc.string(),
        ),
        (expression) => {
          try {
            parseCron(expression);
          } catch (error) {
            expect(error).toBeInstanceOf(Refusal);
            return;
          }
          expect(nextFire(cron(expression), 0)).toBeGreaterThan(0);
        },
      ),
      { numRuns: 600 },
    );
  });

  test('hazard 5: day-of-month and day-of-week both set fire on either', () => {
    const fires = iso(nextFires(cron('0 9 13 * 5'), at('2026-02-01T00:00Z'), 6));
    expect(fires).toEqual([
      '2026-02-06T09:00Z', // Friday
      '2026-02-13T09:00Z', // Friday the 13th, once
      '2026-02-20T09:00Z',
      '2026-02-27T09:00Z',
      '2026-03-06T09:00Z',
      '2026-03-13T09:00Z',
    ]);
    expect(iso(nextFires(cron('0 9 14 * 5'), at('2026-02-12T00:00Z'), 3))).toEqual([
      '2026-02-13T09:00Z',
      '2026-02-14T09:00Z',
      '2026-02-20T09:00Z',
    ]);
  });

  test('hazard 5: a field written * or ? leaves the choice to the other one', () => {
    const after = at('2026-02-01T00:00Z');
    expect(nextFires(cron('0 9 ? * 5'), after, 5)).toEqual(nextFires(cron('0 9 * * 5'), after, 5));
    expect(nextFires(cron('0 9 13 * ?'), after, 5)).toEqual(nextFires(cron('0 9 13 * *'), after, 5));
  });
});

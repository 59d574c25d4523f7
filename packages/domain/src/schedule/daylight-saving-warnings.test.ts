import { describe, expect, test } from 'vitest';
import { daylightSavingWarnings, localText } from './daylight-saving-warnings.ts';
import { type CronSchedule, DEFAULT_DAYLIGHT_SAVING } from './schedule.ts';

const PARIS: CronSchedule = {
  type: 'CRON',
  expression: '30 2 * * *',
  zone: 'Europe/Paris',
  daylightSaving: DEFAULT_DAYLIGHT_SAVING,
  spreadMs: 0,
};
const YEAR_2027 = { afterMs: Date.UTC(2027, 0, 1), untilMs: Date.UTC(2028, 0, 1) };

describe('warnings of daylight saving', () => {
  test('a time in the missing hour is moved, and one in the repeated hour runs once', () => {
    expect(daylightSavingWarnings(PARIS, YEAR_2027)).toEqual([
      {
        kind: 'gap',
        atMs: Date.UTC(2027, 2, 28, 1),
        message:
          'The clock goes forward in Europe/Paris and skips a planned time: it runs right after the gap, at 2027-03-28T03:00:00+02:00.',
      },
      {
        kind: 'overlap',
        atMs: Date.UTC(2027, 9, 31, 1),
        message:
          'The clock goes back in Europe/Paris and shows a planned time twice: it runs the first time only.',
      },
    ]);
  });

  test('the words follow the policy', () => {
    const skipping = { ...PARIS, daylightSaving: { gap: 'skip', overlap: 'both' } } as const;
    expect(daylightSavingWarnings(skipping, YEAR_2027).map(({ message }) => message.split(': ')[1])).toEqual([
      'it is left out that day.',
      'it runs both times.',
    ]);
  });

  test('a time outside those hours, a rhythm, and a zone without changes get none', () => {
    expect(daylightSavingWarnings({ ...PARIS, expression: '0 9 * * *' }, YEAR_2027)).toEqual([]);
    expect(daylightSavingWarnings({ ...PARIS, expression: '*/10 * * * *' }, YEAR_2027)).toEqual([]);
    expect(daylightSavingWarnings({ ...PARIS, zone: 'UTC' }, YEAR_2027)).toEqual([]);
    expect(daylightSavingWarnings({ type: 'FUTURE', atMs: YEAR_2027.afterMs }, YEAR_2027)).toEqual([]);
  });

  test('local times carry their offset, west of Greenwich too', () => {
    expect(localText('America/St_Johns', Date.UTC(2027, 0, 1))).toBe('2026-12-31T20:30:00-03:30');
    expect(localText('UTC', Date.UTC(2027, 0, 1))).toBe('2027-01-01T00:00:00+00:00');
  });
});

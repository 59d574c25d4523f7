import { describe, expect, test } from 'vitest';
import { occurrencesPerDay } from './occurrences-per-day.ts';
import { at, cron, every } from './schedule-arbitraries.ts';

const counts = (...args: Parameters<typeof occurrencesPerDay>) =>
  occurrencesPerDay(...args).map(({ date, count }) => `${date} ${count}`);

describe('occurrences per day', () => {
  test('are counted on the days of the zone, and only within the window', () => {
    const window = { fromMs: at('2030-01-01T12:00:00Z'), untilMs: at('2030-01-03T06:00:00Z') };
    expect(counts(cron('0 * * * *'), { ...window, zone: 'UTC' })).toEqual([
      '2030-01-01 12',
      '2030-01-02 24',
      '2030-01-03 7',
    ]);
    expect(counts(cron('30 2 * * *', 'Asia/Tokyo'), { ...window, zone: 'Asia/Tokyo' })).toEqual([
      '2030-01-01 0',
      '2030-01-02 1',
      '2030-01-03 1',
    ]);
  });

  test('a day on which the clock goes forward or back has an hour less or more', () => {
    const zone = 'Europe/Paris';
    const march = { fromMs: at('2030-03-30T23:00:00Z'), untilMs: at('2030-03-31T21:59:59Z'), zone };
    expect(counts(cron('0 * * * *', zone), march)).toEqual(['2030-03-31 23']);
    const october = { fromMs: at('2030-10-26T22:00:00Z'), untilMs: at('2030-10-27T22:59:59Z'), zone };
    expect(counts(every({ kind: 'exact', everyMs: 3_600_000 }, '2030-01-01T00:00:00Z'), october)).toEqual([
      '2030-10-27 25',
    ]);
  });

  test('a midnight that is skipped belongs to its day', () => {
    const zone = 'America/Santiago';
    const window = { fromMs: at('2026-09-05T12:00:00Z'), untilMs: at('2026-09-07T02:59:59Z'), zone };
    expect(counts(cron('0 0 * * *', zone), window)).toEqual(['2026-09-05 0', '2026-09-06 1']);
  });

  test('what runs every second is counted, not listed; what runs once is counted once', () => {
    const window = { fromMs: at('2030-01-01T00:00:00Z'), untilMs: at('2030-01-01T23:59:59Z'), zone: 'UTC' };
    expect(counts(cron('* * * * * *'), window)).toEqual(['2030-01-01 86400']);
    expect(counts({ type: 'FUTURE', atMs: at('2030-01-01T08:00:00Z') }, window)).toEqual(['2030-01-01 1']);
  });
});

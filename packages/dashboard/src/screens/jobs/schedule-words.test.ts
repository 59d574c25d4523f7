import { describe, expect, test } from 'vitest';
import { type ScheduledJob, scheduleWords } from './schedule-words.ts';

const NONE: ScheduledJob = {
  ...{ schedule_type: 'IMMEDIATE', schedule_time: null, cron_expression: null, interval: null },
  ...{ time_zone: null, start_at: null, end_at: null },
};
const cron = (cron_expression: string, time_zone = 'UTC') =>
  scheduleWords({ ...NONE, schedule_type: 'CRON', cron_expression, time_zone }, 'UTC');
const interval = (interval: string, schedule_time = '2026-11-18T08:30:00Z', time_zone = 'UTC') =>
  scheduleWords({ ...NONE, schedule_type: 'INTERVAL', interval, schedule_time, time_zone }, 'UTC');

describe('a schedule in words', () => {
  test('says what common cron expressions mean, with their zone', () => {
    expect(cron('0 9 * * 1-5', 'Europe/Paris')).toBe('every weekday at 09:00 (Europe/Paris)');
    expect(cron('@daily')).toBe('every day at 00:00 (UTC)');
    expect(cron('*/10 * * * *')).toBe('every 10 minutes (UTC)');
  });

  test('names an expression that has no plain words, or that it does not understand', () => {
    expect(cron('7-59/11 8-17 * * MON-FRI')).toContain('7-59/11 8-17 * * MON-FRI');
    expect(cron('a newer rule')).toBe('a newer rule (UTC)');
  });

  test('counts intervals, and names the time of those that follow the calendar', () => {
    expect(interval('15m')).toBe('every 15 minutes');
    expect(interval('1d', '2026-11-18T08:30:00Z', 'Europe/Paris')).toBe('every day at 09:30 (Europe/Paris)');
    expect(interval('a newer rhythm')).toBe('every a newer rhythm (UTC)');
  });

  test('tells the time of a one-off job in the zone of the reader', () => {
    const job = { ...NONE, schedule_type: 'FUTURE', schedule_time: '2026-12-01T08:00:00Z' } as const;
    expect(scheduleWords(job, 'Europe/Paris')).toBe('once, at 2026-12-01 09:00');
    expect(scheduleWords(NONE, 'UTC')).toBe('once, when it was made');
  });
});

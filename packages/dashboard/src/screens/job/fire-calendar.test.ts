import { CarillonError, type PreviewRequest, type SchedulePreview } from '@carillon/client';
import { expect, test } from 'vitest';
import { byDay, dayStartMs, isMonth, monthAfter, readFires, weeksOf } from './fire-calendar.ts';

test('the weeks of a month begin on Monday and hold all of its days', () => {
  const weeks = weeksOf('2026-11');
  expect(weeks[0]?.[0]).toBe('2026-10-26');
  expect(weeks.at(-1)?.[6]).toBe('2026-12-06');
  expect(weeks.every((week) => week.length === 7)).toBe(true);
  expect(weeksOf('2027-02').flat()).toHaveLength(28);
});

test('months follow one another across years', () => {
  expect(monthAfter('2026-12', 1)).toBe('2027-01');
  expect(monthAfter('2026-01', -1)).toBe('2025-12');
  expect([isMonth('2026-11'), isMonth('2026-13'), isMonth(undefined)]).toEqual([true, false, false]);
});

test('a day begins when it begins in the zone, and instants fall on the days of the zone', () => {
  expect(new Date(dayStartMs('2026-11-18', 'Asia/Tokyo')).toISOString()).toBe('2026-11-17T15:00:00.000Z');
  expect(new Date(dayStartMs('2026-11-18', 'UTC')).toISOString()).toBe('2026-11-18T00:00:00.000Z');
  // The night before clocks go back there.
  expect(new Date(dayStartMs('2026-11-01', 'America/New_York')).toISOString()).toBe(
    '2026-11-01T04:00:00.000Z',
  );
  expect([...byDay(['2026-11-17T20:00:00Z'], 'Asia/Tokyo').keys()]).toEqual(['2026-11-18']);
});

const DAY_MS = 86_400_000;
const FROM = Date.parse('2026-11-01T00:00:00Z');
const ANSWER: SchedulePreview = {
  ...{ description: '', schedule_type: 'CRON', time_zone: 'UTC', warnings: [] },
  fires: [
    { at: '2026-11-02T09:00:00.000Z', local: '', skipped_by: null },
    { at: '2026-11-03T09:00:00.000Z', local: '', skipped_by: 'ada' },
  ],
  others_at: [{ at: '2026-11-02T09:00:00.000Z', count: 412, more: false }],
  per_day: [
    { date: '2026-11-01', count: 0 },
    { date: '2026-11-02', count: 1 },
  ],
};

test('a month is asked for at once, and no longer than the server looks ahead', async () => {
  const asked: PreviewRequest[] = [];
  const preview = async (request: PreviewRequest) => {
    asked.push(request);
    return ANSWER;
  };
  const range = { schedule: { cron_expression: '0 9 * * *' }, fromMs: FROM };
  const { fires, perDay, skipped, others } = await readFires(preview, { ...range, toMs: FROM + 43 * DAY_MS });
  expect(asked).toEqual([
    {
      ...{ cron_expression: '0 9 * * *', count: 100, after: '2026-11-01T00:00:00.000Z' },
      until: '2026-12-13T00:00:00.000Z',
    },
  ]);
  expect(fires).toEqual(['2026-11-02T09:00:00.000Z', '2026-11-03T09:00:00.000Z']);
  expect([...skipped]).toEqual(['2026-11-03T09:00:00.000Z']);
  expect(others).toEqual(ANSWER.others_at);
  expect([...perDay]).toEqual([['2026-11-02', 1]]);
});

test('a schedule that is over has no fires; other refusals are told', async () => {
  const refusing = (code: string) => () => Promise.reject(new CarillonError({ code, message: 'No.' }));
  const range = { schedule: {}, fromMs: FROM, toMs: FROM + DAY_MS };
  expect((await readFires(refusing('schedule_never_fires'), range)).fires).toEqual([]);
  await expect(readFires(refusing('forbidden'), range)).rejects.toThrow('No.');
});

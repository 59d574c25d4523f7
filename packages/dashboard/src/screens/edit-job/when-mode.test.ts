import { expect, test } from 'vitest';
import { changeMode } from './when-mode.ts';

const CONTEXT = { remembered: {}, zone: 'Europe/Paris', soon: '2026-11-18T10:00' };

test('another kind of schedule replaces the fields of the one before, and nothing else', () => {
  const before = { name: 'a', cron_expression: '5 4 * * *', time_zone: 'Asia/Tokyo', priority: 'high' };
  const { body } = changeMode(before, { ...CONTEXT, to: 'INTERVAL' });
  expect(body).toEqual({ name: 'a', priority: 'high', interval: '15m', time_zone: 'Asia/Tokyo' });
  expect(changeMode(before, { ...CONTEXT, to: 'IMMEDIATE' }).body).toEqual({ name: 'a', priority: 'high' });
});

test('what was typed for a kind is there again when it is chosen again', () => {
  const cron = { name: 'a', cron_expression: '5 4 * * *', time_zone: 'Asia/Tokyo' };
  const now = changeMode(cron, { ...CONTEXT, to: 'IMMEDIATE' });
  const back = changeMode(now.body, { ...CONTEXT, to: 'CRON', remembered: now.remembered });
  expect(back.body).toEqual(cron);
});

test('a new kind begins with what people mostly want, in their own zone', () => {
  expect(changeMode({}, { ...CONTEXT, to: 'FUTURE' }).body).toEqual({
    schedule_time: '2026-11-18T10:00',
    time_zone: 'Europe/Paris',
  });
  expect(changeMode({}, { ...CONTEXT, to: 'CRON' }).body).toMatchObject({ time_zone: 'Europe/Paris' });
});

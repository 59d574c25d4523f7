import { expect, test } from 'vitest';
import { recordedChanges } from './recorded-fields.ts';

const FIXED = { strategy: 'fixed', delay_seconds: 1, delay_ms_max: 300_000, jitter: true, max_retries: 3 };

test('what changed is named as the interface names it, by the deepest name, with values as it has them', () => {
  const changes = recordedChanges([
    { field: 'retry', before: FIXED, after: { ...FIXED, delay_ms_max: 60_000, max_retries: 5 } },
    { field: 'misfire', before: { kind: 'last', max_runs: 100 }, after: { kind: 'all', max_runs: 100 } },
    {
      field: 'schedule',
      before: { type: 'CRON', expression: '0 9 * * *', zone: 'UTC', spread_seconds: 0 },
      after: {
        type: 'INTERVAL',
        interval: { kind: 'exact', every_seconds: 900 },
        zone: 'UTC',
        spread_seconds: 0,
      },
    },
    { field: 'payload', before: { script: 'a\nb', args: [] }, after: { script: 'a\nc', args: [] } },
    { field: 'key', before: null, after: 'report' },
  ]);
  expect(changes.map(({ field, before, after }) => [field, before, after])).toEqual([
    ['retry.max_delay_seconds', 300, 60],
    ['max_retries', 3, 5],
    ['misfire.policy', 'last', 'all'],
    ['schedule_type', 'CRON', 'INTERVAL'],
    ['cron_expression', '0 9 * * *', undefined],
    ['payload.script', 'a\nb', 'a\nc'],
    ['key', undefined, 'report'],
    ['interval', undefined, '15m'],
  ]);
});

test('an interval of a calendar is written as it is given', () => {
  const schedule = (every: number) => ({
    type: 'INTERVAL',
    interval: { kind: 'calendar', unit: 'day', every },
  });
  expect(recordedChanges([{ field: 'schedule', before: schedule(1), after: schedule(2) }])).toEqual([
    { field: 'interval', before: '1d', after: '2d' },
  ]);
});

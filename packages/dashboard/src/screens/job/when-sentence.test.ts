import type { Job } from '@carillon/client';
import { expect, test } from 'vitest';
import { whenSentence } from './when-sentence.ts';

const NOW = Date.parse('2026-11-18T05:00:00Z');
const REPORT = {
  ...{ schedule_type: 'CRON', cron_expression: '0 9 * * 1-5', time_zone: 'Europe/Paris' },
  ...{ schedule_time: null, interval: null, start_at: null, end_at: null },
  ...{ status: 'SCHEDULED', next_run_at: '2026-11-18T08:00:00.000Z', waiting_runs: 0, waiting_reason: null },
  skipped_fires: [],
} as unknown as Job;
const say = (change: Partial<Job> = {}) =>
  whenSentence({ ...REPORT, ...change }, { zone: 'Europe/Paris', now: NOW });

test('a job that will run says how, how soon and when', () => {
  expect(say()).toBe('Every weekday at 09:00 (Europe/Paris); next in 3 h (Wed 18 Nov 09:00).');
  expect(say({ next_run_at: '2026-11-18T05:00:05.400Z' })).toContain('next in 5 s (Wed 18 Nov 06:00:05).');
  expect(say({ status: 'RUNNING' })).toContain('it runs now, next in 3 h');
});

test('a job that will not run says why', () => {
  expect(say({ status: 'PAUSED' })).toContain('paused: nothing of its schedule starts until it is resumed.');
  expect(say({ status: 'CANCELLED' })).toContain('cancelled');
  expect(say({ next_run_at: null })).toContain('nothing is due any more.');
  const skipped_fires = [
    { at: '2026-11-18T08:00:00.000Z', by: 'ada', skipped_at: '2026-11-18T05:00:00.000Z' },
  ];
  expect(say({ next_run_at: null, skipped_fires })).toContain('every fire that is left is skipped.');
});

test('a run that waits is told with its reason', () => {
  const waiting_reason = 'no worker offers the handler "resize"';
  expect(say({ waiting_runs: 1, waiting_reason })).toContain(
    'a run waits: no worker offers the handler "resize".',
  );
  expect(say({ waiting_runs: 1_000, waiting_reason })).toContain('at least 1000 runs wait');
});

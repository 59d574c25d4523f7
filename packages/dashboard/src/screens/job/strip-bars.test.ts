import type { RunStatus, ShortRun } from '@carillon/client';
import { expect, test } from 'vitest';
import { stripBars } from './strip-bars.ts';

const START = Date.parse('2026-11-18T08:00:00Z');

function run(id: string, tookMs: number | null, status: RunStatus = 'SUCCESS', more: object = {}): ShortRun {
  const at = new Date(START).toISOString();
  return {
    ...{ run_id: id, status, scheduled_at: at, attempt_number: 1, epoch: 1, error_message: null },
    ...{ started_at: tookMs === null ? null : at },
    ended_at: tookMs === null ? null : new Date(START + tookMs).toISOString(),
    ...more,
  } as ShortRun;
}

test('bars go from the oldest to the newest, as high as they took long', () => {
  const { bars, p95Ms } = stripBars([run('new', 500), run('old', 1_000)], START);
  expect(bars.map(({ runId, height }) => [runId, height])).toEqual([
    ['old', 1],
    ['new', 0.5],
  ]);
  expect(p95Ms).toBe(1_000);
});

test('one very slow run does not flatten the others', () => {
  const runs = [run('slow', 100_000), ...Array.from({ length: 99 }, (_, i) => run(`r${i}`, 1_000))];
  const { bars } = stripBars(runs, START);
  expect(new Set(bars.map(({ height }) => height))).toEqual(new Set([1]));
});

test('failures hang below, and what never started is still seen', () => {
  const { bars } = stripBars([run('b', 10, 'FAILED'), run('a', null, 'SKIPPED')], START);
  expect(bars.map(({ below }) => below)).toEqual([false, true]);
  expect(bars[0]?.height).toBeGreaterThan(0);
});

test('a run that was tried again is one bar, by its latest attempt', () => {
  const { bars } = stripBars([run('a', 10, 'SUCCESS', { attempt_number: 2 }), run('a', 20, 'FAILED')], START);
  expect(bars).toHaveLength(1);
  expect(bars[0]).toMatchObject({ status: 'SUCCESS', attempts: 2 });
});

test('nothing is measured where nothing ran', () => {
  expect(stripBars([], START)).toEqual({ bars: [], p95Ms: null });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOW_MS, pendingRun } from './pending-run.fixture.ts';
import { waitForWorker } from './wait-for-worker.ts';

const DAY_MS = 24 * 3_600_000;
const waited = (waitedMs: number, over: Parameters<typeof pendingRun>[1] = {}) =>
  waitForWorker(pendingRun('run', { handler: 'gpu', nominalAtMs: NOW_MS - waitedMs, ...over }), {
    nowMs: NOW_MS,
    watchingSinceMs: 0,
  });

describe('a run whose handler nobody offers (hazard 21)', () => {
  test('waits, and says what for', () => {
    expect(waited(0)).toMatchObject({ kind: 'defer', reason: 'no worker offers the handler "gpu"' });
  });

  test('is looked at less often the longer it waits: never a hot loop, never longer than a minute', () => {
    fc.assert(
      fc.property(fc.nat(DAY_MS), (waitedMs) => {
        const verdict = waited(waitedMs);
        if (verdict.kind !== 'defer') expect.fail(verdict.kind);
        expect(verdict.untilMs - NOW_MS).toBeGreaterThanOrEqual(2_000);
        expect(verdict.untilMs - NOW_MS).toBeLessThanOrEqual(60_000);
        expect(Number.isInteger(verdict.untilMs)).toBe(true);
      }),
    );
  });

  test('is given up after a day, with the reason', () => {
    expect(waited(DAY_MS).kind).toBe('defer');
    expect(waited(DAY_MS + 1)).toMatchObject({
      kind: 'expire',
      error: 'no worker offers the handler "gpu"; gave up after 24 hours',
    });
  });

  test('is not given up by a server that has only just come back', () => {
    const old = pendingRun('run', { handler: 'gpu', nominalAtMs: NOW_MS - 7 * DAY_MS });
    const at = (watchedMs: number) =>
      waitForWorker(old, { nowMs: NOW_MS, watchingSinceMs: NOW_MS - watchedMs }).kind;
    expect(at(0)).toBe('defer');
    expect(at(DAY_MS)).toBe('defer');
    expect(at(DAY_MS + 1)).toBe('expire');
  });

  test('is given up earlier when it may not wait that long, though deferring moved its instant (hazard 16)', () => {
    const patience = { startTimeoutMs: 10_000, fireAtMs: NOW_MS };
    expect(waited(10_000, patience).kind).toBe('defer');
    expect(waited(10_001, patience)).toMatchObject({ kind: 'expire' });
  });
});

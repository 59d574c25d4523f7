import { describe, expect, test } from 'vitest';
import { canMoveRun, isFinal, RUN_STATUSES, type RunStatus } from './run.ts';

const movesFrom = (from: RunStatus): RunStatus[] => RUN_STATUSES.filter((to) => canMoveRun(from, to));
const FINAL: readonly RunStatus[] = [
  ...(['SUCCESS', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'SKIPPED', 'RETURNED', 'LOST'] as const),
];

describe('a run', () => {
  test('is final in the states an attempt ends with, and in no other', () => {
    expect(RUN_STATUSES.filter(isFinal)).toEqual(FINAL);
  });

  test.each(FINAL)('that is %s goes nowhere but back into the queue', (status) => {
    expect(movesFrom(status).filter((to) => to !== 'QUEUED')).toEqual([]);
  });

  test('is tried again after a failure, a timeout or an interruption, never after success, a cancel or a skip (hazard 18)', () => {
    expect(FINAL.filter((status) => canMoveRun(status, 'QUEUED'))).toEqual([
      ...['FAILED', 'TIMED_OUT', 'RETURNED', 'LOST'],
    ]);
  });

  test('is skipped only while it waits: nothing of it was handed out', () => {
    expect(RUN_STATUSES.filter((from) => canMoveRun(from, 'SKIPPED'))).toEqual(['QUEUED']);
  });

  test('is handed out only from the queue, and runs only once it is handed out', () => {
    expect(RUN_STATUSES.filter((from) => canMoveRun(from, 'CLAIMED'))).toEqual(['QUEUED']);
    expect(RUN_STATUSES.filter((from) => canMoveRun(from, 'RUNNING'))).toEqual(['CLAIMED']);
  });

  test('may end before anybody saw it running', () => {
    expect(movesFrom('CLAIMED')).toEqual([
      'QUEUED',
      'RUNNING',
      'CANCELLING',
      'SUCCESS',
      'FAILED',
      'CANCELLED',
      'TIMED_OUT',
      'RETURNED',
      'LOST',
    ]);
  });

  test.each(['QUEUED', 'CLAIMED', 'RUNNING'] as const)('that is %s can be cancelled', (status) => {
    expect(canMoveRun(status, 'CANCELLED')).toBe(true);
  });

  test('that is asked to stop is cancelled, whatever it ends with (hazard 18)', () => {
    expect(RUN_STATUSES.filter((from) => canMoveRun(from, 'CANCELLING'))).toEqual(['CLAIMED', 'RUNNING']);
    expect(movesFrom('CANCELLING')).toEqual(['CANCELLED']);
  });

  test.each(['CLAIMED', 'RUNNING'] as const)(
    'that is %s can be taken back from a worker that fell silent',
    (status) => {
      expect(canMoveRun(status, 'QUEUED')).toBe(true);
    },
  );

  test('reaches an end from every state', () => {
    for (const status of RUN_STATUSES) {
      const reached = new Set([status]);
      for (const from of reached) for (const to of movesFrom(from)) reached.add(to);
      expect([...reached].some(isFinal)).toBe(true);
    }
  });

  test('never moves to where it is', () => {
    for (const status of RUN_STATUSES) expect(canMoveRun(status, status)).toBe(false);
  });
});

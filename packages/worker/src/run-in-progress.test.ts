import { describe, expect, test } from 'vitest';
import { claimedRun } from './claimed-run.fixture.ts';
import { HandlerError } from './handler.ts';
import { RunInProgress } from './run-in-progress.ts';

describe('what a handler sees of its run', () => {
  const run = claimedRun({ attempt: 2, epoch: 3, nominalAtMs: Date.UTC(2030, 5, 1), payload: '{"to":"me"}' });
  const progress = new RunInProgress(run, Date.UTC(2030, 5, 2));

  test('is its identity, its fence and its nominal instant', () => {
    expect({ ...progress.run }).toEqual(run);
    expect([progress.jobId, progress.runId, progress.attempt, progress.epoch]).toEqual([
      run.jobId,
      run.runId,
      2,
      3,
    ]);
    expect(progress.scheduledAt).toEqual(new Date('2030-06-01T00:00:00Z'));
  });

  test('has an idempotency key that is the same for every attempt', () => {
    const retry = new RunInProgress(claimedRun({ attempt: 3, epoch: 9 }), 0);
    expect(retry.idempotencyKey).toBe(progress.idempotencyKey);
  });

  test('is used as a handler takes it apart', () => {
    const { isHeld, progress: report, log } = new RunInProgress(run, 0);
    expect(isHeld()).toBe(true);
    expect(() => report(50, 'half-way')).not.toThrow();
    expect(() => log.info('half-way')).not.toThrow();
  });

  test('parses the payload once', () => {
    expect(progress.payload).toEqual({ to: 'me' });
    expect(progress.payload).toBe(progress.payload);
  });

  test('a payload that is not JSON is refused for good (hazard 21)', () => {
    const broken = new RunInProgress(claimedRun({ payload: '{' }), 0);
    expect(() => broken.payload).toThrow(HandlerError);
    expect(() => broken.payload).toThrow(expect.objectContaining({ retryable: false }));
  });
});

describe('the word to stop', () => {
  test('reaches a signal that was looked at before', () => {
    const progress = new RunInProgress(claimedRun(), 0);
    const { signal } = progress;
    expect(signal.aborted).toBe(false);
    progress.requestStop('cancelled', 'no longer wanted', 7);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toEqual(new Error('no longer wanted'));
    expect(progress.stop).toEqual({ reason: 'cancelled', message: 'no longer wanted', at: 7 });
  });

  test('reaches a signal that is looked at only afterwards', () => {
    const progress = new RunInProgress(claimedRun(), 0);
    progress.requestStop('timed_out', 'too long', 7);
    expect(progress.signal.aborted).toBe(true);
  });

  test('counts the first time only', () => {
    const progress = new RunInProgress(claimedRun(), 0);
    progress.requestStop('returned', 'shutdown', 1);
    progress.requestStop('cancelled', 'cancel', 2);
    expect(progress.stop).toEqual({ reason: 'returned', message: 'shutdown', at: 1 });
  });
});

import type { JobId, RunFacts, RunId } from '@carillon/domain';
import { expect, test } from 'vitest';
import { logLines } from './run-story.ts';

const AT = Date.UTC(2030, 0, 1);
const RUN: RunFacts = {
  ...{
    runId: 'r' as RunId,
    jobId: 'j' as JobId,
    status: 'FAILED',
    attempt: 1,
    epoch: 1,
    trigger: 'schedule',
    isRepeat: false,
  },
  ...{
    scheduledAtMs: AT,
    createdAtMs: AT,
    startedAtMs: AT + 5,
    endedAtMs: AT + 1_505,
    modifiedAtMs: AT + 1_510,
  },
  ...{ executorId: 'w1', error: 'boom', reason: undefined, result: undefined, logUrl: undefined },
  ...{ jobVersion: 1, occurrences: 1, lateReport: undefined, requestReason: undefined, progress: undefined },
  ...{ peakMemoryBytes: undefined, cpuSeconds: undefined, spread: undefined, waitsFor: undefined },
};
const messages = (...runs: RunFacts[]) => logLines(runs).map(({ message }) => message);

test('a failed attempt and the one that follows are told in the order they happened', () => {
  const again: RunFacts = {
    ...RUN,
    ...{ status: 'SUCCESS', attempt: 2, epoch: 2, error: undefined, result: '{"ok":true}' },
    ...{ createdAtMs: AT + 5_000, startedAtMs: AT + 5_001, endedAtMs: AT + 5_011 },
  };
  expect(messages(again, RUN)).toEqual([
    'handed to worker w1',
    'attempt 1 started',
    'attempt 1 ended: FAILED after 1.5 s',
    'error: boom',
    'handed to worker w1',
    'attempt 2 started',
    'attempt 2 ended: SUCCESS after 0.01 s',
    'result: {"ok":true}',
  ]);
});

test('an attempt that was lost and the one that repeats it are told apart, also within one millisecond', () => {
  const lost: RunFacts = { ...RUN, status: 'LOST', error: 'the worker was lost' };
  const again: RunFacts = {
    ...RUN,
    ...{ status: 'RUNNING', epoch: 2, error: undefined },
    ...{ createdAtMs: lost.endedAtMs!, startedAtMs: lost.endedAtMs, endedAtMs: undefined },
  };
  const lines = logLines([again, lost]);
  expect(lines.map(({ epoch, message }) => `${epoch} ${message}`)).toEqual([
    '1 handed to worker w1',
    '1 attempt 1 started',
    '1 attempt 1 ended: LOST after 1.5 s',
    '1 error: the worker was lost',
    '2 handed to worker w1',
    '2 attempt 1 (again) started',
  ]);
});

test('what waits, runs or was skipped says so', () => {
  const none = { startedAtMs: undefined, endedAtMs: undefined, error: undefined, executorId: undefined };
  expect(messages({ ...RUN, ...none, status: 'QUEUED', waitsFor: { code: 'paused' } })).toEqual([
    'queued: the job is paused',
  ]);
  expect(messages({ ...RUN, ...none, status: 'SKIPPED', reason: 'misfire', occurrences: 3 })).toEqual([
    'skipped 3 occurrences: misfire',
  ]);
  expect(messages({ ...RUN, ...none, executorId: 'w1', startedAtMs: AT, status: 'RUNNING' })).toEqual([
    'handed to worker w1',
    'attempt 1 started',
  ]);
  expect(messages({ ...RUN, ...none, status: 'CANCELLED' })).toEqual(['attempt 1 ended: CANCELLED']);
});

test('a long result is cut', () => {
  const [line] = logLines([{ ...RUN, error: undefined, result: `"${'x'.repeat(2_000)}"` }]).slice(-1);
  expect(line!.message).toHaveLength('result: '.length + 501);
});

import type { BootId, NodeId, WorkerId } from '@carillon/domain';
import { beforeEach, expect, test } from 'vitest';
import type { WorkerState } from '../storage/member-store.ts';
import { SilenceWatch } from './silence-watch.ts';

const SILENT_MS = 15_000;
const PASS_MS = 1_000;

let watch: SilenceWatch;
let now: number;
beforeEach(() => {
  watch = new SilenceWatch(SILENT_MS);
  now = 1_000_000;
});

const worker = (lastSeenMs: number, over: Partial<WorkerState> = {}): WorkerState => ({
  workerId: 'worker' as WorkerId,
  nodeId: 'node' as NodeId,
  session: 0,
  incarnation: 1,
  bootId: 'boot' as BootId,
  slots: 1,
  draining: false,
  stuck: 0,
  lastSeenMs,
  alive: true,
  ...over,
});

const lookAt = (state: WorkerState, tookMs = 0) =>
  watch.observe({ workers: [state], askedAt: now, answeredAt: now + tookMs });

/** Looks every second; answers after how long the worker was named as silent. */
function lookUntilSilent(state: WorkerState): number {
  const startedAt = now;
  while (lookAt(state).length === 0) now += PASS_MS;
  return now - startedAt;
}

test('a heartbeat that has not changed for a whole period is silence, named as it was last heard', () => {
  expect(lookUntilSilent(worker(5))).toBe(SILENT_MS);
  expect(lookAt(worker(5))).toEqual([{ workerId: 'worker', lastSeenMs: 5 }]);
});

test('hazard 7: whatever instant a heartbeat names, a new one is a sign of life', () => {
  for (const lastSeenMs of [5, 3_600_005, -3_600_000, 6]) {
    lookAt(worker(lastSeenMs));
    for (let i = 0; i < 14; i += 1) {
      now += PASS_MS;
      expect(lookAt(worker(lastSeenMs))).toEqual([]);
    }
  }
});

test('hazard 7: a heartbeat from the future does not make a dead worker live for ever', () => {
  expect(lookUntilSilent(worker(now + 86_400_000))).toBe(SILENT_MS);
});

test('the dead are not named again', () => {
  lookUntilSilent(worker(5));
  expect(lookAt(worker(5, { alive: false }))).toEqual([]);
});

test('silence counts from the answer that showed the heartbeat to the question that found no other', () => {
  lookAt(worker(5), 4_000);
  now += SILENT_MS / 2;
  lookAt(worker(5));
  now += SILENT_MS / 2;
  expect(lookAt(worker(5))).toEqual([]);
  now += 4_000;
  expect(lookAt(worker(5))).toHaveLength(1);
});

test('whoever stood still himself begins to watch anew (hazard 28)', () => {
  lookAt(worker(5));
  now += 60_000;
  expect(lookUntilSilent(worker(5))).toBe(SILENT_MS);
});

test('after an outage all get a whole period', () => {
  lookUntilSilent(worker(5));
  watch.startOver();
  expect(lookUntilSilent(worker(5))).toBe(SILENT_MS);
});

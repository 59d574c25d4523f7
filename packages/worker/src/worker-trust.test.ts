/** The trust of a worker by both clocks of its machine: the monotonic one stands still while it is suspended, the other is set by people. */
import { ManualClock } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import { WorkerTrust } from './worker-trust.ts';

const TRUST_MS = 12_000;
const HOUR_MS = 3_600_000;

let clock: ManualClock;
let trust: WorkerTrust;
let doubts: number;

beforeEach(() => {
  clock = new ManualClock();
  doubts = 0;
  trust = new WorkerTrust(clock, {
    onDoubted: () => {
      doubts += 1;
    },
  });
  answered();
});

/** A beat that is sent now and answered at once. */
function answered(): void {
  trust.renew({ sentAt: clock.monotonic(), aheadMs: trust.aheadMs(), trustMs: TRUST_MS });
}

/** The machine sleeps: the monotonic clock stands still. */
const suspend = (ms: number) => clock.step(ms);

test('it lasts from when the beat was sent', () => {
  clock.advance(TRUST_MS - 1);
  expect(trust.state).toBe('given');
  clock.advance(1);
  expect(trust.state).toBe('over');
});

test('hazard 7: after the machine was suspended it is doubted at once, and until the next answered beat', () => {
  suspend(HOUR_MS);
  expect(trust.state).toBe('doubted');
  expect(doubts).toBe(1);
  clock.advance(1_000);
  expect(trust.state).toBe('doubted');
  expect(doubts).toBe(1);
  answered();
  expect(trust.state).toBe('given');
});

test('hazard 14: when no beat is answered within 5 s after that, it is over', () => {
  suspend(HOUR_MS);
  expect(trust.state).toBe('doubted');
  clock.advance(4_999);
  expect(trust.state).toBe('doubted');
  clock.advance(1);
  expect(trust.state).toBe('over');
});

test('doubt never lengthens it', () => {
  clock.advance(TRUST_MS - 1_000);
  suspend(HOUR_MS);
  expect(trust.state).toBe('doubted');
  clock.advance(1_000);
  expect(trust.state).toBe('over');
});

test('an answer to a beat that was sent before the machine was suspended ends no doubt', () => {
  const sent = { sentAt: clock.monotonic(), aheadMs: trust.aheadMs() };
  suspend(HOUR_MS);
  trust.renew({ ...sent, trustMs: TRUST_MS });
  expect(trust.state).toBe('doubted');
});

test.each([
  ['forward by 2 s', 2_000],
  ['back by an hour', -HOUR_MS],
])('a wall clock that is set %s makes no doubt', (_, byMs) => {
  clock.step(byMs);
  expect(trust.state).toBe('given');
  expect(doubts).toBe(0);
});

test('a wall clock that is set forward costs one beat', () => {
  clock.step(HOUR_MS);
  expect(trust.state).toBe('doubted');
  answered();
  clock.advance(TRUST_MS - 1);
  expect(trust.state).toBe('given');
  expect(doubts).toBe(1);
});

test('who watches it is told of the doubt, and how long is left', () => {
  let leftMs = 0;
  trust.onChanged(() => {
    leftMs = trust.leftMs();
  });
  suspend(HOUR_MS);
  expect(trust.state).toBe('doubted');
  expect(leftMs).toBe(5_000 + TRUST_MS / 6);
});

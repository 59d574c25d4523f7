import { ManualClock } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import { RestartPause } from './restart-pause.ts';

let clock: ManualClock;
let pause: RestartPause;

beforeEach(() => {
  clock = new ManualClock();
  pause = new RestartPause({ clock });
});

const next = (count: number) => Array.from({ length: count }, () => pause.next());
const GROWING = [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000];

test('is none at first, and doubles up to 10 s while PostgreSQL does not start', () => {
  expect(next(9)).toEqual(GROWING);
});

test('goes on growing where PostgreSQL starts and dies soon', () => {
  const pauses = GROWING.map(() => {
    const pauseMs = pause.next();
    pause.started();
    clock.advance(59_000);
    pause.died();
    return pauseMs;
  });
  expect(pauses).toEqual(GROWING);
});

test('begins anew after PostgreSQL has run for a minute', () => {
  next(9);
  pause.started();
  clock.advance(60_000);
  pause.died();
  expect(next(9)).toEqual(GROWING);
});

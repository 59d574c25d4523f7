/** The promises of ScheduleStore, as tests that every adapter passes. */
import { describe } from 'vitest';
import { describeScheduleAdmit } from './schedule-admit.conformance.ts';
import { describeScheduleFire } from './schedule-fire.conformance.ts';
import { describeScheduleRead } from './schedule-read.conformance.ts';
import type { MakeStorage } from './storage-under-test.ts';

export function describeScheduleStore(makeStorage: MakeStorage): void {
  describe('schedule store: read', () => describeScheduleRead(makeStorage));
  describe('schedule store: fire', () => describeScheduleFire(makeStorage));
  describe('schedule store: admit', () => describeScheduleAdmit(makeStorage));
}

import { describe, expect, it } from 'vitest';
import type { JobId } from '../ids.ts';
import { fireTime } from '../schedule/fire-time.ts';
import { DEFAULT_DAYLIGHT_SAVING, type Schedule } from '../schedule/schedule.ts';
import { EPOCHS_PER_GENERATION_BITS } from './first-epoch.ts';
import { type StartFacts, startDelayMs } from './start-delay.ts';

const AT_MS = Date.UTC(2030, 0, 1);
const JOB_ID = '01900000-0000-7000-8000-000000000001' as JobId;
const HOURLY: Schedule = {
  type: 'CRON',
  expression: '0 * * * *',
  zone: 'UTC',
  daylightSaving: DEFAULT_DAYLIGHT_SAVING,
  spreadMs: 30 * 60_000,
};
const delayOf = (over: Partial<StartFacts> = {}) =>
  startDelayMs({
    ...{ jobId: JOB_ID, trigger: 'schedule', attempt: 1, scheduledAtMs: AT_MS, startedAtMs: AT_MS + 7 },
    ...{ epoch: 1, schedule: undefined, isRepeat: false },
    ...over,
  });

describe('the start delay', () => {
  it('is measured from the instant to the start', () => {
    expect(delayOf()).toBe(7);
    expect(delayOf({ trigger: 'manual' })).toBe(7);
    expect(delayOf({ startedAtMs: AT_MS - 1 })).toBe(0);
  });

  it('is not measured of a retry, of a run that stands for an earlier one, and before the start', () => {
    expect(delayOf({ attempt: 2 })).toBeUndefined();
    expect(delayOf({ trigger: 'redrive', isRepeat: true })).toBeUndefined();
    expect(delayOf({ trigger: 'manual', isRepeat: true })).toBeUndefined();
    expect(delayOf({ startedAtMs: undefined })).toBeUndefined();
  });

  it('is not measured of a run that was handed out before, as of one that was taken over from a lost worker', () => {
    expect(delayOf({ epoch: 2 })).toBeUndefined();
  });

  it('is measured after a restore, from where on epochs count from a higher number', () => {
    const restored = 3 * 2 ** EPOCHS_PER_GENERATION_BITS;
    expect(delayOf({ epoch: restored })).toBe(7);
    expect(delayOf({ epoch: restored + 1 })).toBeUndefined();
  });

  it('leaves out the share of the spread, which what a person asks for does not have', () => {
    const shareMs = fireTime({ schedule: HOURLY, jobId: JOB_ID, nominalMs: AT_MS }) - AT_MS;
    expect(shareMs).toBeGreaterThan(0);
    const startedAtMs = AT_MS + shareMs + 3;
    expect(delayOf({ schedule: HOURLY, startedAtMs })).toBe(3);
    expect(delayOf({ schedule: HOURLY, startedAtMs, trigger: 'manual' })).toBe(shareMs + 3);
  });
});

import { describe, expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import { fireTime } from './fire-time.ts';
import { at, cron, iso } from './schedule-arbitraries.ts';
import {
  addSkip,
  firstUnskipped,
  isSkippedBy,
  nextUnskipped,
  removeSkip,
  SKIPS_MAX,
  type SkippedFire,
  type SkipRequest,
  skippedBy,
  skipsAhead,
} from './skipped-fires.ts';

const JOB_ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const HOUR_MS = 3_600_000;
const daily = cron('0 9 * * *');
const NOW = at('2030-01-01T08:00Z');

const skip = (instant: string, by = 'ada'): SkippedFire => ({ atMs: at(instant), by, skippedAtMs: NOW });
const request = (instant: string, over: Partial<SkipRequest> = {}): SkipRequest => ({
  ...{ jobId: JOB_ID, schedule: daily, skips: undefined, atMs: at(instant), nowMs: NOW },
  plannedMs: at('2030-01-01T09:00Z'),
  ...over,
});
const add = (instant: string, over: Partial<SkipRequest> = {}) =>
  addSkip({ ...request(instant, over), by: 'ada' });

function refusalOf(work: () => unknown): { code: string; message: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('it was not refused');
}

describe('skipping a fire', () => {
  test('keeps who did it and when, in the order of the fires, and drops what has passed', () => {
    const old = skip('2029-12-31T09:00Z');
    const later = skip('2030-01-03T09:00Z', 'bob');
    expect(add('2030-01-02T09:00Z', { skips: [old, later] })).toEqual([
      { ...skip('2030-01-02T09:00Z'), nextMs: at('2030-01-03T09:00Z') },
      later,
    ]);
  });

  test('again changes nothing, and the first who did it stays', () => {
    expect(add('2030-01-02T09:00Z', { skips: [skip('2030-01-02T09:00Z', 'bob')] })).toBeUndefined();
  });

  test('of an instant at which it does not fire is refused with the next ones', () => {
    const { code, message } = refusalOf(() => add('2030-01-02T10:00Z'));
    expect(code).toBe('fire_not_found');
    expect(message).toBe(
      `2030-01-02T10:00:00.000Z is no coming fire of the job ${JOB_ID}. The next ones are 2030-01-01T09:00:00.000Z, 2030-01-02T09:00:00.000Z, 2030-01-03T09:00:00.000Z.`,
    );
  });

  test('that has fired or is due is refused', () => {
    expect(refusalOf(() => add('2029-12-31T09:00Z')).code).toBe('fire_passed');
    const due = { nowMs: at('2030-01-01T09:00Z') };
    expect(refusalOf(() => add('2030-01-01T09:00Z', due)).code).toBe('fire_passed');
    // It has fired, though the clock was set back since.
    const moved = { plannedMs: at('2030-01-02T09:00Z') };
    expect(refusalOf(() => add('2030-01-01T09:00Z', moved)).code).toBe('fire_passed');
    const ended = refusalOf(() => add('2030-01-01T09:00Z', { plannedMs: undefined }));
    expect(ended.message).toContain('None lies ahead.');
  });

  test('is possible until its share of the spread has passed', () => {
    const schedule = cron('0 9 * * *', 'UTC', { spreadMs: HOUR_MS });
    const nominalMs = at('2030-01-01T09:00Z');
    const fireMs = fireTime({ schedule, jobId: JOB_ID, nominalMs });
    expect(fireMs).toBeGreaterThan(nominalMs);
    expect(add('2030-01-01T09:00Z', { schedule, nowMs: fireMs - 1 })).toHaveLength(1);
    expect(refusalOf(() => add('2030-01-01T09:00Z', { schedule, nowMs: fireMs })).code).toBe('fire_passed');
  });

  test('of a job that runs once is refused', () => {
    const schedule = { type: 'FUTURE', atMs: at('2030-01-01T09:00Z') } as const;
    expect(refusalOf(() => add('2030-01-01T09:00Z', { schedule })).code).toBe('job_not_recurring');
  });

  test('is bounded', () => {
    const hourly = cron('0 * * * *');
    const skips = Array.from({ length: SKIPS_MAX }, (_, i) => ({
      ...{ atMs: at('2030-01-01T09:00Z') + i * HOUR_MS, by: 'ada', skippedAtMs: NOW },
    }));
    const over = { schedule: hourly, skips };
    expect(refusalOf(() => add('2030-02-01T09:00Z', over)).code).toBe('skips_full');
    expect(add('2030-01-01T09:00Z', over)).toBeUndefined();
  });
});

describe('taking a skip back', () => {
  const skips = [skip('2030-01-01T09:00Z'), skip('2030-01-02T09:00Z')];

  test('leaves the others, and changes nothing where there is none', () => {
    expect(removeSkip(request('2030-01-01T09:00Z', { skips }))).toEqual([skips[1]]);
    expect(removeSkip(request('2030-01-03T09:00Z', { skips }))).toBeUndefined();
  });

  test('is refused once the fire is due', () => {
    const due = request('2030-01-01T09:00Z', { skips, nowMs: at('2030-01-01T09:00Z') });
    expect(refusalOf(() => removeSkip(due)).code).toBe('fire_passed');
  });
});

test('the next fire is the first that nobody has skipped', () => {
  const skips = [skip('2030-01-01T09:00Z'), skip('2030-01-02T09:00Z'), skip('2030-01-04T09:00Z')];
  expect(iso([nextUnskipped(daily, NOW, skips)!])).toEqual(['2030-01-03T09:00Z']);
  expect(iso([nextUnskipped(daily, NOW)!])).toEqual(['2030-01-01T09:00Z']);
  const ending = cron('0 9 * * *', 'UTC', { endMs: at('2030-01-02T12:00Z') });
  expect(nextUnskipped(ending, NOW, skips)).toBeUndefined();
});

describe('what a skip knows of the fire after it', () => {
  /** Throws when it is asked for an instant. */
  const unasked = new Proxy(daily, {
    get: () => {
      throw new Error('the schedule was asked');
    },
  });
  const days = Array.from({ length: SKIPS_MAX }, (_, i) => at('2030-01-01T09:00Z') + i * 24 * HOUR_MS);
  const hundred = days.reduce<readonly SkippedFire[] | undefined>(
    (skips, atMs) => addSkip({ ...request('2030-01-01T09:00Z', { skips }), atMs, by: 'ada' }),
    undefined,
  );

  test('answers for the next run without a question to the schedule for each', () => {
    const firstMs = days[0]!;
    expect(iso([firstUnskipped(unasked, firstMs, hundred)!])).toEqual(['2030-04-11T09:00Z']);
    expect(firstUnskipped(unasked, firstMs + HOUR_MS, hundred)).toBe(firstMs + HOUR_MS);
  });

  test('is none where the schedule ends with it', () => {
    const ending = { ...daily, endMs: at('2030-01-01T09:00Z') };
    const skips = addSkip({ ...request('2030-01-01T09:00Z', { schedule: ending }), by: 'ada' });
    expect(firstUnskipped(unasked, at('2030-01-01T09:00Z'), skips)).toBeUndefined();
  });

  test('is that of a new schedule once the job has one', () => {
    const weekly = cron('0 9 * * TUE');
    const kept = skipsAhead(weekly, hundred, NOW);
    expect(kept).toHaveLength(15);
    expect(iso([firstUnskipped(unasked, kept![0]!.atMs, kept)!])).toEqual(['2030-04-16T09:00Z']);
  });

  test('is asked of the schedule where it is not kept', () => {
    const old = [skip('2030-01-01T09:00Z'), skip('2030-01-02T09:00Z')];
    expect(iso([firstUnskipped(daily, at('2030-01-01T09:00Z'), old)!])).toEqual(['2030-01-03T09:00Z']);
  });
});

test('a new schedule keeps the skips of instants that it has, too', () => {
  const skips = [skip('2030-01-01T09:00Z'), skip('2030-01-02T09:00Z')];
  expect(skipsAhead(cron('0 9 2 * *'), skips, at('2030-01-02T09:00Z'))).toEqual([
    { ...skips[1], nextMs: at('2030-02-02T09:00Z') },
  ]);
  expect(skipsAhead(cron('0 10 * * *'), skips, at('2030-01-01T10:00Z'))).toBeUndefined();
  expect(skipsAhead({ type: 'IMMEDIATE' }, skips, NOW)).toBeUndefined();
});

test('a new schedule keeps the skip of the instant that it stands at, whether it has it or not', () => {
  const skips = [skip('2029-12-31T09:00Z'), skip('2030-01-01T09:00Z'), skip('2030-01-02T09:00Z')];
  expect(skipsAhead(cron('0 10 * * *'), skips, at('2030-01-01T09:00Z'))).toEqual([
    { ...skips[1], nextMs: at('2030-01-01T10:00Z') },
  ]);
  expect(skipsAhead(daily, skips, at('2030-01-01T09:00Z'))).toEqual([
    { ...skips[1], nextMs: at('2030-01-02T09:00Z') },
    { ...skips[2], nextMs: at('2030-01-03T09:00Z') },
  ]);
});

test('the ledger names who skipped it', () => {
  expect(skippedBy({ by: 'ada' })).toBe('skipped by ada');
  expect(isSkippedBy('skipped by ada')).toBe(true);
  expect(isSkippedBy('misfire')).toBe(false);
  expect(isSkippedBy(undefined)).toBe(false);
});

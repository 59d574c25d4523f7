/** Fires that a person has skipped, among those that are due: they have a verdict of their own, and nothing makes up for them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextFire, nextFires } from './next-fires.ts';
import { planFires } from './plan-fires.ts';
import { DEFAULT_MISFIRE, type MisfirePolicy } from './schedule.ts';
import { at, cron } from './schedule-arbitraries.ts';
import type { SkippedFire } from './skipped-fires.ts';

const JOB_ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const HOUR_MS = 3_600_000;
const none: MisfirePolicy = { ...DEFAULT_MISFIRE, kind: 'none' };
const last: MisfirePolicy = DEFAULT_MISFIRE;
const all: MisfirePolicy = { kind: 'all', maxRuns: 10, windowMs: 24 * HOUR_MS };
const hourly = cron('0 * * * *');

const skip = (atMs: number, by = 'ada'): SkippedFire => ({ atMs, by, skippedAtMs: 0 });
const verdict = (atMs: number, by = 'ada') => ({
  ...{ reason: `skipped by ${by}`, fromMs: atMs, toMs: atMs, count: 1, exact: true },
});

function plan(
  misfire: MisfirePolicy,
  { skips, now, resumedAt }: { skips: readonly string[]; now: string; resumedAt?: string },
) {
  return planFires({
    ...{ schedule: hourly, misfire, jobId: JOB_ID, cursorMs: at('2030-01-01T10:00Z'), nowMs: at(now) },
    skips: skips.map((instant) => skip(at(instant))),
    resumedAtMs: resumedAt === undefined ? undefined : at(resumedAt),
  });
}

describe('a fire that a person has skipped', () => {
  test('does not run at its instant, and the schedule goes on after it', () => {
    for (const policy of [none, last, all])
      expect(plan(policy, { skips: ['2030-01-01T10:00Z'], now: '2030-01-01T10:00Z' })).toEqual({
        ...{ run: [], skipped: [verdict(at('2030-01-01T10:00Z'))], nextMs: at('2030-01-01T11:00Z') },
      });
  });

  test('has no verdict before it is due', () => {
    const planned = plan(last, { skips: ['2030-01-01T10:00Z'], now: '2030-01-01T09:59Z' });
    expect(planned).toEqual({ run: [], skipped: [], nextMs: at('2030-01-01T10:00Z') });
    const later = plan(last, { skips: ['2030-01-01T11:00Z'], now: '2030-01-01T10:00Z' });
    expect(later).toEqual({ run: [at('2030-01-01T10:00Z')], skipped: [], nextMs: at('2030-01-01T11:00Z') });
  });

  test('is not caught up after an outage; the last of the others is', () => {
    const outage = { skips: ['2030-01-01T11:00Z', '2030-01-01T13:00Z'], now: '2030-01-01T13:30Z' };
    const missed = (fromMs: number) => ({ reason: 'misfire', fromMs, toMs: fromMs, count: 1, exact: true });
    expect(plan(last, outage)).toEqual({
      run: [at('2030-01-01T12:00Z')],
      skipped: [
        missed(at('2030-01-01T10:00Z')),
        verdict(at('2030-01-01T11:00Z')),
        verdict(at('2030-01-01T13:00Z')),
      ],
      nextMs: at('2030-01-01T14:00Z'),
    });
    expect(plan(all, outage).run).toEqual([at('2030-01-01T10:00Z'), at('2030-01-01T12:00Z')]);
    expect(plan(none, outage).skipped).toEqual([
      missed(at('2030-01-01T10:00Z')),
      verdict(at('2030-01-01T11:00Z')),
      missed(at('2030-01-01T12:00Z')),
      verdict(at('2030-01-01T13:00Z')),
    ]);
  });

  test('keeps its own verdict when it falls into a pause', () => {
    const paused = { skips: ['2030-01-01T11:00Z'], now: '2030-01-01T12:30Z', resumedAt: '2030-01-01T12:30Z' };
    expect(plan(last, paused).skipped).toMatchObject([
      { reason: 'paused', fromMs: at('2030-01-01T10:00Z'), count: 1 },
      { reason: 'skipped by ada', fromMs: at('2030-01-01T11:00Z'), count: 1 },
      { reason: 'paused', fromMs: at('2030-01-01T12:00Z'), count: 1 },
    ]);
  });

  test('ends a schedule as its last occurrence', () => {
    const schedule = cron('0 * * * *', 'UTC', { endMs: at('2030-01-01T10:30Z') });
    const cursorMs = at('2030-01-01T10:00Z');
    const options = { schedule, misfire: last, jobId: JOB_ID, cursorMs, nowMs: cursorMs };
    expect(planFires({ ...options, skips: [skip(cursorMs)] })).toEqual({
      ...{ run: [], skipped: [verdict(cursorMs)], nextMs: undefined },
    });
  });
});

test('every due instant gets exactly one verdict, whatever was skipped', () => {
  const policies = fc.constantFrom(none, last, all, { ...all, maxRuns: 2 });
  fc.assert(
    fc.property(
      policies,
      fc.constantFrom(hourly, cron('*/7 * * * *'), cron('0 * * * *', 'UTC', { spreadMs: 1_200_000 })),
      fc.integer({ min: 0, max: 12 * HOUR_MS }),
      fc.array(fc.integer({ min: 0, max: 90 }), { maxLength: 8 }),
      fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
      (misfire, schedule, lateMs, chosen, resumedAt) => {
        const cursorMs = nextFire(schedule, at('2030-01-01T10:00Z'))!;
        const nowMs = cursorMs + lateMs;
        const fires = [cursorMs, ...nextFires(schedule, cursorMs, 120)];
        const skipped = [...new Set(chosen)].map((index) => fires[index]!).sort((a, b) => a - b);
        const planned = planFires({
          ...{ schedule, misfire, jobId: JOB_ID, cursorMs, nowMs, skips: skipped.map((ms) => skip(ms)) },
          resumedAtMs: resumedAt === undefined ? undefined : cursorMs + Math.round(resumedAt * lateMs),
        });
        const due = fires.filter((ms) => ms < planned.nextMs!);
        const left = planned.skipped.flatMap(({ fromMs, toMs, count }) => {
          const inRange = due.filter((ms) => ms >= fromMs && ms <= toMs);
          expect(inRange).toHaveLength(count);
          return inRange;
        });
        expect([...left, ...planned.run].sort((a, b) => a - b)).toEqual(due);
        const byPeople = planned.skipped.filter(({ reason }) => reason === 'skipped by ada');
        expect(byPeople.map(({ fromMs }) => fromMs)).toEqual(skipped.filter((ms) => ms < planned.nextMs!));
      },
    ),
    { numRuns: 300 },
  );
});

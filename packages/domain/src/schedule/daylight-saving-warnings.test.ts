import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, MAX_INSTANT_MS } from './civil-date.ts';
import { daylightSavingWarnings, localText } from './daylight-saving-warnings.ts';
import { nextFires } from './next-fires.ts';
import {
  type CronSchedule,
  type DaylightSavingPolicy,
  DEFAULT_DAYLIGHT_SAVING,
  type RecurringSchedule,
} from './schedule.ts';
import { anyInstant, anyPolicy, anyZone, cron, every, offsetsRead } from './schedule-arbitraries.ts';
import { segmentAt } from './zone-segments.ts';

const PARIS: CronSchedule = {
  type: 'CRON',
  expression: '30 2 * * *',
  zone: 'Europe/Paris',
  daylightSaving: DEFAULT_DAYLIGHT_SAVING,
  spreadMs: 0,
};
const YEAR_2027 = { afterMs: Date.UTC(2027, 0, 1), untilMs: Date.UTC(2028, 0, 1) };

describe('warnings of daylight saving', () => {
  test('a time in the missing hour is moved, and one in the repeated hour runs once', () => {
    expect(daylightSavingWarnings(PARIS, YEAR_2027)).toEqual([
      {
        kind: 'gap',
        atMs: Date.UTC(2027, 2, 28, 1),
        message:
          'The clock goes forward in Europe/Paris on 2027-03-28 and skips a planned time: it runs right after the gap, at 03:00 (+02:00).',
      },
      {
        kind: 'overlap',
        atMs: Date.UTC(2027, 9, 31, 1),
        message:
          'The clock goes back in Europe/Paris on 2027-10-31 and shows a planned time twice: it runs the first time only.',
      },
    ]);
  });

  test('the words follow the policy', () => {
    const skipping = { ...PARIS, daylightSaving: { gap: 'skip', overlap: 'both' } } as const;
    expect(daylightSavingWarnings(skipping, YEAR_2027).map(({ message }) => message.split(': ')[1])).toEqual([
      'it is left out that day.',
      'it runs both times.',
    ]);
  });

  test('a time outside those hours, a rhythm, and a zone without changes get none', () => {
    expect(daylightSavingWarnings({ ...PARIS, expression: '0 9 * * *' }, YEAR_2027)).toEqual([]);
    expect(daylightSavingWarnings({ ...PARIS, expression: '*/10 * * * *' }, YEAR_2027)).toEqual([]);
    expect(daylightSavingWarnings({ ...PARIS, zone: 'UTC' }, YEAR_2027)).toEqual([]);
    expect(daylightSavingWarnings({ type: 'FUTURE', atMs: YEAR_2027.afterMs }, YEAR_2027)).toEqual([]);
  });

  test('local times carry their offset, west of Greenwich too', () => {
    expect(localText('America/St_Johns', Date.UTC(2027, 0, 1))).toBe('2026-12-31T20:30:00-03:30');
    expect(localText('UTC', Date.UTC(2027, 0, 1))).toBe('2027-01-01T00:00:00+00:00');
  });
});

/** Looks at every change of the clock, and asks for the fires under each policy one by one. */
function changeByChange(
  schedule: RecurringSchedule,
  { afterMs, untilMs }: { afterMs: number; untilMs: number },
): string[] {
  const found: string[] = [];
  const fires = (policy: Partial<DaylightSavingPolicy>, fromMs: number, toMs: number) => {
    const asked = { ...schedule, daylightSaving: { ...schedule.daylightSaving, ...policy } };
    return nextFires(asked, fromMs - 1, 200).filter((ms) => ms < toMs).length;
  };
  for (let segment = segmentAt(schedule.zone, afterMs); segment.toMs <= untilMs; ) {
    const { toMs: atMs, offsetMs, nextOffsetMs } = segment;
    const lengthMs = Math.abs(nextOffsetMs - offsetMs);
    const [fromMs, toMs] = [atMs - lengthMs, atMs + lengthMs];
    if (
      nextOffsetMs > offsetMs &&
      fires({ gap: 'run_after' }, atMs, atMs + 1) > fires({ gap: 'skip' }, atMs, atMs + 1)
    )
      found.push(`gap ${atMs}`);
    if (
      nextOffsetMs < offsetMs &&
      fires({ overlap: 'both' }, fromMs, toMs) > fires({ overlap: 'first' }, fromMs, toMs)
    )
      found.push(`overlap ${atMs}`);
    segment = segmentAt(schedule.zone, atMs);
  }
  return found;
}

describe('warnings for any schedule', () => {
  const anySchedule: fc.Arbitrary<RecurringSchedule> = fc
    .tuple(
      fc.oneof(
        fc
          .constantFrom(
            '30 2 * * *',
            '*/20 0-3 * * 0',
            '30 2 * 3 0L',
            '30 2 * 10 0L',
            '0 2 29 2 *',
            '15 0 1 4,10 *',
          )
          .map((expression) => cron(expression)),
        fc
          .constantFrom('day' as const, 'week' as const, 'month' as const)
          .map((unit) => every({ kind: 'calendar', unit, every: 1 }, '1999-10-31T00:30Z')),
      ),
      anyZone,
      anyPolicy,
    )
    .map(([schedule, zone, daylightSaving]) => ({ ...schedule, zone, daylightSaving }));

  test('are those found by looking at every change of the clock for ten years', () => {
    fc.assert(
      fc.property(anySchedule, anyInstant, (schedule, afterMs) => {
        const range = { afterMs, untilMs: Math.min(afterMs + 3_653 * DAY_MS, MAX_INSTANT_MS) };
        const found = daylightSavingWarnings(schedule, range).map(({ kind, atMs }) => `${kind} ${atMs}`);
        expect(found).toEqual(changeByChange(schedule, range));
      }),
      { numRuns: 100 },
    );
  });

  test('ask for offsets around the fires of a rare schedule only', () => {
    const leapDays = cron('30 2 29 2 *', 'Europe/Andorra');
    const reads = offsetsRead(() => {
      expect(daylightSavingWarnings(leapDays, { afterMs: 0, untilMs: MAX_INSTANT_MS })).toEqual([]);
    });
    // 32 fires, each with two buckets and the one change of the clock that they may hold.
    expect(reads).toBeLessThanOrEqual(32 * (2 * 10 + 20));
  });
});

/** What the tests of this folder draw from: zones, instants, cron expressions, and short ways to write schedules. */
import fc from 'fast-check';
import type { CronRule } from './cron-rule.ts';
import type { CronSchedule, DaylightSavingPolicy, Interval, IntervalSchedule } from './schedule.ts';
import { DEFAULT_DAYLIGHT_SAVING } from './schedule.ts';
import { segmentAt } from './zone-segments.ts';

export const ALL_ZONES: readonly string[] = Intl.supportedValuesOf('timeZone');
/** Zones whose clocks do what others never do: half-hour jumps, lost days, negative or interrupted daylight saving. */
export const ODD_ZONES: readonly string[] = [
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Casablanca',
  'Asia/Gaza',
  'Europe/Dublin',
  'Pacific/Kwajalein',
  'Africa/Monrovia',
  'America/Caracas',
  'Asia/Pyongyang',
  'Antarctica/Troll',
  'Asia/Kathmandu',
];

export const anyZone = fc.oneof(fc.constantFrom(...ALL_ZONES), fc.constantFrom(...ODD_ZONES));
export const anyInstant = fc
  .integer({ min: 0, max: Date.UTC(2099, 0, 1) / 1_000 })
  .map((second) => second * 1_000);
export const anyPolicy: fc.Arbitrary<DaylightSavingPolicy> = fc.record({
  gap: fc.constantFrom('run_after' as const, 'skip' as const),
  overlap: fc.constantFrom('first' as const, 'second' as const, 'both' as const),
});

/** A zone and the instant at which its offset changes. */
export const anyTransition = fc
  .tuple(anyZone, anyInstant)
  .map(([zone, instantMs]) => ({ zone, changeMs: nextChange(zone, instantMs) }))
  .filter((found): found is { zone: string; changeMs: number } => found.changeMs !== undefined);

const YEARS_MS = 2 * 366 * 86_400_000;

function nextChange(zone: string, fromMs: number): number | undefined {
  let segment = segmentAt(zone, fromMs);
  for (const untilMs = fromMs + YEARS_MS; segment.fromMs < untilMs; ) {
    if (segment.nextOffsetMs !== segment.offsetMs) return segment.toMs;
    segment = segmentAt(zone, segment.toMs);
  }
  return undefined;
}

const field = (min: number, max: number) =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min, max }).map(String),
    fc.integer({ min: 2, max: Math.floor((max - min) / 2) }).map((step) => `*/${step}`),
    fc
      .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
      .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.uniqueArray(fc.integer({ min, max }), { minLength: 2, maxLength: 4 }).map((list) => list.join(',')),
  );

const minute = field(0, 59);
const hour = field(0, 23);
const monthDay = fc.oneof(
  { weight: 3, arbitrary: fc.constant('*') },
  { weight: 2, arbitrary: field(1, 28) },
  { weight: 1, arbitrary: fc.constantFrom('L', '31', '15W', '1W', '30,31', 'LW', '29') },
);
const month = fc.oneof({ weight: 3, arbitrary: fc.constant('*') }, { weight: 1, arbitrary: field(1, 12) });
const weekday = fc.oneof(
  { weight: 3, arbitrary: fc.constant('*') },
  { weight: 2, arbitrary: field(0, 6) },
  { weight: 1, arbitrary: fc.constantFrom('MON-FRI', '5L', '2#1', '1#5', 'FRI-SUN', '7', 'SAT,SUN') },
);

/** Five fields, minutes precise. Nearly all of them have dates; the callers skip those that have none. */
export const anyCron = fc.tuple(minute, hour, monthDay, month, weekday).map((fields) => fields.join(' '));

/** A rule that counts for how many months its days were worked out. */
export function countingRule(rule: CronRule): { rule: CronRule; monthsLookedAt: () => number } {
  let count = 0;
  const counting: CronRule = {
    ...rule,
    get monthDays() {
      count += 1;
      return rule.monthDays;
    },
  };
  return { rule: counting, monthsLookedAt: () => count };
}

export function cron(expression: string, zone = 'UTC', more: Partial<CronSchedule> = {}): CronSchedule {
  return { type: 'CRON', expression, zone, daylightSaving: DEFAULT_DAYLIGHT_SAVING, spreadMs: 0, ...more };
}

export function every(
  interval: Interval,
  anchor: string,
  zone = 'UTC',
  more: Partial<IntervalSchedule> = {},
): IntervalSchedule {
  const anchorMs = at(anchor);
  return {
    type: 'INTERVAL',
    interval,
    anchorMs,
    zone,
    daylightSaving: DEFAULT_DAYLIGHT_SAVING,
    spreadMs: 0,
    ...more,
  };
}

export function at(iso: string): number {
  const instantMs = Date.parse(iso);
  if (Number.isNaN(instantMs)) throw new Error(`Not a time: ${iso}`);
  return instantMs;
}

export function iso(instants: readonly number[]): string[] {
  return instants.map((instantMs) => new Date(instantMs).toISOString().replace(':00.000Z', 'Z'));
}

/** How often Intl was asked for the local time of an instant while this was done. */
export function offsetsRead(work: () => void): number {
  const { prototype } = Intl.DateTimeFormat;
  const format = Object.getOwnPropertyDescriptor(prototype, 'format')!;
  let count = 0;
  const counting = {
    get(this: Intl.DateTimeFormat) {
      count += 1;
      return format.get!.call(this);
    },
  };
  Object.defineProperty(prototype, 'format', { ...format, ...counting });
  try {
    work();
  } finally {
    Object.defineProperty(prototype, 'format', format);
  }
  return count;
}

/**
 * The coming fires of a schedule, day by day: the weeks of a month, how often it fires on each day in its zone, and the times of the first
 * of them. Of a schedule that fires very often only the numbers are known.
 */
import { isCarillonError, type PreviewRequest, type SchedulePreview } from '@carillon/client';
import { dayKey, offset } from '../../ui/time.ts';

/** What the server answers at most in one preview, and over how many days. */
const FIRES_MAX = 100;
const DAYS_MAX = 42;
const DAY_MS = 86_400_000;

/** The weeks of a month from Monday on, with the days of other months that fill them: `2026-11` and `2026-11-01`. */
export function weeksOf(month: string): string[][] {
  const first = new Date(`${month}-01T00:00:00Z`);
  const lead = (first.getUTCDay() + 6) % 7;
  const start = first.getTime() - lead * DAY_MS;
  const next = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1)).getTime();
  const weeks = Math.ceil((next - start) / (7 * DAY_MS));
  return Array.from({ length: weeks }, (_, week) =>
    Array.from({ length: 7 }, (_, day) => keyOf(start + (week * 7 + day) * DAY_MS)),
  );
}

function keyOf(utcMs: number): string {
  return new Date(utcMs).toISOString().slice(0, 10);
}

export function monthAfter(month: string, months: number): string {
  const first = new Date(`${month}-01T00:00:00Z`);
  return new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + months, 1))
    .toISOString()
    .slice(0, 7);
}

export function isMonth(text: string | undefined): text is string {
  return text !== undefined && /^[12]\d{3}-(0[1-9]|1[0-2])$/.test(text);
}

/** The first instant of a day in the zone. */
export function dayStartMs(day: string, zone: string): number {
  const utcMs = Date.parse(`${day}T00:00:00Z`);
  // The offset of a day can only be asked for at an instant: that of the first guess leads to the right one.
  return utcMs - offsetMs(utcMs - offsetMs(utcMs, zone), zone);
}

function offsetMs(atMs: number, zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d+):(\d+)/.exec(offset(new Date(atMs), zone)) ?? [];
  const size = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return sign === '-' ? -size : size;
}

export interface Fires {
  readonly fires: readonly string[];
  readonly perDay: ReadonlyMap<string, number>;
  readonly warnings: SchedulePreview['warnings'];
  /** Of those in fires: what a person has skipped. */
  readonly skipped: ReadonlySet<string>;
  readonly others: SchedulePreview['others_at'];
}

export const NO_FIRES: Fires = {
  ...{ fires: [], perDay: new Map(), warnings: [], skipped: new Set<string>(), others: [] },
};

export async function readFires(
  preview: (request: PreviewRequest) => Promise<SchedulePreview>,
  { schedule, fromMs, toMs }: { schedule: PreviewRequest; fromMs: number; toMs: number },
): Promise<Fires> {
  // A month in which clocks go back is an hour longer than the server looks ahead.
  const untilMs = Math.min(toMs, fromMs + DAYS_MAX * DAY_MS);
  const range = { after: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString() };
  try {
    const answer = await preview({ ...schedule, ...range, count: FIRES_MAX });
    const { fires, per_day: days, warnings, others_at: others } = answer;
    return {
      fires: fires.map(({ at }) => at),
      perDay: new Map(days.filter(({ count }) => count > 0).map(({ date, count }) => [date, count])),
      warnings,
      skipped: new Set(fires.filter(({ skipped_by: by }) => by !== null).map(({ at }) => at)),
      others,
    };
  } catch (error) {
    if (isCarillonError(error, 'schedule_never_fires')) return NO_FIRES;
    throw error;
  }
}

export function byDay(instants: readonly string[], zone: string): ReadonlyMap<string, readonly string[]> {
  const days = new Map<string, string[]>();
  for (const at of instants) {
    const key = dayKey(new Date(at), zone);
    const known = days.get(key);
    if (known) known.push(at);
    else days.set(key, [at]);
  }
  return days;
}

/**
 * What changes of the clock do to a schedule: occurrences whose wall-clock time does not exist or exists twice, and what
 * becomes of them by its policy. Found by asking the schedule itself under each policy, so the words cannot disagree with
 * what will happen; a rhythm that no policy changes gets no warning.
 */
import { nextFire } from './next-fires.ts';
import { type DaylightSavingPolicy, isRecurring, type RecurringSchedule, type Schedule } from './schedule.ts';
import { toLocal } from './wall-clock.ts';
import { segmentAt } from './zone-segments.ts';

export interface DaylightSavingWarning {
  readonly kind: 'gap' | 'overlap';
  /** The instant at which the clock changes. */
  readonly atMs: number;
  readonly message: string;
}

/** Clocks change twice a year, and four times in a few places: this covers a decade of any of them. */
const CHANGES_MAX = 64;

export function daylightSavingWarnings(
  schedule: Schedule,
  { afterMs, untilMs }: { afterMs: number; untilMs: number },
): DaylightSavingWarning[] {
  if (!isRecurring(schedule)) return [];
  const warnings: DaylightSavingWarning[] = [];
  let segment = segmentAt(schedule.zone, afterMs);
  for (let changes = 0; changes < CHANGES_MAX && segment.toMs <= untilMs; changes += 1) {
    const next = segmentAt(schedule.zone, segment.toMs);
    const jumpMs = next.offsetMs - segment.offsetMs;
    const warning = jumpMs > 0 ? gapAt(schedule, next.fromMs) : overlapAt(schedule, next.fromMs, -jumpMs);
    if (jumpMs !== 0 && warning) warnings.push(warning);
    segment = next;
  }
  return warnings;
}

function gapAt(schedule: RecurringSchedule, atMs: number): DaylightSavingWarning | undefined {
  const moved = firesAt(schedule, { gap: 'run_after' }, atMs) && !firesAt(schedule, { gap: 'skip' }, atMs);
  if (!moved) return undefined;
  const fate =
    schedule.daylightSaving.gap === 'skip'
      ? 'it is left out that day'
      : `it runs right after the gap, at ${localText(schedule.zone, atMs)}`;
  const message = `The clock goes forward in ${schedule.zone} and skips a planned time: ${fate}.`;
  return { kind: 'gap', atMs, message };
}

function overlapAt(
  schedule: RecurringSchedule,
  atMs: number,
  lengthMs: number,
): DaylightSavingWarning | undefined {
  const range = { fromMs: atMs - lengthMs, toMs: atMs + lengthMs };
  const isTwice = count(schedule, { overlap: 'both' }, range) > count(schedule, { overlap: 'first' }, range);
  if (!isTwice) return undefined;
  const fate = {
    first: 'it runs the first time only',
    second: 'it runs the second time only',
    both: 'it runs both times',
  }[schedule.daylightSaving.overlap];
  const message = `The clock goes back in ${schedule.zone} and shows a planned time twice: ${fate}.`;
  return { kind: 'overlap', atMs, message };
}

function firesAt(schedule: RecurringSchedule, policy: Partial<DaylightSavingPolicy>, atMs: number): boolean {
  return nextFire(withPolicy(schedule, policy), atMs - 1) === atMs;
}

/** At most what fires within the repeated hour or so; a schedule of every second is counted no further than needed. */
function count(
  schedule: RecurringSchedule,
  policy: Partial<DaylightSavingPolicy>,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  const asked = withPolicy(schedule, policy);
  let found = 0;
  let fireMs = nextFire(asked, fromMs - 1);
  while (fireMs !== undefined && fireMs < toMs && found < 10_000) {
    found += 1;
    fireMs = nextFire(asked, fireMs);
  }
  return found;
}

function withPolicy(schedule: RecurringSchedule, policy: Partial<DaylightSavingPolicy>): RecurringSchedule {
  return { ...schedule, daylightSaving: { ...schedule.daylightSaving, ...policy } };
}

/** The wall-clock time in a zone with its offset: 2027-03-28T09:00:00+02:00. */
export function localText(zone: string, instantMs: number): string {
  const localMs = toLocal(zone, instantMs);
  const offsetMinutes = Math.round((localMs - instantMs) / 60_000);
  const [hours, minutes] = [Math.floor(Math.abs(offsetMinutes) / 60), Math.abs(offsetMinutes) % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  const sign = offsetMinutes < 0 ? '-' : '+';
  return `${new Date(localMs).toISOString().slice(0, 19)}${sign}${two(hours)}:${two(minutes)}`;
}

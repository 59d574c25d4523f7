/**
 * What changes of the clock do to a schedule: occurrences whose wall-clock time does not exist or exists twice, and what
 * becomes of them by its policy. Found by asking the schedule itself under each policy, so the words cannot disagree with
 * what will happen; a rhythm that no policy changes gets no warning.
 */
import { DAY_MS } from './civil-date.ts';
import { nextFire } from './next-fires.ts';
import { occurrencesOf } from './occurrences-of.ts';
import { type DaylightSavingPolicy, isRecurring, type RecurringSchedule, type Schedule } from './schedule.ts';
import { toLocal } from './wall-clock.ts';
import { segmentAt } from './zone-segments.ts';

export interface DaylightSavingWarning {
  readonly kind: 'gap' | 'overlap';
  /** The instant at which the clock changes. */
  readonly atMs: number;
  readonly message: string;
}

/** More than a person reads. */
const WARNINGS_MAX = 64;
/** More than any clock ever jumped (24 h). */
const JUMP_MS_MAX = 2 * DAY_MS;

export function daylightSavingWarnings(
  schedule: Schedule,
  { afterMs, untilMs }: { afterMs: number; untilMs: number },
): DaylightSavingWarning[] {
  if (!isRecurring(schedule)) return [];
  const warnings: DaylightSavingWarning[] = [];
  const widest = withPolicy(schedule, { gap: 'run_after', overlap: 'both' });
  let segment = segmentAt(schedule.zone, afterMs);
  while (segment.toMs <= untilMs && warnings.length < WARNINGS_MAX) {
    const { toMs: changeMs } = segment;
    const warning = warningAt(schedule, changeMs, segment.nextOffsetMs - segment.offsetMs);
    if (warning) warnings.push(warning);
    // No clock that changes long before the next fire can matter to it: the rarer the schedule, the fewer are looked at.
    const fireMs = nextFire(widest, changeMs);
    if (fireMs === undefined) break;
    segment = segmentAt(schedule.zone, Math.max(changeMs, fireMs - JUMP_MS_MAX));
  }
  return warnings;
}

function warningAt(
  schedule: RecurringSchedule,
  atMs: number,
  jumpMs: number,
): DaylightSavingWarning | undefined {
  if (jumpMs === 0) return undefined;
  return jumpMs > 0 ? gapAt(schedule, atMs) : overlapAt(schedule, atMs, -jumpMs);
}

function gapAt(schedule: RecurringSchedule, atMs: number): DaylightSavingWarning | undefined {
  const range = { fromMs: atMs, toMs: atMs };
  const isMoved = count(schedule, { gap: 'run_after' }, range) > count(schedule, { gap: 'skip' }, range);
  if (!isMoved) return undefined;
  const fate =
    schedule.daylightSaving.gap === 'skip'
      ? 'it is left out that day'
      : `it runs right after the gap, at ${clockText(schedule.zone, atMs)}`;
  const message = `The clock goes forward in ${schedule.zone} on ${localText(schedule.zone, atMs).slice(0, 10)} and skips a planned time: ${fate}.`;
  return { kind: 'gap', atMs, message };
}

function overlapAt(
  schedule: RecurringSchedule,
  atMs: number,
  lengthMs: number,
): DaylightSavingWarning | undefined {
  const range = { fromMs: atMs - lengthMs, toMs: atMs + lengthMs - 1 };
  const isTwice = count(schedule, { overlap: 'both' }, range) > count(schedule, { overlap: 'first' }, range);
  if (!isTwice) return undefined;
  const fate = {
    first: 'it runs the first time only',
    second: 'it runs the second time only',
    both: 'it runs both times',
  }[schedule.daylightSaving.overlap];
  const message = `The clock goes back in ${schedule.zone} on ${localText(schedule.zone, atMs).slice(0, 10)} and shows a planned time twice: ${fate}.`;
  return { kind: 'overlap', atMs, message };
}

function count(
  schedule: RecurringSchedule,
  policy: Partial<DaylightSavingPolicy>,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): number {
  return occurrencesOf(withPolicy(schedule, policy)).count(fromMs, toMs).count;
}

function withPolicy(schedule: RecurringSchedule, policy: Partial<DaylightSavingPolicy>): RecurringSchedule {
  return { ...schedule, daylightSaving: { ...schedule.daylightSaving, ...policy } };
}

/** As in 03:00 (+02:00). Changes of the clock fall on whole minutes, but for some of long ago. */
function clockText(zone: string, instantMs: number): string {
  const text = localText(zone, instantMs);
  return `${text.slice(11, 19).replace(/:00$/, '')} (${text.slice(19)})`;
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

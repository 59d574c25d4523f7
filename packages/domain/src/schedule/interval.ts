/**
 * Intervals: read, written, and by the words of frequency. Reads how often something repeats: "90s", "1h30m", "1 day", "2w", "1mo", ISO 8601 ("PT15M", "P1M"), or a number of
 * seconds. Seconds, minutes and hours are exact; days, weeks and months follow the calendar and keep the wall clock, so
 * the two cannot be mixed. Accepts from one second to ten years.
 */
import { Refusal } from '../errors/refusal.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './civil-date.ts';
import type { Interval } from './schedule.ts';

const EXACT_MS_MAX = 3_653 * DAY_MS;
const CALENDAR_MAX = { day: 3_653, week: 521, month: 120 } as const;
const LENGTH_MAX = 64;

type CalendarUnit = Extract<Interval, { kind: 'calendar' }>['unit'];
type Unit = { readonly ms: number } | { readonly calendar: CalendarUnit; readonly factor: number };

const MONTH: Unit = { calendar: 'month', factor: 1 };
const YEAR: Unit = { calendar: 'month', factor: 12 };
const WEEK: Unit = { calendar: 'week', factor: 1 };
const DAY: Unit = { calendar: 'day', factor: 1 };

const WORDS: readonly (readonly [words: string, unit: Unit])[] = [
  ['ms millisecond milliseconds', { ms: 1 }],
  ['s sec secs second seconds', { ms: SECOND_MS }],
  ['m min mins minute minutes', { ms: MINUTE_MS }],
  ['h hr hrs hour hours', { ms: HOUR_MS }],
  ['d day days', DAY],
  ['w wk week weeks', WEEK],
  ['mo month months', MONTH],
  ['y year years', YEAR],
];
const UNITS = new Map(
  WORDS.flatMap(([words, unit]) => words.split(' ').map((word) => [word, unit] as const)),
);

const ISO = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(T(?:([\d.]+)H)?(?:([\d.]+)M)?(?:([\d.]+)S)?)?$/i;
const ISO_UNITS = [
  [1, YEAR],
  [2, MONTH],
  [3, WEEK],
  [4, DAY],
] as const;
const ISO_EXACT_UNITS = [
  [6, { ms: HOUR_MS }],
  [7, { ms: MINUTE_MS }],
  [8, { ms: SECOND_MS }],
] as const;

interface Part {
  readonly amount: number;
  readonly unit: Unit;
}

export function parseInterval(input: string | number, options: { field?: string } = {}): Interval {
  const refuse = (reason: string) =>
    new Refusal('interval_invalid', `The interval "${shown(input)}" ${reason}.`, options);
  const parts = readParts(input);
  if (parts === undefined || parts.length === 0) {
    const negative = typeof input === 'string' ? input.trim().startsWith('-') : input < 0;
    if (negative) throw refuse('is negative');
    throw refuse('is not a duration such as 90s, 15m, 1h30m, 1d, 2w, 1mo, PT15M or a number of seconds');
  }
  const [first] = parts;
  if (first !== undefined && 'calendar' in first.unit) {
    if (parts.length > 1) {
      throw refuse('mixes days, weeks or months with other units: write one of them alone, or hours (36h)');
    }
    return calendarInterval(first.amount, first.unit, refuse);
  }
  return exactInterval(parts, refuse);
}

type Refuse = (reason: string) => Refusal;

function calendarInterval(
  amount: number,
  unit: { calendar: CalendarUnit; factor: number },
  refuse: Refuse,
): Interval {
  const every = amount * unit.factor;
  if (!Number.isInteger(every)) throw refuse(`must be a whole number of ${unit.calendar}s`);
  if (every < 1) throw refuse('is zero');
  if (every > CALENDAR_MAX[unit.calendar]) throw refuse('is longer than 10 years');
  return { kind: 'calendar', unit: unit.calendar, every };
}

function exactInterval(parts: readonly Part[], refuse: Refuse): Interval {
  let everyMs = 0;
  for (const { amount, unit } of parts) {
    if ('calendar' in unit) {
      throw refuse('mixes days, weeks or months with other units: write one of them alone, or hours (36h)');
    }
    everyMs += amount * unit.ms;
  }
  // 1.1 s is 1100.0000000000002 ms for the machine: round what is meant to be whole, refuse what is not.
  const wholeMs = Math.round(everyMs);
  if (Math.abs(everyMs - wholeMs) > 1e-6 * Math.max(1, everyMs / SECOND_MS))
    throw refuse('is finer than a millisecond');
  if (wholeMs === 0) throw refuse('is zero');
  if (wholeMs < SECOND_MS) throw refuse('is shorter than 1 second');
  if (wholeMs > EXACT_MS_MAX) throw refuse('is longer than 10 years');
  return { kind: 'exact', everyMs: wholeMs };
}

function readParts(input: unknown): Part[] | undefined {
  if (typeof input === 'number') {
    return Number.isFinite(input) && input >= 0 ? [{ amount: input, unit: { ms: SECOND_MS } }] : undefined;
  }
  if (typeof input !== 'string' || input.length > LENGTH_MAX) return undefined;
  const text = input.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return [{ amount: Number(text), unit: { ms: SECOND_MS } }];
  return /^p/i.test(text) ? readIso(text) : readWords(text);
}

function readIso(text: string): Part[] | undefined {
  const match = ISO.exec(text);
  if (match === null || match[5]?.length === 1) return undefined;
  const parts: Part[] = [];
  for (const [group, unit] of [...ISO_UNITS, ...ISO_EXACT_UNITS]) {
    const amountText = match[group];
    if (amountText === undefined) continue;
    if (!/^\d+(\.\d+)?$/.test(amountText)) return undefined;
    parts.push({ amount: Number(amountText), unit });
  }
  return parts;
}

function readWords(text: string): Part[] | undefined {
  if (!/^(\d+(\.\d+)?\s*[a-z]+[\s,]*)+$/i.test(text)) return undefined;
  const parts: Part[] = [];
  for (const [, amount, word = ''] of text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/gi)) {
    // A capital M alone might mean months or minutes.
    const unit = word === 'M' ? undefined : UNITS.get(word.toLowerCase());
    if (unit === undefined || parts.some((part) => part.unit === unit)) return undefined;
    parts.push({ amount: Number(amount), unit });
  }
  return parts;
}

function shown(input: unknown): string {
  const text = String(input);
  return text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}...` : text;
}

const CALENDAR_SUFFIX = { day: 'd', week: 'w', month: 'mo' } as const;

/** Writes an interval in the short form that parseInterval reads back to the same: 1h30m, 1.5s, 1d, 2w, 3mo. */
export function formatInterval(interval: Interval): string {
  if (interval.kind === 'calendar') return `${interval.every}${CALENDAR_SUFFIX[interval.unit]}`;
  const hours = Math.floor(interval.everyMs / HOUR_MS);
  const minutes = Math.floor((interval.everyMs % HOUR_MS) / MINUTE_MS);
  const milliseconds = interval.everyMs % MINUTE_MS;
  // Never in days: an exact 24 hours is not a calendar day.
  const parts = [hours > 0 ? `${hours}h` : '', minutes > 0 ? `${minutes}m` : ''];
  if (milliseconds > 0) parts.push(`${milliseconds / SECOND_MS}s`);
  return parts.join('');
}

const INTERVALS = new Map<string, Interval>([
  ['hourly', { kind: 'exact', everyMs: HOUR_MS }],
  ['daily', { kind: 'calendar', unit: 'day', every: 1 }],
  ['weekly', { kind: 'calendar', unit: 'week', every: 1 }],
  ['monthly', { kind: 'calendar', unit: 'month', every: 1 }],
  ['yearly', { kind: 'calendar', unit: 'month', every: 12 }],
]);

export const FREQUENCY_WORDS: readonly string[] = [...INTERVALS.keys()];

/** The frequency words of the API (hourly, daily ...) as intervals. Days and longer follow the calendar and keep the wall clock. */
export function frequencyToInterval(word: string, options: { field?: string } = {}): Interval {
  const interval = INTERVALS.get(String(word).trim().toLowerCase());
  if (interval !== undefined) return interval;
  const message = `"${String(word).slice(0, 40)}" is not a frequency. Known: ${FREQUENCY_WORDS.join(', ')}.`;
  throw new Refusal('interval_invalid', message, options);
}

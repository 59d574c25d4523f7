/**
 * Reads an instant: ISO 8601 with an offset, or a UNIX timestamp (seconds; milliseconds from 1e11 on). A time without
 * offset is refused, because it means another instant on every machine, unless the caller names the zone it is meant in;
 * there, a time that exists twice is the first one, and one inside a gap is the first instant after it.
 */
import { Refusal } from '../errors/refusal.ts';
import {
  DAY_MS,
  daysFromCivil,
  daysInMonth,
  HOUR_MS,
  MAX_INSTANT_MS,
  MAX_YEAR,
  MIN_INSTANT_MS,
  MIN_YEAR,
  MINUTE_MS,
  SECOND_MS,
} from './civil-date.ts';
import { DEFAULT_DAYLIGHT_SAVING } from './schedule.ts';
import { resolveWallClock } from './wall-clock.ts';

/** As seconds this would be the year 5138. */
const MILLISECONDS_FROM = 1e11;
const OFFSET_MS_MAX = 14 * HOUR_MS;
const LENGTH_MAX = 64;

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s?(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

export interface ParseInstantOptions {
  readonly field?: string;
  /** The zone in which a time without offset is meant. */
  readonly zone?: string;
}

export function parseInstant(input: string | number, options: ParseInstantOptions = {}): number {
  const text = typeof input === 'string' ? input.trim() : String(input);
  if (typeof input === 'number' || /^[+-]?\d+(\.\d+)?$/.test(text))
    return fromTimestamp(Number(text), options);
  const match = typeof input === 'string' && text.length <= LENGTH_MAX ? ISO.exec(text) : null;
  if (match === null) throw invalid(text, 'is neither ISO 8601 with an offset nor a UNIX timestamp', options);
  const [, year, month, day, hour, minute, second, fraction, offset] = match;
  if (hour === undefined) throw invalid(text, 'has a date but no time of day', options);
  const localMs =
    localDay(text, [Number(year), Number(month), Number(day)], options) +
    localTime(text, [Number(hour), Number(minute), Number(second ?? 0)], options) +
    Number((fraction ?? '').padEnd(3, '0').slice(0, 3));
  if (offset !== undefined) return inRange(localMs - offsetMs(text, offset, options), text, options);
  if (options.zone === undefined) {
    throw invalid(text, 'has no offset: end it with Z for UTC, or with one such as +02:00', options);
  }
  inRange(localMs, text, options);
  const [instantMs] = resolveWallClock(options.zone, localMs, DEFAULT_DAYLIGHT_SAVING);
  if (instantMs === undefined) throw invalid(text, `does not exist in ${options.zone}`, options);
  return inRange(instantMs, text, options);
}

function fromTimestamp(value: number, options: ParseInstantOptions): number {
  if (!Number.isFinite(value)) throw invalid(String(value), 'is not a number', options);
  const instantMs = value >= MILLISECONDS_FROM ? value : value * SECOND_MS;
  return inRange(Math.round(instantMs), String(value), options);
}

type Triple = readonly [number, number, number];

function localDay(text: string, [year, month, day]: Triple, options: ParseInstantOptions): number {
  if (month < 1 || month > 12) throw invalid(text, `has no month ${month}`, options);
  if (day < 1 || day > daysInMonth(year, month))
    throw invalid(text, `names day ${day}, which that month lacks`, options);
  return daysFromCivil(year, month, day) * DAY_MS;
}

function localTime(text: string, [hour, minute, second]: Triple, options: ParseInstantOptions): number {
  if (hour > 23) throw invalid(text, `has hour ${hour}; hours are 00 to 23`, options);
  if (minute > 59) throw invalid(text, `has minute ${minute}; minutes are 00 to 59`, options);
  if (second > 59) throw invalid(text, `has second ${second}; seconds are 00 to 59`, options);
  return hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS;
}

function offsetMs(text: string, offset: string, options: ParseInstantOptions): number {
  if (offset.toUpperCase() === 'Z') return 0;
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0');
  const minutes = Number(digits.slice(2));
  const ms = Number(digits.slice(0, 2)) * HOUR_MS + minutes * MINUTE_MS;
  if (minutes > 59 || ms > OFFSET_MS_MAX) throw invalid(text, `has an impossible offset ${offset}`, options);
  return offset.startsWith('-') ? -ms : ms;
}

function inRange(instantMs: number, text: string, options: ParseInstantOptions): number {
  if (instantMs >= MIN_INSTANT_MS && instantMs <= MAX_INSTANT_MS) return instantMs;
  const message = `The time "${text}" lies outside of the years ${MIN_YEAR} to ${MAX_YEAR}.`;
  throw new Refusal('time_out_of_range', message, fieldOf(options));
}

function invalid(text: string, reason: string, options: ParseInstantOptions): Refusal {
  return new Refusal('time_invalid', `The time "${text.slice(0, LENGTH_MAX)}" ${reason}.`, fieldOf(options));
}

function fieldOf(options: ParseInstantOptions): { field?: string } {
  return options.field === undefined ? {} : { field: options.field };
}

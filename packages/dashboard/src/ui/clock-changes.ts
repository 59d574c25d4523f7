/** When the clocks of a zone change. Pure: the present comes from outside. */
import { offset } from './time.ts';

export interface ClockChange {
  /** Within a minute of the change, on its new side. */
  readonly at: Date;
  /** Such as +01:00. */
  readonly before: string;
  readonly after: string;
}

const HOUR_MS = 3_600_000;
const STEP_MS = 24 * HOUR_MS;
/** Every zone that changes its clocks does so within a year. */
const AHEAD_MS = 370 * STEP_MS;

/** The first change after this instant and before the other; undefined: there is none. */
export function nextClockChange(
  zone: string,
  fromMs: number,
  untilMs: number = fromMs + AHEAD_MS,
): ClockChange | undefined {
  const at = (ms: number) => offset(new Date(ms), zone);
  const before = at(fromMs);
  for (let low = fromMs; low < untilMs; low += STEP_MS) {
    let high = Math.min(low + STEP_MS, untilMs);
    if (at(high) === before) continue;
    while (high - low > 60_000) {
      const middle = Math.floor((low + high) / 2);
      if (at(middle) === before) low = middle;
      else high = middle;
    }
    // Clocks change at whole minutes.
    const minute = Math.floor(high / 60_000) * 60_000;
    return { at: new Date(minute), before, after: at(minute) };
  }
  return undefined;
}

export function isForward({ before, after }: ClockChange): boolean {
  return minutesOf(after) > minutesOf(before);
}

function minutesOf(text: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d+):(\d+)/.exec(text) ?? [];
  const size = Number(hours) * 60 + Number(minutes);
  return sign === '-' ? -size : size;
}

/** A fire by the clock of a zone: `Thu 19 Nov 09:00`, with the year where it is not this one. Pure. */
import { clockTime, dayKey, dayName } from '../../ui/time.ts';

export function fireWords(at: Date, zone: string, now: number = Date.now()): string {
  const year = dayKey(at, zone).slice(0, 4);
  const isThis = year === dayKey(new Date(now), zone).slice(0, 4);
  const clock = clockTime(at, zone, { seconds: at.getTime() % 60_000 !== 0 });
  return `${dayName(at, zone)} ${isThis ? '' : `${year} `}${clock}`;
}

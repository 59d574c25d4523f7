/**
 * Instants and durations in words. One zone rules everything that is shown: the zone of the browser, UTC, or any other that the
 * person chose. Pure: the zone and the present come from outside.
 */

export type ZoneChoice = 'local' | 'job' | 'UTC' | (string & {});

/** ofJob: of the schedule of the one job that is looked at. */
export function zoneName(choice: ZoneChoice, ofJob?: string): string {
  if (choice === 'job' && ofJob !== undefined) return ofJob;
  return choice === 'local' || choice === 'job' ? Intl.DateTimeFormat().resolvedOptions().timeZone : choice;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  let known = formats.get(key);
  if (!known) {
    known = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...options });
    formats.set(key, known);
  }
  return known;
}

function parts(at: Date, zone: string, options: Intl.DateTimeFormatOptions): Record<string, string> {
  return Object.fromEntries(
    format(zone, options)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
}

/** 2026-11-18 14:02:11 */
export function absolute(at: Date, zone: string, { millis = false }: { millis?: boolean } = {}): string {
  const p = parts(at, zone, {
    ...{
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    },
    ...(millis && { fractionalSecondDigits: 3 }),
  });
  return `${p.year}-${p.month}-${p.day} ${p.hour}:${p.minute}:${p.second}${millis ? `.${p.fractionalSecond}` : ''}`;
}

/** 14:02:11 */
export function clockTime(at: Date, zone: string, { seconds = true }: { seconds?: boolean } = {}): string {
  const p = parts(at, zone, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  return seconds ? `${p.hour}:${p.minute}:${p.second}` : `${p.hour}:${p.minute}`;
}

/** +01:00 */
export function offset(at: Date, zone: string): string {
  const name = parts(at, zone, { timeZoneName: 'longOffset' }).timeZoneName ?? 'GMT';
  return name === 'GMT' ? '+00:00' : name.replace('GMT', '');
}

/** Tue 18 Nov */
export function dayName(at: Date, zone: string): string {
  const p = parts(at, zone, { weekday: 'short', day: 'numeric', month: 'short' });
  return `${p.weekday} ${p.day} ${p.month}`;
}

/** 2026-11-18: the day in the zone, to group by. */
export function dayKey(at: Date, zone: string): string {
  return absolute(at, zone).slice(0, 10);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** 3 h 12 min, 45 s, 1.24 s, 12 ms */
export function duration(ms: number): string {
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const first = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[first]!;
  const count = Math.floor(ms / size);
  const next = UNITS[first + 1];
  const rest = next && Math.floor((ms - count * size) / next[1]);
  return next && rest ? `${count} ${unit} ${rest} ${next[0]}` : `${count} ${unit}`;
}

/** in 3 h, 12 s ago; from a day on, the date is clearer: undefined. */
export function relative(at: Date, now: number): string | undefined {
  const ms = at.getTime() - now;
  const size = Math.abs(ms);
  if (size >= 24 * 3_600_000) return undefined;
  if (size < 1_000) return 'now';
  const [unit, unitMs] = UNITS.find(([, each]) => size >= each)!;
  const words = `${Math.floor(size / unitMs)} ${unit}`;
  return ms > 0 ? `in ${words}` : `${words} ago`;
}

/** 1,240 / 12.4 k / 3.1 M */
export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString('en');
  if (value < 1_000_000) return `${(value / 1_000).toFixed(1)} k`;
  return `${(value / 1_000_000).toFixed(1)} M`;
}

/** 33 %: never 100 % before the end. */
export function percent(value: number): string {
  return `${Math.floor(value)} %`;
}

/** 512 B / 1.2 KiB / 3.4 MiB */
export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let size = value / 1_024;
  let unit = 0;
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  return `${size.toFixed(1)} ${units[unit]}`;
}

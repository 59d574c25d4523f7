/** When runs of a list started, as its filter shows it: one of a few lengths, or the range that an address names. Pure. */
import type { Option } from '../../ui/options.ts';
import { optionsOf } from '../../ui/options.ts';
import { clockTime, dayKey, dayName } from '../../ui/time.ts';

interface Range {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

const LAST = optionsOf({
  '15m': 'last 15 minutes',
  '1h': 'last hour',
  '6h': 'last 6 hours',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
});

/** Stands for what the address names; choosing it changes nothing. */
export const NAMED_RANGE = 'named';

export function rangeChoice(
  { since, until }: Range,
  zone: string,
): { value?: string; options: readonly Option[] } {
  if (since === undefined && until === undefined) return { options: LAST };
  if (until === undefined && LAST.some(({ value }) => value === since))
    return { value: since!, options: LAST };
  return {
    value: NAMED_RANGE,
    options: [...LAST, { value: NAMED_RANGE, label: rangeWords({ since, until }, zone) }],
  };
}

/** Wed 18 Nov 14:02 – 14:20 */
export function rangeWords({ since, until }: Range, zone: string): string {
  const [from, to] = [instantOf(since), instantOf(until)];
  const words = (at: Date) => `${dayName(at, zone)} ${clockTime(at, zone, { seconds: false })}`;
  const begin = from ? words(from) : since === undefined ? undefined : `${since} ago`;
  const isSameDay = from && to && dayKey(from, zone) === dayKey(to, zone);
  const end = to
    ? isSameDay
      ? clockTime(to, zone, { seconds: false })
      : words(to)
    : until === undefined
      ? undefined
      : `${until} ago`;
  if (end === undefined) return `from ${begin}`;
  return begin === undefined ? `until ${end}` : `${begin} – ${end}`;
}

/** Undefined: a length, such as 15m. */
function instantOf(given: string | undefined): Date | undefined {
  const at = given === undefined || !/^\d{4}-/.test(given) ? Number.NaN : Date.parse(given);
  return Number.isNaN(at) ? undefined : new Date(at);
}

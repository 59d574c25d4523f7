/**
 * Accepts the name of a time zone that the runtime knows. The name that the runtime has for the zone is stored and shown in its
 * spelling, another one as it was written: people look for Europe/Kyiv, not for the Europe/Kiev of Intl.
 */

import { Cache } from '../cache.ts';
import { Refusal } from '../errors/refusal.ts';
import { suggestZone } from './suggest-zone.ts';

const LENGTH_MAX = 64;
/** There are about 600 names, links between them included. */
const NAMES_MAX = 1_024;

export function parseZone(name: string, options: { field?: string } = {}): string {
  if (typeof name !== 'string' || name.trim() === '') {
    throw new Refusal('zone_unknown', 'The time zone is empty.', options);
  }
  const zone = name.trim();
  // Intl also takes bare offsets: they have no daylight saving, and "+02:00" for Paris is wrong half of the year.
  if (/^[+-]/.test(zone)) {
    const message = `"${zone.slice(0, LENGTH_MAX)}" is an offset, not a time zone: use a name such as Europe/Paris, or Etc/GMT-2.`;
    throw new Refusal('zone_unknown', message, options);
  }
  try {
    const canonical = canonicalZone(zone);
    return canonical.toLowerCase() === zone.toLowerCase() ? canonical : zone;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const suggestion = suggestZone(zone);
    const advice = suggestion === undefined ? '.' : `: did you mean ${suggestion}?`;
    const message = `No time zone is called "${zone.slice(0, LENGTH_MAX)}"${advice}`;
    throw new Refusal('zone_unknown', message, options);
  }
}

const canonicalNames = new Cache<string, string>({ entriesMax: NAMES_MAX });

/** Intl's own name of the zone. Throws a RangeError when it knows none. Costs 50 us, so each name is asked for once. */
export function canonicalZone(name: string): string {
  // Only ASCII, where two names that are equal in lower case are the same to Intl.
  if (name.length > LENGTH_MAX || !/^[\w+/-]+$/.test(name)) throw new RangeError(`Not a time zone: ${name}`);
  return canonicalNames.getOrCompute(
    name.toLowerCase(),
    () => new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone,
  );
}

/** Accepts the name of a time zone that the runtime knows, in the spelling the user gave. */
import { Refusal } from '../errors/refusal.ts';

const LENGTH_MAX = 64;

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
  if (zone.length > LENGTH_MAX || !isKnown(zone)) {
    throw new Refusal('zone_unknown', `No time zone is called "${zone.slice(0, LENGTH_MAX)}".`, options);
  }
  return zone;
}

function isKnown(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

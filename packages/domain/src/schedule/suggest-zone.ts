/** Advice about names of time zones: the one that was probably meant, and those that have no daylight saving time. */

/** Longer than any name that is near to one. */
const LENGTH_MAX = 40;
const DISTANCE_MAX = 2;
/** A shorter word is near to many cities. */
const CITY_LENGTH_MIN = 6;

/** The zone that somebody who wrote this name probably meant: America/New_York for America/NewYork, new york or Amercia/New_York. */
export function suggestZone(name: string): string | undefined {
  const wanted = lettersOf(name);
  if (wanted === '' || name.length > LENGTH_MAX) return undefined;
  const zones = Intl.supportedValuesOf('timeZone');
  const cityOf = (zone: string) => lettersOf(zone.split('/').at(-1) ?? '');
  return (
    zones.find((zone) => lettersOf(zone) === wanted) ??
    zones.find((zone) => cityOf(zone) === wanted) ??
    zones.find((zone) => isNear(lettersOf(zone), wanted)) ??
    (wanted.length < CITY_LENGTH_MIN ? undefined : zones.find((zone) => isNear(cityOf(zone), wanted)))
  );
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '');
}

/** Whether at most DISTANCE_MAX letters are missing, added or wrong. */
function isNear(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > DISTANCE_MAX) return false;
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, wanted] of [...other].entries()) {
      const [kept = 0, removed = 0, added = 0] = [row[j], row[j + 1], next[j]];
      next.push(Math.min(kept + (letter === wanted ? 0 : 1), removed + 1, added + 1));
    }
    if (Math.min(...next) > DISTANCE_MAX) return false;
    row = next;
  }
  return (row.at(-1) ?? 0) <= DISTANCE_MAX;
}

/** Abbreviations of winter time, whose clocks never change, beside the zones that people mean by them. */
const WINTER_TIME: Readonly<Record<string, { offset: string; meant: string }>> = {
  EST: { offset: '-05:00', meant: 'America/New_York' },
  MST: { offset: '-07:00', meant: 'America/Denver' },
};

/** A sentence where the zone has a fixed offset that its name does not tell. */
export function fixedOffsetWarning(zone: string): string | undefined {
  const name = zone.toUpperCase();
  const found = Object.hasOwn(WINTER_TIME, name) ? WINTER_TIME[name] : undefined;
  return (
    found &&
    `${zone} is always UTC${found.offset} and has no daylight saving time; ${found.meant} is the zone whose clocks change.`
  );
}

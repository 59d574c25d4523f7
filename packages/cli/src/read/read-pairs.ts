/** `name=value` options such as labels and headers. */
import { UsageError } from '../program/usage-error.ts';

export function readPairs(
  pairs: readonly string[],
  { flag, separator = '=' }: { flag: string; separator?: string },
): Record<string, string> {
  const read: [string, string][] = pairs.map((pair) => {
    const cut = pair.indexOf(separator);
    if (cut > 0) return [pair.slice(0, cut).trim(), pair.slice(cut + separator.length).trim()];
    throw new UsageError(`${flag} must be name${separator}value, and is "${pair}".`);
  });
  return Object.fromEntries(read);
}

/** Labels to look for, as the filters of the interface write them: `name:value`. */
export function readLabels(pairs: readonly string[]): string[] {
  return Object.entries(readPairs(pairs, { flag: '--label' })).map(([name, value]) => `${name}:${value}`);
}

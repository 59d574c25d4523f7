/**
 * How the audit log writes what changed: in snake_case, with instants and durations as answers have them, whatever the fields are
 * called inside. Names that users chose, such as those of labels, stay as they are.
 */
import { JOB_FIELDS } from '@carillon/domain';

/** Their members are named by users. */
const MAPS = new Set(
  Object.entries(JOB_FIELDS).flatMap(([name, { kind }]) =>
    kind === 'texts' || kind === 'numbers' ? [name] : [],
  ),
);
/** Besides names that end in AtMs. */
const INSTANTS = new Set(['atMs', 'startMs', 'endMs', 'anchorMs']);

export function detailsText(details: object): string {
  return JSON.stringify(written(details));
}

function written(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(written);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => writtenField(name, inner)));
}

function writtenField(name: string, value: unknown): [string, unknown] {
  const base = snakeCase(name.replace(/(At)?Ms$/, ''));
  if (/AtMs$/.test(name) || INSTANTS.has(name)) {
    const instant = typeof value === 'number' ? new Date(value).toISOString() : value;
    return [name === 'atMs' ? 'at' : `${base}_at`, instant];
  }
  if (/[a-z]Ms$/.test(name)) return [`${base}_seconds`, typeof value === 'number' ? value / 1_000 : value];
  return [snakeCase(name), MAPS.has(name) ? value : written(value)];
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

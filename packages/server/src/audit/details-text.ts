/**
 * How the audit log writes what changed: in snake_case, with instants and durations as answers have them, whatever the fields are
 * called inside. Names that users chose, such as those of labels, stay as they are.
 */
import { JOB_FIELDS, type Job } from '@carillon/domain';

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

/**
 * The definition of a job, or some fields of one, from what detailsText wrote of it. null was written for undefined. Of the instants
 * of a job, only those of its schedule are part of its definition, and none of these is named …AtMs but atMs itself.
 */
export function definitionFrom(text: string): Partial<Job> {
  return readFields(JSON.parse(text)) as Partial<Job>;
}

function readFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readFields);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => readField(name, inner ?? undefined)),
  );
}

function readField(name: string, value: unknown): [string, unknown] {
  if (name === 'at') return ['atMs', instantMs(value)];
  if (name.endsWith('_at')) return [`${camelCase(name.slice(0, -3))}Ms`, instantMs(value)];
  if (name.endsWith('_seconds')) {
    const ms = typeof value === 'number' ? Math.round(value * 1_000) : value;
    return [`${camelCase(name.slice(0, -8))}Ms`, ms];
  }
  const property = camelCase(name);
  return [property, MAPS.has(property) ? value : readFields(value)];
}

function instantMs(value: unknown): unknown {
  return typeof value === 'string' ? Date.parse(value) : value;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

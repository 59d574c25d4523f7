/** Filters as query parameters and as fields of bodies: both follow from their declaration in the domain. */
import {
  EVENT_KINDS,
  type Filter,
  type FilterTable,
  type Moment,
  parseInstant,
  parseInterval,
  Refusal,
  refuseValue,
  type Selection,
} from '@carillon/domain';
import { z } from 'zod';
import { anyOf, labels, lengthMs, oneOf, readId, text } from './values.ts';

export const EVENT_TYPE_PREFIX = 'io.carillon.';

export type FilterShape<Table extends FilterTable> = {
  [Name in keyof Table as Table[Name]['query']]: z.ZodOptional<z.ZodType>;
};

export function filterShape<Table extends FilterTable>(table: Table): FilterShape<Table> {
  const entries = Object.values(table).map((filter) => {
    const schema = schemaOf(filter).optional();
    return [filter.query, filter.about === undefined ? schema : schema.describe(filter.about)];
  });
  return Object.fromEntries(entries) as FilterShape<Table>;
}

/** Every kind, and every word that kinds begin with. */
const KIND_WORDS = new Set(EVENT_KINDS.flatMap((kind) => [kind, kind.split('.')[0]!]));

const eventKinds = z
  .union([text, z.array(text).max(50)], { error: 'must be a type of events' })
  .transform((given) => [given].flat().flatMap((part) => part.split(',').map(kindOf)))
  .refine((given) => given.every((kind) => KIND_WORDS.has(kind)), {
    error: `must be one or more of ${[...KIND_WORDS].join(', ')}`,
  })
  .meta({ anyOf: undefined, type: 'array', items: { type: 'string', enum: [...KIND_WORDS] } });

function kindOf(written: string): string {
  const word = written.trim().toLowerCase();
  const short = word.startsWith(EVENT_TYPE_PREFIX) ? word.slice(EVENT_TYPE_PREFIX.length) : word;
  return short.replace(/\.?\*?$/, '');
}

function schemaOf(filter: Filter): z.ZodType {
  switch (filter.kind) {
    case 'one_of':
      return oneOf(filter.words, filter.documented);
    case 'any_of':
      return anyOf(filter.words, filter.documented);
    case 'event_kinds':
      return eventKinds;
    case 'labels':
      return labels;
    default:
      return text;
  }
}

/** The values that were read, under the names of the domain. */
export function toSelection<Table extends FilterTable>(table: Table, read: object): Selection<Table> {
  const values = read as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(table).map(([name, filter]) => [name, selectedValue(filter, values[filter.query])]),
  ) as Selection<Table>;
}

function selectedValue({ kind, query }: Filter, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (kind === 'instant') return parseInstant(value as string, { field: query });
  if (kind === 'moment') return readMoment(value as string, query);
  if (kind === 'job_id') return readIdFilter(value as string, query, 'job');
  if (kind === 'run_id') return readIdFilter(value as string, query, 'run');
  // One word may stand for several values.
  return kind === 'any_of' ? [...new Set((value as readonly unknown[]).flat())] : value;
}

/** In a filter, what is no id is a mistake in the request; nothing was looked for. */
export function readIdFilter(given: string, field: string, what: 'job' | 'run'): string {
  try {
    return readId(given, what);
  } catch (error) {
    const message = `${field} must be the id of a ${what}, a UUID such as 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f.`;
    throw new Refusal('field_invalid', message, { field, cause: error });
  }
}

/** Digits alone are a UNIX timestamp; what begins with a date is an instant. */
export function readMoment(given: string, field: string): Moment {
  if (/^[+-]?\d+(\.\d+)?$/.test(given) || /^\d{4}-/.test(given))
    return { atMs: parseInstant(given, { field }) };
  try {
    return { agoMs: lengthMs(parseInterval(given, { field })) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const message = `${field} must be an instant such as 2030-01-01T09:00:00Z, or how long ago: 15m, 1h, 1d.`;
    return refuseValue(field, message, 'time_invalid');
  }
}

/** Filters as query parameters and as fields of bodies: both follow from their declaration in the domain. */
import { type Filter, type FilterTable, parseInstant, type Selection } from '@carillon/domain';
import type { z } from 'zod';
import { readId } from './ids.ts';
import { anyOf, labels, oneOf, text } from './query-values.ts';

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

function schemaOf(filter: Filter): z.ZodType {
  switch (filter.kind) {
    case 'one_of':
      return oneOf(filter.words).meta({ enum: [...(filter.documented ?? filter.words.keys())] });
    case 'any_of':
      return anyOf(filter.words);
    case 'labels':
      return labels;
    default:
      return text;
  }
}

/** What was read, under the names of the domain. */
export function toSelection<Table extends FilterTable>(table: Table, read: object): Selection<Table> {
  const values = read as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(table).map(([name, filter]) => [name, selectedValue(filter, values[filter.query])]),
  ) as Selection<Table>;
}

function selectedValue({ kind, query }: Filter, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (kind === 'instant') return parseInstant(value as string, { field: query });
  if (kind === 'job_id') return readId(value as string, 'job');
  // One word may stand for several values.
  return kind === 'any_of' ? [...new Set((value as readonly unknown[]).flat())] : value;
}

/** Reads a value with a schema; the first thing that is wrong becomes a refusal that names the field and what it must be. */
import { Refusal } from '@carillon/domain';
import type { z } from 'zod';

export function readWith<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const field = pathText(issue.path);
  if (issue.path.length > 0 && valueAt(value, issue.path) === undefined) {
    throw new Refusal('field_missing', `${field} is missing.`, { field });
  }
  throw new Refusal('field_invalid', `${field} ${demandOf(issue)}.`, { field });
}

/** A sentence of the schema itself is better than any general one; the library's own all begin with "Invalid". */
function demandOf(issue: z.core.$ZodIssue): string {
  if (!issue.message.startsWith('Invalid')) return issue.message;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code === 'invalid_type') return `must be ${ARTICLES[issue.expected] ?? issue.expected}`;
  return 'is not valid';
}

const ARTICLES: Partial<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`))
    .join('');
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce(
    (inner: unknown, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key],
    value,
  );
}

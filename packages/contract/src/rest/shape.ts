/**
 * What a body or a query may hold: one schema that validates it, documents it and gives it its type, and the other names
 * its fields answer to. Fields are spelled in snake_case whatever the caller wrote: the camelCase spelling of each field and
 * the older names some clients use are known. Objects within are read the same way.
 */
import { Refusal } from '@carillon/domain';
import { z } from 'zod';
import { nearestWord } from '../nearest-word.ts';

export interface Shape<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  /** Other names of the same fields, in snake_case. */
  readonly aliases?: Readonly<Record<string, string>>;
}

export type Body = Readonly<Record<string, unknown>>;

export function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Strictly: an unknown field is refused, and so are two spellings of the same one. */
export function readShape<Schema extends z.ZodObject>(
  { schema, aliases = {} }: Shape<Schema>,
  value: unknown,
): z.output<Schema> {
  if (!isBody(value)) throw new Refusal('body_not_json', 'The body must be a JSON object.');
  const spelled = spellFields(value, { ...membersOf(schema), aliases, path: '' });
  const result = schema.safeParse(spelled);
  if (result.success) return result.data;
  throw refusalOf(result.error.issues[0]!, spelled);
}

interface Members {
  readonly names: readonly string[];
  /** Those that are objects with fields of their own, or arrays of them. */
  readonly objects: readonly (readonly [string, z.ZodObject])[];
}

const membersOfSchemas = new WeakMap<z.ZodObject, Members>();

function membersOf(schema: z.ZodObject): Members {
  let members = membersOfSchemas.get(schema);
  if (!members) {
    const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
    members = {
      names: fields.map(([name]) => name),
      objects: fields.flatMap(([name, field]) => {
        const outer = unwrapped(field);
        const inner = outer instanceof z.ZodArray ? unwrapped(outer.element as z.ZodType) : outer;
        return inner instanceof z.ZodObject ? [[name, inner] as const] : [];
      }),
    };
    membersOfSchemas.set(schema, members);
  }
  return members;
}

/** Without optional, nullable and default around it. */
export function unwrapped(schema: z.ZodType): z.ZodType {
  const isWrapped =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return isWrapped ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}

interface Spelling extends Members {
  readonly aliases: Readonly<Record<string, string>>;
  /** Of the object that holds the fields, with a dot behind it; empty at the top. */
  readonly path: string;
}

function spellFields(body: Body, spelling: Spelling): Body {
  const spelled = spellNames(body, spelling);
  const inner = spelling.objects.flatMap(([name, schema]): (readonly [string, unknown])[] => {
    const value = spelled[name];
    const spell = (entry: Body, path: string) =>
      spellFields(entry, { ...membersOf(schema), aliases: {}, path });
    const path = `${spelling.path}${name}`;
    if (isBody(value)) return [[name, spell(value, `${path}.`)]];
    if (!Array.isArray(value)) return [];
    const entries = value.map((entry, i) => (isBody(entry) ? spell(entry, `${path}[${i}].`) : entry));
    return [[name, entries]];
  });
  return inner.length === 0 ? spelled : { ...spelled, ...Object.fromEntries(inner) };
}

function spellNames(body: Body, spelling: Spelling): Body {
  // Nearly every body is spelled as it is answered; then there is nothing to translate, and no two spellings to collide.
  const keys = Object.keys(body);
  if (keys.every((key) => spelling.names.includes(key))) return body;
  // Nothing is inherited, so a field called "constructor" is unknown like any other.
  const spelled: Record<string, unknown> = Object.create(null);
  const writtenAs = new Map<string, string>();
  for (const written of keys) {
    const name = fieldNamed(written, spelling);
    if (name === undefined) throw unknownField(written, spelling);
    const earlier = writtenAs.get(name);
    if (earlier !== undefined) {
      const message = `${earlier} and ${written} are the same field; give only one of them.`;
      throw new Refusal('field_conflict', message, { field: `${spelling.path}${name}` });
    }
    writtenAs.set(name, written);
    spelled[name] = body[written];
  }
  return spelled;
}

function fieldNamed(written: string, { names, aliases }: Spelling): string | undefined {
  const snake = /^[a-z]+([A-Z][a-z]*)+$/.test(written)
    ? written.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    : written;
  if (names.includes(snake)) return snake;
  return Object.hasOwn(aliases, snake) ? aliases[snake] : undefined;
}

function unknownField(written: string, { names, aliases, path }: Spelling): Refusal {
  const shown = written.slice(0, 64).toWellFormed().replaceAll('\u0000', '\ufffd');
  const nearest = nearestWord(written, [...names, ...Object.keys(aliases)]);
  const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
  return new Refusal('field_unknown', `There is no field "${shown}".${hint}`, { field: `${path}${shown}` });
}

/** Names the field and what it must be. */
function refusalOf(issue: z.core.$ZodIssue, value: unknown): Refusal {
  const { path } = issue;
  const field = path
    .map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`))
    .join('');
  const found = path.reduce<unknown>((inner, key) => (inner as Body | undefined)?.[key as string], value);
  return path.length > 0 && found === undefined
    ? new Refusal('field_missing', `${field} is missing.`, { field })
    : new Refusal('field_invalid', `${field} ${demandOf(issue)}.`, { field });
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

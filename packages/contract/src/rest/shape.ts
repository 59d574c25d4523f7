/**
 * What a body or a query may hold: one schema that validates it, documents it and gives it its type, and the other names
 * its fields answer to. Objects within are read the same way.
 */
import { Refusal } from '@carillon/domain';
import { z } from 'zod';
import { type Body, isBody, spellFields } from './field-names.ts';
import { readWith } from './read-with.ts';

export interface Shape<Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  /** Other names of the same fields, in snake_case. */
  readonly aliases?: Readonly<Record<string, string>>;
}

/** Strictly: an unknown field is refused, and so are two spellings of the same one. */
export function readShape<Schema extends z.ZodObject>(
  shape: Shape<Schema>,
  value: unknown,
): z.output<Schema> {
  if (!isBody(value)) throw new Refusal('body_not_json', 'The body must be a JSON object.');
  return readWith(shape.schema, spelled(shape, value));
}

function spelled({ schema, aliases = {} }: Shape, value: Body, within?: string): Record<string, unknown> {
  const read: Record<string, unknown> = {
    ...spellFields(value, { names: namesIn(schema), aliases }, within),
  };
  for (const [name, inner] of objectsIn(schema)) {
    const given = read[name];
    if (isBody(given)) read[name] = spelled({ schema: inner }, given, within ? `${within}.${name}` : name);
  }
  return read;
}

const names = new WeakMap<z.ZodObject, readonly string[]>();

function namesIn(schema: z.ZodObject): readonly string[] {
  let found = names.get(schema);
  if (!found) {
    found = Object.keys(schema.shape);
    names.set(schema, found);
  }
  return found;
}

const objects = new WeakMap<z.ZodObject, readonly (readonly [string, z.ZodObject])[]>();

/** The fields of a schema that are objects with fields of their own. */
function objectsIn(schema: z.ZodObject): readonly (readonly [string, z.ZodObject])[] {
  let found = objects.get(schema);
  if (!found) {
    found = Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
      let inner: z.ZodType = field;
      while (
        inner instanceof z.ZodOptional ||
        inner instanceof z.ZodNullable ||
        inner instanceof z.ZodDefault
      )
        inner = inner.unwrap() as z.ZodType;
      return inner instanceof z.ZodObject ? [[name, inner] as const] : [];
    });
    objects.set(schema, found);
  }
  return found;
}

/**
 * JSON Schemas from zod schemas: those with an id become components that others refer to, so that each is described once.
 * What a schema checks in code alone is left open here; what it reads in several spellings is shown in one.
 */
import { z } from 'zod';

export type JsonSchema = { [key: string]: unknown };

export class SchemaComponents {
  readonly schemas: Record<string, JsonSchema> = {};

  /** input: as a request may be written. output: as an answer is. */
  describe(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const made = z.toJSONSchema(schema, {
      io,
      target: 'draft-2020-12',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => showRead(zodSchema, jsonSchema, io),
    }) as JsonSchema;
    const { $schema: _dialect, $defs = {}, ...rest } = made;
    for (const [name, definition] of Object.entries($defs as Record<string, JsonSchema>)) {
      this.#add(name, definition);
    }
    const id = z.globalRegistry.get(schema)?.id;
    if (id === undefined) return tidied(rest);
    this.#add(id, rest);
    return { $ref: `#/components/schemas/${id}` };
  }

  #add(name: string, definition: JsonSchema): void {
    const { id: _id, ...rest } = definition;
    this.schemas[name] ??= tidied(rest);
  }
}

/** A value that is made ready before it is read (another case, a list from commas) is shown as what it is read as. */
function showRead(schema: unknown, json: JsonSchema, io: 'input' | 'output'): void {
  if (io !== 'input' || !(schema instanceof z.ZodPipe) || !(schema.in instanceof z.ZodTransform)) return;
  const shown = z.toJSONSchema(schema.out as z.ZodType, { io, unrepresentable: 'any' }) as JsonSchema;
  const { $schema: _dialect, ...rest } = shown;
  Object.assign(json, rest);
}

function tidied(value: JsonSchema): JsonSchema {
  return tidy(value) as JsonSchema;
}

/** References point to components; what is undefined was taken away on purpose. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? inner.replace('#/$defs/', '#/components/schemas/')
        : tidy(inner),
    ]),
  );
}

/**
 * What a form can ask for, out of the JSON Schema of a handler: one input per member. Members that are more than a text, a number, a
 * choice or a yes are asked for as JSON; a schema that names no members is no form at all. Pure.
 */
import type { Handler, Json } from '@carillon/client';

export interface SchemaField {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'integer' | 'flag' | 'choice' | 'json';
  readonly description: string | undefined;
  readonly required: boolean;
  readonly options: readonly string[];
  readonly fallback: Json | undefined;
  readonly min: number | undefined;
  readonly max: number | undefined;
}

type Schema = Readonly<Record<string, unknown>>;

/** More inputs than this are harder to fill in than JSON. */
const FIELDS_MAX = 30;

/** undefined: the whole payload is asked for as JSON. */
export function schemaFields(parameters: Handler['parameters']): readonly SchemaField[] | undefined {
  if (parameters === null || !isSchema(parameters.properties)) return undefined;
  const members = Object.entries(parameters.properties);
  if (members.length === 0 || members.length > FIELDS_MAX) return undefined;
  const required = Array.isArray(parameters.required) ? (parameters.required as unknown[]) : [];
  return members.map(([name, schema]) =>
    fieldOf(name, isSchema(schema) ? schema : {}, required.includes(name)),
  );
}

function fieldOf(name: string, schema: Schema, required: boolean): SchemaField {
  const options = choicesOf(schema);
  return {
    ...{ name, required, options: options ?? [] },
    kind: options ? 'choice' : kindOf(schema),
    description: typeof schema.description === 'string' ? schema.description : undefined,
    fallback: schema.default as Json | undefined,
    min: typeof schema.minimum === 'number' ? schema.minimum : undefined,
    max: typeof schema.maximum === 'number' ? schema.maximum : undefined,
  };
}

/** null beside another type only says that it may be left out. */
function kindOf({ type }: Schema): SchemaField['kind'] {
  const types = [type].flat().filter((one) => one !== 'null');
  if (types.length !== 1) return 'json';
  switch (types[0]) {
    case 'string':
      return 'text';
    case 'number':
      return 'number';
    case 'integer':
      return 'integer';
    case 'boolean':
      return 'flag';
    default:
      return 'json';
  }
}

function choicesOf({ enum: words }: Schema): readonly string[] | undefined {
  if (!Array.isArray(words)) return undefined;
  const given = words.filter((word) => word !== null);
  return given.length > 0 && given.every((word) => typeof word === 'string') ? given : undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * TypeScript declarations from zod schemas: objects become interfaces, everything else type aliases. Properties are
 * readonly, what may be left out may also be undefined, and what a schema is described with becomes its comment.
 */
import { z } from 'zod';

export interface TypeSource {
  readonly schema: z.ZodType;
  /** input: as a request may be written. output: as an answer is. */
  readonly io: 'input' | 'output';
  readonly comment?: string;
  /** Another type of the table: only what differs from it is declared. */
  readonly extends?: string;
}

type JsonSchema = {
  /** The type to render instead of what the rest says. */
  readonly typescript?: string;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly type?: string | readonly string[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly description?: string;
  readonly deprecated?: boolean;
};

const LINE_LENGTH_MAX = 110;

/** Renders the field as this type instead of what its schema says. */
export function as<Schema extends z.ZodType>(schema: Schema, typescript: string): Schema {
  return schema.meta({ typescript });
}

/** `open` are the enumerations that grow with the server: they are rendered as string. */
export function renderTypes(
  sources: Readonly<Record<string, TypeSource>>,
  open: ReadonlySet<z.core.$ZodType>,
): string {
  const names = namesOf(sources);
  const schemaOf = ({ schema, io }: TypeSource) => withNames(toJson(schema, io, open), names);
  const declarations = Object.entries(sources).map(([name, source]) => {
    const json = schemaOf(source);
    const comment = commentOf(source.comment, '');
    if (json.properties === undefined) return `${comment}${alias(name, json)}\n`;
    const parent = source.extends === undefined ? {} : schemaOf(sources[source.extends]!);
    const inherited = new Set(fields(parent, '  '));
    const own = fields(json, '  ').filter((field) => !inherited.has(field));
    const heading = source.extends === undefined ? name : `${name} extends ${source.extends}`;
    return `${comment}export interface ${heading} {\n${own.join('\n')}\n}\n`;
  });
  return declarations.join('\n');
}

/** How a type is recognised within another: by the id of its schema, or by the words of its enumeration. */
function namesOf(sources: Readonly<Record<string, TypeSource>>): ReadonlyMap<string, string> {
  const names = new Map(Object.keys(sources).map((name) => [`#/$defs/${name}`, name]));
  for (const [name, { schema }] of Object.entries(sources)) {
    const id = z.globalRegistry.get(schema)?.id;
    if (id !== undefined) names.set(`#/$defs/${id}`, name);
    if (schema instanceof z.ZodEnum) names.set(keyOf(schema.options), name);
  }
  return names;
}

function keyOf(words: readonly unknown[]): string {
  return words.toSorted().join(' ');
}

function toJson(schema: z.ZodType, io: 'input' | 'output', open: ReadonlySet<z.core.$ZodType>): JsonSchema {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (open.has(zodSchema)) jsonSchema.typescript = 'string';
      // Read from the text of a query: a list may be given as one entry, and words in any case.
      const isRead = zodSchema instanceof z.ZodPipe && !(zodSchema.in instanceof z.ZodTransform);
      if (io !== 'input' || !isRead) return;
      if (jsonSchema.type === 'array') jsonSchema.typescript = 'string | readonly string[]';
      else if (jsonSchema.enum?.join() === 'true,false') jsonSchema.typescript = 'boolean';
    },
  }) as JsonSchema;
}

/** Types of the table by their names; all other definitions in place of the references to them. */
function withNames({ $defs = {}, ...root }: JsonSchema, names: ReadonlyMap<string, string>): JsonSchema {
  const definitionOf = (reference: string) => $defs[reference.replace('#/$defs/', '')]!;
  const resolve = (schema: JsonSchema): JsonSchema =>
    JSON.parse(JSON.stringify(schema), (_key, json: JsonSchema | null) => {
      if (json?.$ref === undefined && json?.enum === undefined) return json;
      const typescript = json.typescript ?? names.get(json.$ref ?? keyOf(json.enum ?? []));
      if (typescript !== undefined) return { ...json, typescript };
      return json.$ref === undefined ? json : { ...resolve(definitionOf(json.$ref)), ...json };
    });
  // A schema with an id is a reference to itself.
  return resolve(root.$ref === undefined ? root : definitionOf(root.$ref));
}

function alias(name: string, json: JsonSchema): string {
  // An enumeration is known by this very name.
  const type = json.enum ? literals(json.enum) : typeOf(json, '');
  const line = `export type ${name} = ${type};`;
  if (type.includes('\n') || line.length <= LINE_LENGTH_MAX) return line;
  return `export type ${name} =\n  | ${type.replaceAll(' | ', '\n  | ')};`;
}

function fields({ properties = {}, required = [] }: JsonSchema, indent: string): string[] {
  return Object.entries(properties).map(([name, json]) => {
    const type = typeOf(json, indent);
    const field = required.includes(name) ? `${name}: ${type}` : `${name}?: ${type} | undefined`;
    const comment = json.deprecated ? `@deprecated ${json.description ?? ''}` : json.description;
    return `${commentOf(comment, indent)}${indent}readonly ${field};`;
  });
}

function typeOf(json: JsonSchema, indent: string): string {
  if (json.typescript !== undefined) return json.typescript;
  if (json.const !== undefined) return literals([json.const]);
  if (json.enum) return literals(json.enum);
  if (json.anyOf) return json.anyOf.map((one) => typeOf(one, indent)).join(' | ');
  const kinds = [json.type ?? 'unknown'].flat().map((kind) => typeOfKind(kind, json, indent));
  return kinds.join(' | ');
}

function typeOfKind(kind: string, json: JsonSchema, indent: string): string {
  if (kind === 'integer') return 'number';
  if (kind === 'array') {
    const item = typeOf(json.items ?? {}, indent);
    const isUnion = item.includes(' | ') && !json.items?.properties;
    return `readonly ${isUnion ? `(${item})` : item}[]`;
  }
  if (kind !== 'object') return kind;
  if (json.properties) return `{\n${fields(json, `${indent}  `).join('\n')}\n${indent}}`;
  const values = json.additionalProperties;
  if (typeof values !== 'object') return 'JsonObject';
  return `Readonly<Record<string, ${typeOf(values, indent)}>>`;
}

function literals(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value))).join(' | ');
}

function commentOf(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;
}

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
  const schemas = new Map(
    Object.entries(sources).map(([name, { schema, io }]) => [name, toJson(schema, io, open)]),
  );
  const names = namesOf(sources, schemas);
  const declarations = Object.entries(sources).map(([name, source]) => {
    const json = schemas.get(name)!;
    const renderer = new Renderer(names, json.$defs ?? {});
    const comment = commentOf(source.comment, '');
    if (json.properties === undefined) return `${comment}${renderer.alias(name, json)}\n`;
    const parent = source.extends === undefined ? undefined : schemas.get(source.extends);
    const inherited = new Set(parent && new Renderer(names, parent.$defs ?? {}).fields(parent, '  '));
    const own = renderer.fields(json, '  ').filter((field) => !inherited.has(field));
    const heading = source.extends === undefined ? name : `${name} extends ${source.extends}`;
    return `${comment}export interface ${heading} {\n${own.join('\n')}\n}\n`;
  });
  return declarations.join('\n');
}

function toJson(schema: z.ZodType, io: 'input' | 'output', open: ReadonlySet<z.core.$ZodType>): JsonSchema {
  const json: JsonSchema = z.toJSONSchema(schema, {
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
  // A schema with an id is a reference to itself.
  const itself = json.$ref && json.$defs?.[json.$ref.replace('#/$defs/', '')];
  return itself ? { ...itself, $defs: json.$defs ?? {} } : json;
}

/** How a type is recognised within another: by the id of its schema, or by the words of its enumeration. */
function namesOf(
  sources: Readonly<Record<string, TypeSource>>,
  schemas: ReadonlyMap<string, JsonSchema>,
): ReadonlyMap<string, string> {
  const names = new Map(Object.keys(sources).map((name) => [`#/$defs/${name}`, name]));
  for (const [name, { schema }] of Object.entries(sources)) {
    const id = z.globalRegistry.get(schema)?.id;
    if (id !== undefined) names.set(`#/$defs/${id}`, name);
    const words = schemas.get(name)!.enum;
    if (words) names.set(keyOf(words), name);
  }
  return names;
}

function keyOf(words: readonly unknown[]): string {
  return words.toSorted().join(' ');
}

class Renderer {
  readonly #names: ReadonlyMap<string, string>;
  readonly #definitions: Readonly<Record<string, JsonSchema>>;

  constructor(names: ReadonlyMap<string, string>, definitions: Readonly<Record<string, JsonSchema>>) {
    this.#names = names;
    this.#definitions = definitions;
  }

  alias(name: string, json: JsonSchema): string {
    // An enumeration is known by this very name.
    const type = json.enum ? literals(json.enum) : this.type(json, '');
    const line = `export type ${name} = ${type};`;
    if (type.includes('\n') || line.length <= LINE_LENGTH_MAX) return line;
    return `export type ${name} =\n  | ${type.replaceAll(' | ', '\n  | ')};`;
  }

  fields({ properties = {}, required = [] }: JsonSchema, indent: string): string[] {
    return Object.entries(properties).map(([name, json]) => {
      const type = this.type(json, indent);
      const field = required.includes(name) ? `${name}: ${type}` : `${name}?: ${type} | undefined`;
      return `${commentOf(json.description, indent)}${indent}readonly ${field};`;
    });
  }

  type(json: JsonSchema, indent: string): string {
    if (json.typescript !== undefined) return json.typescript;
    if (json.$ref !== undefined) return this.#named(json.$ref, indent);
    if (json.const !== undefined) return literals([json.const]);
    if (json.enum) return this.#names.get(keyOf(json.enum)) ?? literals(json.enum);
    if (json.anyOf) return json.anyOf.map((one) => this.type(one, indent)).join(' | ');
    const kinds = [json.type ?? 'unknown'].flat().map((kind) => this.#kind(kind, json, indent));
    return kinds.join(' | ');
  }

  #kind(kind: string, json: JsonSchema, indent: string): string {
    if (kind === 'integer') return 'number';
    if (kind === 'array') {
      const item = this.type(json.items ?? {}, indent);
      const isUnion = item.includes(' | ') && !json.items?.properties;
      return `readonly ${isUnion ? `(${item})` : item}[]`;
    }
    if (kind !== 'object') return kind;
    if (json.properties) return `{\n${this.fields(json, `${indent}  `).join('\n')}\n${indent}}`;
    const values = json.additionalProperties;
    if (typeof values !== 'object') return 'JsonObject';
    return `Readonly<Record<string, ${this.type(values, indent)}>>`;
  }

  #named(reference: string, indent: string): string {
    const definition = this.#definitions[reference.replace('#/$defs/', '')];
    return this.#names.get(reference) ?? this.type(definition!, indent);
  }
}

function literals(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value))).join(' | ');
}

function commentOf(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;
}

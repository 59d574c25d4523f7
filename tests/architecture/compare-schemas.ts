/**
 * Whether a JSON schema still holds for those who know its former version: for requests, whatever was valid is valid; for
 * answers, whatever is answered has the fields and the types that were promised. Both are one question: is each value of one
 * schema (`inner`) a value of the other (`outer`)?
 */
export type Break = string;

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Schemas;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly [keyword: string]: unknown;
}

export type Schemas = Readonly<Record<string, Schema>>;
type Direction = 'request' | 'answer';
interface Document {
  readonly components: { readonly schemas: Schemas };
}

interface Comparison {
  readonly direction: Direction;
  readonly schemasOf: { readonly inner: Schemas; readonly outer: Schemas };
  /** Pairs that are being compared, against schemas that contain themselves. */
  readonly open: ReadonlySet<string>;
}

/** Keywords that bound a value, and which of two bounds leaves more room. */
const BOUNDS: Readonly<Record<string, (inner: number, outer: number) => boolean>> = {
  minimum: (inner, outer) => inner >= outer,
  exclusiveMinimum: (inner, outer) => inner >= outer,
  minLength: (inner, outer) => inner >= outer,
  minItems: (inner, outer) => inner >= outer,
  minProperties: (inner, outer) => inner >= outer,
  maximum: (inner, outer) => inner <= outer,
  exclusiveMaximum: (inner, outer) => inner <= outer,
  maxLength: (inner, outer) => inner <= outer,
  maxItems: (inner, outer) => inner <= outer,
  maxProperties: (inner, outer) => inner <= outer,
};
const EXACT = ['pattern', 'format', 'multipleOf'];

export function compareSchemas(
  direction: Direction,
  before: Schema,
  now: Schema,
  { at, former, present }: { at: string; former: Document; present: Document },
): Break[] {
  const [a, b] = [former.components.schemas, present.components.schemas];
  return direction === 'request'
    ? fits(before, now, at, { direction, schemasOf: { inner: a, outer: b }, open: new Set() })
    : fits(now, before, at, { direction, schemasOf: { inner: b, outer: a }, open: new Set() });
}

/** Why a value of `inner` may not be one of `outer`. */
function fits(inner: Schema, outer: Schema, at: string, comparison: Comparison): Break[] {
  if (Object.keys(outer).length === 0) return [];
  const { schemasOf } = comparison;
  const pair = `${inner.$ref} ${outer.$ref}`;
  if (inner.$ref !== undefined && outer.$ref !== undefined && comparison.open.has(pair)) return [];
  const deeper = { ...comparison, open: new Set([...comparison.open, pair]) };
  const insides = alternatives(inner, schemasOf.inner);
  const outsides = alternatives(outer, schemasOf.outer);
  return insides.flatMap((one) => {
    const tries = outsides.map((other) => fitsOne(one, other, at, deeper));
    if (tries.some((breaks) => breaks.length === 0)) return [];
    // Of several alternatives, the one of the same type tells best what is wrong.
    const alike = tries.filter((_, i) => typeOf(outsides[i]!) === typeOf(one));
    return alike.length === 1 ? alike[0]! : [`${at}: ${phrase(comparison.direction, shown(one))}`];
  });
}

function phrase(direction: Direction, what: string): string {
  return direction === 'request' ? `${what} is no longer accepted` : `may now be ${what}`;
}

/** A schema as the list of what it allows, one type each. */
function alternatives(given: Schema, schemas: Schemas): Schema[] {
  const schema = resolved(given, schemas);
  const { anyOf, oneOf, type, ...rest } = schema;
  const choices = anyOf ?? oneOf;
  if (choices) return choices.flatMap((choice) => alternatives({ ...rest, ...choice }, schemas));
  if (Array.isArray(type)) return type.map((one: string) => ({ ...rest, type: one }));
  return [schema];
}

function resolved(schema: Schema, schemas: Schemas): Schema {
  const { $ref, allOf, ...rest } = schema;
  const parts = [
    ...($ref === undefined ? [] : [schemas[$ref.replace('#/components/schemas/', '')] ?? {}]),
    ...(allOf ?? []),
  ];
  if (parts.length === 0) return schema;
  return parts.map((part) => resolved(part, schemas)).reduce(merged, rest);
}

function merged(a: Schema, b: Schema): Schema {
  return {
    ...a,
    ...b,
    ...(a.properties && b.properties && { properties: { ...a.properties, ...b.properties } }),
    ...(a.required && b.required && { required: [...a.required, ...b.required] }),
  };
}

function fitsOne(inner: Schema, outer: Schema, at: string, comparison: Comparison): Break[] {
  const isRequest = comparison.direction === 'request';
  const [a, b] = [typeOf(inner), typeOf(outer)];
  if (b !== undefined && a !== b && !(a === 'integer' && b === 'number'))
    return [`${at}: ${phrase(comparison.direction, shown(inner))}`];
  const breaks: Break[] = [];
  if (isRequest) breaks.push(...tightened(inner, outer, at));
  breaks.push(...compareObjects(inner, outer, at, comparison));
  if (inner.items && outer.items) breaks.push(...fits(inner.items, outer.items, `${at}[]`, comparison));
  return breaks;
}

/** Values and bounds. Answers may get further values and wider bounds, so this is for requests only. */
function tightened(inner: Schema, outer: Schema, at: string): Break[] {
  const breaks: Break[] = [];
  const [allowed, former] = [valuesOf(outer), valuesOf(inner)];
  if (allowed && former === undefined)
    breaks.push(`${at}: only ${JSON.stringify(allowed)} are accepted any more`);
  for (const value of former ?? [])
    if (allowed && !allowed.includes(value))
      breaks.push(`${at}: the value ${JSON.stringify(value)} is no longer accepted`);
  if (former) return breaks;
  for (const [keyword, isWithin] of Object.entries(BOUNDS)) {
    const [was, is] = [inner[keyword], outer[keyword]];
    if (typeof is === 'number' && !(typeof was === 'number' && isWithin(was, is)))
      breaks.push(`${at}: ${keyword} ${was ?? 'unset'} became ${is}`);
  }
  for (const keyword of EXACT)
    if (outer[keyword] !== undefined && outer[keyword] !== inner[keyword])
      breaks.push(`${at}: ${keyword} ${inner[keyword] ?? 'unset'} became ${outer[keyword]}`);
  return breaks;
}

function compareObjects(inner: Schema, outer: Schema, at: string, comparison: Comparison): Break[] {
  const isRequest = comparison.direction === 'request';
  const breaks: Break[] = [];
  const [own, others] = [inner.properties ?? {}, outer.properties ?? {}];
  for (const name of outer.required ?? [])
    if (!inner.required?.includes(name) && (isRequest || name in own))
      breaks.push(`${at}.${name}: ${isRequest ? 'became required' : 'is no longer always there'}`);
  // What callers know: in requests the fields of inner, in answers those of outer.
  for (const name of Object.keys(isRequest ? own : others)) {
    const [one, other] = [own[name], others[name] ?? extra(outer)];
    if (one === undefined || other === undefined) breaks.push(`${at}.${name}: removed`);
    else breaks.push(...fits(one, other, `${at}.${name}`, comparison));
  }
  const [further, otherFurther] = [extra(inner), extra(outer)];
  if (further && otherFurther) breaks.push(...fits(further, otherFurther, `${at}.*`, comparison));
  else if (isRequest && further && typeOf(inner) === 'object')
    breaks.push(`${at}: fields of any name are no longer accepted`);
  return breaks;
}

/** The schema of fields that have no name of their own; undefined when there must be none. */
function extra({ additionalProperties = true }: Schema): Schema | undefined {
  if (typeof additionalProperties === 'object') return additionalProperties;
  return additionalProperties ? {} : undefined;
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  return 'const' in schema ? [schema.const] : schema.enum;
}

function typeOf(schema: Schema): string | undefined {
  if (typeof schema.type === 'string') return schema.type;
  const [value] = valuesOf(schema) ?? [];
  if (value !== undefined) return value === null ? 'null' : typeof value;
  return schema.properties ? 'object' : undefined;
}

function shown(schema: Schema): string {
  const values = valuesOf(schema);
  return values ? values.map((value) => JSON.stringify(value)).join(' or ') : (typeOf(schema) ?? 'anything');
}

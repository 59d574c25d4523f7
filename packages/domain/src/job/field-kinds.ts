/**
 * The kinds of fields that a job is made of. A field is declared once, under its name on the wire: its kind says how a value is
 * judged and what it looks like in requests, answers and the database, and types follow from the declaration.
 */
import type { JsonObject } from '../ids.ts';
import type { ScheduleType } from '../schedule/schedule.ts';
import { readNumber, readSeconds, readText } from './define-job-values.ts';

export type PlainKind = 'text' | 'integer' | 'seconds' | 'flag' | 'word' | 'texts' | 'numbers';

/** A field that is judged by itself and kept as one property. */
export interface Field<Kind extends PlainKind = PlainKind, Value = unknown, Fallback = unknown> {
  readonly kind: Kind;
  /** One sentence for the documentation. */
  readonly about: string;
  /** The default; undefined: there is none, and the field may stay empty. */
  readonly fallback: Fallback;
  /** Of a word: those there are. */
  readonly words?: readonly string[];
  /** The property it is kept as, where that does not follow from its name. */
  readonly property?: string;
  /** path: the field as the caller knows it, for refusals. */
  read(given: Value, path: string): Value;
}

/** ISO 8601, or seconds since 1970. */
export type InstantInput = string | number;
/** ONE_TIME and RECURRING leave the exact type to the other fields. */
export type ScheduleTypeWord = ScheduleType | 'ONE_TIME' | 'RECURRING';

interface StructuredInputs {
  readonly text: string;
  readonly integer: number;
  readonly seconds: number;
  readonly instant: InstantInput;
  readonly interval: string | number;
  readonly json: JsonObject;
  readonly schedule_type: ScheduleTypeWord;
}

/** A field whose meaning depends on others: it has a shape on the wire, and is read by hand. */
export interface Structured<Kind extends keyof StructuredInputs = keyof StructuredInputs> {
  readonly kind: Kind;
  readonly about: string;
}

/** An object with fields of its own. */
export interface Nested<Members extends FieldTable = FieldTable> {
  readonly kind: 'object';
  readonly about: string;
  readonly members: Members;
}

export type FieldTable = Readonly<Record<string, Field>>;
export type AnyField = Field | Structured | Nested;
export type AnyFieldTable = Readonly<Record<string, AnyField>>;

interface Common<Fallback> {
  readonly about: string;
  readonly fallback?: Fallback;
}
interface Bounds {
  readonly min: number;
  readonly max: number;
}
type Optional<Value> = Value | undefined;
type Entries<Value> = Readonly<Record<string, Value>>;

function field<Kind extends PlainKind, Value, Fallback>(
  kind: Kind,
  { about, fallback }: Common<Fallback>,
  read: (given: Value, path: string) => Value,
): Field<Kind, Value, Fallback> {
  return { kind, about, fallback: fallback as Fallback, read };
}

export function text<F extends Optional<string> = undefined>(options: Common<F> & { lengthMax: number }) {
  const { lengthMax } = options;
  return field('text', options, (given: string, path) => readText(given, { field: path, lengthMax }));
}

/** A text of a format of its own, which may stay empty. */
export function formatted(read: (given: string, path: string) => string, about: string) {
  return field<'text', string, undefined>('text', { about }, read);
}

export function integer<F extends Optional<number> = undefined>(options: Common<F> & Bounds) {
  const { min, max } = options;
  return field('integer', options, (given: number, path) =>
    readNumber(given, { field: path, min, max, integer: true }),
  );
}

/** Given in seconds, kept in whole milliseconds; the bounds are in seconds, the default in milliseconds. */
export function seconds<F extends Optional<number> = undefined>(options: Common<F> & Bounds) {
  const { min, max } = options;
  return field('seconds', options, (given: number, path) => readSeconds(given, { field: path, min, max }));
}

export function flag(options: Required<Common<boolean>>) {
  return field('flag', options, (given: boolean) => given);
}

/** One of the words; the wire has made sure of that. */
export function word<const Word extends string>(
  words: readonly Word[],
  options: Required<Common<NoInfer<Word>>>,
) {
  return { ...field('word', options, (given: Word) => given), words };
}

/** Names with values. What is empty is always the same object, so that storing it costs a comparison. */
export function map<Value extends string | number>(
  kind: Value extends string ? 'texts' : 'numbers',
  options: Required<Common<Entries<Value>>> & { read: (given: Entries<Value>) => Entries<Value> },
) {
  return field(kind as 'texts' | 'numbers', options, options.read);
}

export function structured<Kind extends Structured['kind']>(kind: Kind, about: string): Structured<Kind> {
  return { kind, about };
}

export function nested<const Members extends FieldTable>(members: Members, about: string): Nested<Members> {
  return { kind: 'object', about, members };
}

/** For a property whose name does not follow from that of its field. */
export function keptAs<const Property extends string, F extends Field>(
  property: Property,
  field: F,
): F & { readonly property: Property } {
  return { ...field, property };
}

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

type PropertyOf<Wire extends string, F> = F extends { readonly property: infer Property extends string }
  ? Property
  : F extends { readonly kind: 'seconds' }
    ? Wire extends `${infer Base}_seconds`
      ? `${Camel<Base>}Ms`
      : never
    : Camel<Wire>;

/** The properties that plain fields of a table are kept as. */
export type ValuesOf<Table extends AnyFieldTable> = {
  readonly [Wire in keyof Table & string as Table[Wire] extends Field
    ? PropertyOf<Wire, Table[Wire]>
    : never]: Table[Wire] extends Field<PlainKind, infer Value, infer Fallback>
    ? Value | (undefined extends Fallback ? undefined : never)
    : never;
};

export type InputOf<F> =
  F extends Nested<infer Members>
    ? InputsOf<Members>
    : F extends Field<PlainKind, infer Value, unknown>
      ? Value
      : F extends Structured<infer Kind>
        ? StructuredInputs[Kind]
        : never;

/** What a request may say, in camelCase: a field left out takes its default or stays as it is; null means the default. */
export type InputsOf<Table extends AnyFieldTable> = {
  readonly [Wire in keyof Table & string as Camel<Wire>]?: InputOf<Table[Wire]> | null | undefined;
};

/** A plain field of a table, with all its names. */
export interface NamedField {
  readonly wire: string;
  /** Its value in an input. */
  readonly input: (given: object) => unknown;
  readonly property: string;
  /** As refusals name it. */
  readonly path: string;
  readonly field: Field;
}

/** within: the object that holds the fields. */
export function plainFields(table: AnyFieldTable, within?: string): readonly NamedField[] {
  return Object.entries(table).flatMap(([wire, field]) => {
    if (!isPlain(field)) return [];
    const base = field.kind === 'seconds' ? wire.replace(/_seconds$/, '_ms') : wire;
    return {
      wire,
      input: propertyReader(camelCase(wire)),
      property: field.property ?? camelCase(base),
      path: within === undefined ? wire : `${within}.${wire}`,
      field,
    };
  });
}

export function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function defaultsOf<Table extends AnyFieldTable>(table: Table): ValuesOf<Table> {
  return Object.fromEntries(
    plainFields(table).map(({ property, field }) => [property, field.fallback]),
  ) as ValuesOf<Table>;
}

/** A copy of the base, changed by what was given; null is the default. */
export function readFields<Values extends object>(
  fields: readonly NamedField[],
  given: object,
  base: Values,
): { -readonly [Property in keyof Values]: Values[Property] } {
  // Copied at once and then changed: built up property by property, an object costs ten times as much.
  const values = { ...base } as Record<string, unknown>;
  for (const { input, property, path, field } of fields) {
    const value = input(given);
    if (value !== undefined) values[property] = value === null ? field.fallback : field.read(value, path);
  }
  return values as { -readonly [Property in keyof Values]: Values[Property] };
}

/**
 * Reads one property, as if by hand: one function that reads any property by its name takes several times as long, and this happens
 * for every field of every job. Names come from our own tables alone.
 */
export function propertyReader(name: string): (from: object) => unknown {
  if (!/^[a-zA-Z]+$/.test(name)) throw new Error(`${name} is no name of a property`);
  return new Function('from', `return from.${name}`) as (from: object) => unknown;
}

function isPlain(field: AnyField): field is Field {
  return 'read' in field;
}

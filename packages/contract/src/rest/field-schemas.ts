/** The fields of a table as schemas: what a request may say, and what an answer shows. Both follow from the kind of each field. */
import {
  type AnyField,
  type AnyFieldTable,
  camelCase,
  type Field,
  type InputOf,
  type InputsOf,
  type JsonObject,
  type Nested,
  type PlainKind,
  plainFields,
  type ScheduleType,
  type Structured,
  type ValuesOf,
} from '@carillon/domain';
import { z } from 'zod';
import { instant, secondsOf } from './answer.ts';
import { isBody } from './shape.ts';

const SCHEDULE_TYPES = ['IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL'] as const;

const jsonObject = z.custom<JsonObject>(isBody, { error: 'must be a JSON object' }).meta({ type: 'object' });

/** A word of the enumeration in any case, once `spell` has made it one of its words. */
function spelled(schema: z.ZodEnum, spell: (given: string) => string) {
  return z.preprocess((given) => (typeof given === 'string' ? spell(given.trim()) : given), schema);
}

/** How a field is written in a request and in an answer. */
function schemasOf(field: AnyField): { readonly input: z.ZodType; readonly answer: z.ZodType } {
  switch (field.kind) {
    case 'text':
      return sameInBoth(z.string());
    case 'integer':
      return { input: z.number(), answer: z.int() };
    case 'seconds':
      return sameInBoth(z.number());
    case 'flag':
      return sameInBoth(z.boolean());
    case 'word': {
      const words = z.enum((field as Field).words ?? []);
      return { input: spelled(words, (given) => given.toLowerCase()), answer: words };
    }
    case 'texts':
      return sameInBoth(z.record(z.string(), z.string({ error: 'must be a text' })));
    case 'numbers':
      return sameInBoth(z.record(z.string(), z.number({ error: 'must be a number' })));
    case 'object': {
      const members = Object.entries(field.members);
      const input = members.map(([wire, member]) => [wire, schemasOf(member).input.nullish()]);
      return {
        input: z.strictObject(Object.fromEntries(input)),
        answer: z.strictObject(answerShape(field.members)),
      };
    }
    case 'instant':
      return { input: textOrNumber('must be an ISO 8601 text or a UNIX timestamp'), answer: instant };
    case 'interval':
      return { input: textOrNumber('must be a duration or a number of seconds'), answer: z.string() };
    case 'json':
      return sameInBoth(jsonObject);
    case 'schedule_type': {
      const words = z.enum([...SCHEDULE_TYPES, 'ONE_TIME', 'RECURRING']);
      const spell = (given: string) => given.toUpperCase().replaceAll(/[- ]/g, '_');
      return { input: spelled(words, spell), answer: z.enum(SCHEDULE_TYPES) };
    }
  }
}

function sameInBoth(schema: z.ZodType) {
  return { input: schema, answer: schema };
}

function textOrNumber(error: string) {
  return z.union([z.string(), z.number()], { error });
}

export type InputShape<Table extends AnyFieldTable> = {
  [Wire in keyof Table]: z.ZodOptional<z.ZodNullable<z.ZodType<Given<Table[Wire]>>>>;
};
type Given<F> =
  F extends Nested<infer Members> ? { [Wire in keyof Members]?: Given<Members[Wire]> | null } : InputOf<F>;

/** Every field may be left out, and null means the default. */
export function inputShape<Table extends AnyFieldTable>(table: Table): InputShape<Table> {
  const entries = Object.entries(table).map(([wire, field]) => [
    wire,
    schemasOf(field).input.nullish().describe(field.about),
  ]);
  return Object.fromEntries(entries) as InputShape<Table>;
}

/** Renames what was read to the names of the domain; within objects, only where their members are declared. */
export function toInput<Table extends AnyFieldTable>(table: Table, read: object): InputsOf<Table> {
  const names = namesOf(table);
  const input: Record<string, unknown> = {};
  for (const [wire, value] of Object.entries(read) as [string, unknown][]) {
    const { name, members } = names.get(wire)!;
    input[name] = members && isBody(value) ? toInput(members, value) : value;
  }
  return input as InputsOf<Table>;
}

type Names = ReadonlyMap<string, { readonly name: string; readonly members: AnyFieldTable | undefined }>;
const namesOfTables = new WeakMap<AnyFieldTable, Names>();

function namesOf(table: AnyFieldTable): Names {
  let names = namesOfTables.get(table);
  if (!names) {
    names = new Map(
      Object.entries(table).map(([wire, field]) => [
        wire,
        { name: camelCase(wire), members: field.kind === 'object' ? field.members : undefined },
      ]),
    );
    namesOfTables.set(table, names);
  }
  return names;
}

interface ShownKinds {
  readonly text: string;
  readonly integer: number;
  readonly seconds: number;
  readonly instant: string;
  readonly interval: string;
  readonly json: JsonObject;
  readonly schedule_type: ScheduleType;
}

type Shown<F> =
  F extends Nested<infer Members>
    ? { [Wire in keyof Members]: Shown<Members[Wire]> }
    : F extends Field<PlainKind, infer Value, infer Fallback>
      ? Value | (undefined extends Fallback ? null : never)
      : F extends Structured<infer Kind>
        ? ShownKinds[Kind]
        : never;

type AnswerShape<Table extends AnyFieldTable> = { [Wire in keyof Table]: z.ZodType<Shown<Table[Wire]>> };

/** null stands for what may stay empty. */
export function answerShape<Table extends AnyFieldTable>(table: Table): AnswerShape<Table> {
  const entries = Object.entries(table).map(([wire, field]) => {
    const schema = schemasOf(field).answer;
    return [wire, 'fallback' in field && field.fallback === undefined ? schema.nullable() : schema];
  });
  return Object.fromEntries(entries) as AnswerShape<Table>;
}

export function nullable<Shape extends Readonly<Record<string, z.ZodType>>>(shape: Shape) {
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, schema.nullable()])) as {
    [Name in keyof Shape]: z.ZodNullable<Shape[Name]>;
  };
}

/** The plain fields of a table, as an answer shows what is kept. */
export function viewOf<Table extends AnyFieldTable>(
  table: Table,
): (values: ValuesOf<Table>) => PlainShown<Table> {
  const fields = plainFields(table);
  return (values) => {
    const view: Record<string, unknown> = {};
    for (const { wire, property, field } of fields) {
      const value = (values as Readonly<Record<string, unknown>>)[property];
      view[wire] = field.kind === 'seconds' ? secondsOf(value as number | undefined) : (value ?? null);
    }
    return view as PlainShown<Table>;
  };
}

type PlainShown<Table extends AnyFieldTable> = {
  [Wire in keyof Table as Table[Wire] extends Field ? Wire : never]: Shown<Table[Wire]>;
};

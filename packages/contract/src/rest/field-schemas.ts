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
import { secondsOf } from './answer.ts';
import { isBody } from './shape.ts';

type Words = readonly [string, ...string[]];

/** Case is forgiven. */
function word(words: readonly string[] = []) {
  return z.preprocess(
    (given) => (typeof given === 'string' ? given.trim().toLowerCase() : given),
    z.enum(words as Words),
  );
}

const scheduleType = z.preprocess(
  (given) => (typeof given === 'string' ? given.trim().toUpperCase().replaceAll(/[- ]/g, '_') : given),
  z.enum(['IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL', 'ONE_TIME', 'RECURRING']),
);

export type InputShape<Table extends AnyFieldTable> = {
  [Wire in keyof Table]: z.ZodOptional<z.ZodNullable<z.ZodType<Asked<Table[Wire]>>>>;
};
type Asked<F> =
  F extends Nested<infer Members> ? { [Wire in keyof Members]?: Asked<Members[Wire]> | null } : InputOf<F>;

/** Every field may be left out, and null means the default. */
export function inputShape<Table extends AnyFieldTable>(table: Table): InputShape<Table> {
  const entries = Object.entries(table).map(([wire, field]) => [
    wire,
    inputSchema(field).nullish().describe(field.about),
  ]);
  return Object.fromEntries(entries) as InputShape<Table>;
}

function inputSchema(field: AnyField): z.ZodType {
  switch (field.kind) {
    case 'text':
      return z.string();
    case 'integer':
    case 'seconds':
      return z.number();
    case 'flag':
      return z.boolean();
    case 'word':
      return word((field as Field).words);
    case 'texts':
      return z.record(z.string(), z.string({ error: 'must be a text' }));
    case 'numbers':
      return z.record(z.string(), z.number({ error: 'must be a number' }));
    case 'object':
      return z.strictObject(
        Object.fromEntries(
          Object.entries(field.members).map(([wire, member]) => [wire, inputSchema(member).nullish()]),
        ),
      );
    case 'instant':
      return z.union([z.string(), z.number()], { error: 'must be an ISO 8601 text or a UNIX timestamp' });
    case 'interval':
      return z.union([z.string(), z.number()], { error: 'must be a duration or a number of seconds' });
    case 'json':
      return z.custom<JsonObject>(isBody, { error: 'must be a JSON object' }).meta({ type: 'object' });
    case 'schedule_type':
      return scheduleType;
  }
}

/** What was read under the names of the wire, under those of the domain. Only objects with declared members are looked into. */
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
    const schema = answerSchema(field);
    return [wire, 'fallback' in field && field.fallback === undefined ? schema.nullable() : schema];
  });
  return Object.fromEntries(entries) as AnswerShape<Table>;
}

export function nullable<Shape extends Readonly<Record<string, z.ZodType>>>(shape: Shape) {
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, schema.nullable()])) as {
    [Name in keyof Shape]: z.ZodNullable<Shape[Name]>;
  };
}

function answerSchema(field: AnyField): z.ZodType {
  switch (field.kind) {
    case 'text':
    case 'interval':
      return z.string();
    case 'integer':
      return z.int();
    case 'seconds':
      return z.number();
    case 'flag':
      return z.boolean();
    case 'word':
      return z.enum((field as Field).words as Words);
    case 'texts':
      return z.record(z.string(), z.string());
    case 'numbers':
      return z.record(z.string(), z.number());
    case 'object':
      return z.strictObject(answerShape(field.members));
    case 'instant':
      return z.iso.datetime();
    case 'json':
      return z
        .custom<JsonObject>((value) => typeof value === 'object' && value !== null)
        .meta({ type: 'object' });
    case 'schedule_type':
      return z.enum(['IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL']);
  }
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

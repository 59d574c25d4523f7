/** REST and RPC do the same: every operation has a call or a reason why not, and what one of them takes and answers, the other does. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf';
import { rpc, unwrapped } from '@carillon/contract';
import { systemClock } from '@carillon/foundation';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { allOperations } from '../api/all-operations.ts';
import type { ApiContext, Operation } from '../api/operation.ts';
import { callsOf } from '../openapi/render-operations-page.ts';
import { allMethods } from './all-methods.ts';
import { OTHER_NAMES } from './bind-rpc.ts';

const context = { operations: {}, address: '' } as unknown as ApiContext;
const TABLE = allOperations(context);
const OURS = [rpc.JobService, rpc.AccountService, rpc.AuditService];
const nameOf = ({ method, path }: Operation) => `${[method].flat()[0]} ${path}`;

describe('calls', () => {
  test.each(TABLE.map((operation) => [nameOf(operation), operation] as const))(
    '%s has one, or a reason why not',
    (_, operation) => {
      expect(callsOf(operation).length > 0).toBe(operation.restOnly === undefined);
    },
  );

  test('those that no operation of REST does are these', () => {
    const readiness = async () => ({ ready: true, reasons: [] });
    const { operations } = context;
    const served = allMethods({ table: TABLE, operations, readiness, clock: systemClock });
    const ours = served.filter(({ method }) => OURS.includes(method.parent as never));
    const done = new Set<DescMethod>(TABLE.flatMap(callsOf));
    const others = ours.filter(({ method }) => !done.has(method)).map(({ method }) => method.name);
    // The list of jobs with payloads, as a stream.
    expect(others).toEqual(['RetrieveAllJobs']);
  });
});

/** Those bound to an operation: their fields are read and written by name. */
const BOUND = TABLE.flatMap((operation) =>
  [operation.rpc ?? []].flat().map((binding) => ({ operation, binding })),
);

describe('fields of answers', () => {
  test.each(BOUND.map((bound) => [bound.binding.method.name, bound] as const))(
    'of %s are those of REST',
    (_, { operation, binding }) => {
      const { output } = binding.method;
      const shown = propertiesOf(operation);
      const fields = fieldsOf(output);
      const missing = shown
        .map((property) => binding.names?.[property] ?? property)
        .filter((property) => !fields.has(property));
      expect(missing).toEqual([]);
    },
  );
});

/** What only REST takes, and why. */
const REST_TAKES: Readonly<Record<string, readonly string[]>> = {
  // A job cannot move to another namespace.
  UpdateJob: ['namespace'],
  // It is in its name.
  GetJobsInNext5Mins: ['within'],
  // Of the text, which WatchRunLog has; this call is the story.
  GetRunLogs: ['attempt', 'epoch', 'stream', 'search', 'since', 'tail', 'download', 'last_event_id'],
};

describe('fields of requests', () => {
  test.each(BOUND.map((bound) => [bound.binding.method.name, bound] as const))(
    'of %s are those of REST',
    (name, { operation: { query, body }, binding: { method } }) => {
      const fields = new Set([...fieldsOf(method.input)].flatMap((field) => [field, OTHER_NAMES[field]]));
      if (fields.has('page_token')) fields.add('cursor');
      const taken = [query, body].flatMap((reader) => (reader ? namesOf(reader.schema) : []));
      // Pages by number are of REST alone.
      const missing = taken.filter((field) => field !== 'page' && !fields.has(field));
      expect(missing).toEqual(REST_TAKES[name] ?? []);
    },
  );
});

function propertiesOf({ answers }: Operation): string[] {
  const ok = Object.entries(answers).find(([status]) => Number(status) < 300)?.[1];
  return ok?.schema ? namesOf(ok.schema) : [];
}

function namesOf(schema: z.ZodType): string[] {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodArray) return namesOf(inner.element as z.ZodType);
  if (inner instanceof z.ZodUnion) return namesOf(inner.options[0] as z.ZodType);
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, field]) =>
    field.meta()?.deprecated ? [] : [name],
  );
}

/** Also of what the message carries: a resource, or the entries of a list. */
function fieldsOf(message: DescMessage): Set<string> {
  const own = message.fields.map(({ name }) => name);
  const carried = message.fields
    .flatMap(inner)
    .flatMap((field) => [field.name, ...inner(field).map(inSchedule)]);
  return new Set([...own, ...message.fields.flatMap(inner).map(inSchedule), ...carried]);
}

function inner({ message }: DescField): readonly DescField[] {
  return message?.typeName.startsWith('carillon.v1.') ? message.fields : [];
}

/** A schedule is a message of its own. */
function inSchedule({ name, parent }: DescField): string {
  const names: Readonly<Record<string, string>> = { type: 'schedule_type', time: 'schedule_time' };
  return parent.typeName === rpc.ScheduleSchema.typeName ? (names[name] ?? name) : name;
}

/** Marks of the fields that both have, of those within them too. */
function marksOf(
  schema: z.ZodType,
  message: DescMessage,
  names: Readonly<Record<string, string>> = {},
): { field: string; rest: boolean; rpc: boolean }[] {
  const plain = unwrapped(schema);
  if (plain instanceof z.ZodArray) return marksOf(plain.element as z.ZodType, message, names);
  if (plain instanceof z.ZodUnion)
    return plain.options.flatMap((option) => marksOf(option as z.ZodType, message, names));
  if (!(plain instanceof z.ZodObject)) return [];
  return Object.entries(plain.shape as Record<string, z.ZodType>).flatMap(([name, property]) => {
    const field = [...message.fields, ...message.fields.flatMap(inner)].find(
      (one) => one.name === (names[name] ?? name),
    );
    if (field === undefined) return [];
    const marks = { rest: property.meta()?.deprecated === true, rpc: field.deprecated };
    const within = field.message ? marksOf(property, field.message) : [];
    return [{ field: `${field.parent.name}.${name}`, ...marks }, ...within];
  });
}

describe('what is deprecated', () => {
  test('is marked in OpenAPI and in the proto files alike', () => {
    const marks = BOUND.flatMap(({ operation, binding }) => {
      const schema = Object.entries(operation.answers).find(([status]) => Number(status) < 300)?.[1].schema;
      return schema ? marksOf(schema, binding.method.output, binding.names) : [];
    });
    const one = (is: (mark: (typeof marks)[number]) => boolean) => [
      ...new Set(marks.filter(is).map(({ field }) => field)),
    ];
    expect(
      one(({ rest, rpc: marked }) => rest && !marked),
      'not marked in proto',
    ).toEqual([]);
    expect(
      one(({ rest, rpc: marked }) => !rest && marked),
      'not marked in OpenAPI',
    ).toEqual([]);
    expect(one(({ rest }) => rest)).toEqual(expect.arrayContaining(['Run.executor_id', 'LogLine.timestamp']));
  });

  test('is what the proto files call an older name', () => {
    const folder = join(import.meta.dirname, '../../../../contract/proto/carillon/v1');
    const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
    const differing = lines.filter((line, index) => {
      const isOlder = /^ *\/\/ (The|An) older name of \w+\.$/.test(lines[index - 1] ?? '');
      return isOlder !== /\[deprecated = true\];$/.test(line);
    });
    expect(differing).toEqual([]);
  });
});

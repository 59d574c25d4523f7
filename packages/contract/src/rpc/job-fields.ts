/**
 * The fields of a job as calls carry them, put into the words of a REST body: the same reader judges both, so a job means
 * the same through either door and is refused with the same code.
 */
import { type DescMessage, type MessageShape, toJson } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { type JsonObject, NAME_LENGTH_MAX, parseInstant, Refusal } from '@carillon/domain';
import { isBody } from '../rest/field-names.ts';
import { type Fields, fieldsOf } from './fields-of.ts';
import {
  type SubmitJobRequest,
  SubmitJobRequestSchema,
  type UpdateJobRequest,
  UpdateJobRequestSchema,
} from './generated/carillon/v1/jobs_pb.js';
import { type Schedule, ScheduleSchema } from './generated/carillon/v1/resources_pb.js';

/** Fields of a Schedule whose name in a REST body is another one. */
const SCHEDULE_NAMES: Readonly<Record<string, string>> = { type: 'schedule_type', time: 'schedule_time' };
const SCHEDULE_FIELDS = new Map(
  ScheduleSchema.fields.map(({ name }) => [SCHEDULE_NAMES[name] ?? name, `schedule.${name}`]),
);

export function submitBody(request: SubmitJobRequest): Fields {
  const { idempotency_key: _, ...body } = restBody(SubmitJobRequestSchema, request);
  const called = request.codeLocation || request.handler;
  if (body.name === undefined && called !== '') body.name = called.slice(0, NAME_LENGTH_MAX);
  return body;
}

export function updateBody(request: UpdateJobRequest): Fields {
  const { job_id: _, expected_version: __, reset = [], ...body } = restBody(UpdateJobRequestSchema, request);
  for (const written of reset as string[]) {
    const name = bodyName(written);
    if (body[name] !== undefined) {
      const message = `${written} is both given and set back to its default; do only one of them.`;
      throw new Refusal('field_conflict', message, { field: written });
    }
    body[name] = null;
  }
  return body;
}

export function scheduleBody(schedule: Schedule | undefined): Fields {
  if (schedule === undefined) return {};
  return Object.fromEntries(
    Object.entries(fieldsOf(ScheduleSchema, schedule)).map(([name, value]) => [
      SCHEDULE_NAMES[name] ?? name,
      value,
    ]),
  );
}

/** An instant outside of jobs, in milliseconds. */
export function instantAsked(given: Timestamp, field: string): number {
  try {
    return parseInstant(toJson(TimestampSchema, given), { field });
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('time_out_of_range', `${field} is no instant that can be written down.`, {
      field,
      cause: error,
    });
  }
}

/** What REST calls otherwise, outside of jobs. */
const OTHER_FIELDS = new Map([
  ['If-Match', 'expected_version'],
  ['Idempotency-Key', 'idempotency_key'],
  ['last_event_id', 'after_id'],
  ['type', 'types'],
]);

/** The field that a refusal names, as callers of RPC know it: cron_expression → schedule.cron_expression. */
export function rpcField(field: string): string {
  const [first = '', ...rest] = field.split('.');
  return [OTHER_FIELDS.get(first) ?? SCHEDULE_FIELDS.get(first) ?? first, ...rest].join('.');
}

/** A refusal as messages carry it. */
export function refusedMessage({ code, message, field, fix }: Refusal) {
  if (field === undefined) return { code, message, field: '', fix };
  const called = rpcField(field);
  // Sentences begin with the field they are about.
  const said = message.startsWith(`${field} `) ? `${called}${message.slice(field.length)}` : message;
  return { code, message: said, field: called, fix };
}

function bodyName(field: string): string {
  const within = /^schedule\.(\w+)$/.exec(field)?.[1];
  return within === undefined ? field : (SCHEDULE_NAMES[within] ?? within);
}

function restBody<Schema extends DescMessage>(
  schema: Schema,
  message: MessageShape<Schema> & { readonly schedule?: Schedule | undefined },
): Fields {
  const { schedule: _, code_location: location, ...body } = fieldsOf(schema, message);
  return {
    ...body,
    ...scheduleBody(message.schedule),
    ...(typeof location === 'string' && located(location, body)),
  };
}

/** What a code location stands for: a call of an address, or a handler by its name. */
function located(location: string, { handler, payload }: Fields): Fields {
  if (handler !== undefined) throw twice('code_location and handler');
  if (!/^https?:\/\//i.test(location)) return { handler: location };
  const rest = isBody(payload) ? payload : {};
  if (rest.url !== undefined) throw twice('code_location and payload.url');
  return { handler: 'http', payload: { ...rest, url: location } as JsonObject };
}

function twice(what: string): Refusal {
  return new Refusal('field_conflict', `${what} say the same thing; give only one of them.`, {
    field: 'code_location',
  });
}

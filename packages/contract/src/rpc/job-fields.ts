/** The fields of a job in messages, as the fields of a body of REST: the same shape reads both, and refuses with the same code. */
import { type JsonObject, NAME_LENGTH_MAX, type Refusal, refuseValue } from '@carillon/domain';
import { isBody } from '../rest/shape.ts';
import { ScheduleSchema } from './generated/carillon.ts';
import type { Fields } from './messages.ts';

/** Fields of a Schedule whose name in a REST body is another one. */
const SCHEDULE_NAMES: Readonly<Record<string, string>> = { type: 'schedule_type', time: 'schedule_time' };
const SCHEDULE_FIELDS = new Map(
  ScheduleSchema.fields.map(({ name }) => [SCHEDULE_NAMES[name] ?? name, `schedule.${name}`]),
);

export function submitFields(fields: Fields): Fields {
  const body = restFields(fields);
  const called = (fields.code_location ?? fields.handler) as string | undefined;
  if (body.name === undefined && body.key === undefined && called !== undefined)
    body.name = called.slice(0, NAME_LENGTH_MAX);
  return body;
}

export function updateFields({ reset = [], ...fields }: Fields): Fields {
  const body = restFields(fields);
  for (const written of reset as string[]) {
    const name = bodyName(written);
    if (body[name] !== undefined) {
      const message = `${written} is both given and set back to its default; do only one of them.`;
      refuseValue(written, message, 'field_conflict');
    }
    body[name] = null;
  }
  return body;
}

export { restFields as previewFields };

/** No message can hold a field that is null. */
export function rerunFields({ without_input: without, ...fields }: Fields): Fields {
  return without === true ? { input: null, ...fields } : fields;
}

/** oldest_first is a word for one of the orders. */
export function listJobsFields({ oldest_first: oldestFirst, ...fields }: Fields): Fields {
  if (oldestFirst === undefined) return fields;
  if (fields.sort === undefined) return { ...fields, sort: 'created_at' };
  const message = 'sort and oldest_first both say the order; give only one of them.';
  return refuseValue('sort', message, 'field_conflict');
}

/** What REST calls otherwise, outside of jobs. */
const OTHER_FIELDS = new Map([
  ['If-Match', 'expected_version'],
  ['Idempotency-Key', 'idempotency_key'],
  ['last_event_id', 'after_id'],
  ['Last-Event-ID', 'after_id'],
  ['cursor', 'page_token'],
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

/** The fields of the schedule stand beside the others in REST. */
function restFields({ schedule, code_location: location, ...body }: Fields): Fields {
  const flat = Object.entries((schedule ?? {}) as Fields).map(([name, value]) => [
    SCHEDULE_NAMES[name] ?? name,
    value,
  ]);
  return {
    ...body,
    ...Object.fromEntries(flat),
    ...(typeof location === 'string' && located(location, body)),
  };
}

/** What a code location stands for: a call of an address, or a handler by its name. */
function located(location: string, { handler, payload }: Fields): Fields {
  if (handler !== undefined) refuseTwice('code_location and handler');
  if (!/^https?:\/\//i.test(location)) return { handler: location };
  const rest = isBody(payload) ? payload : {};
  if (rest.url !== undefined) refuseTwice('code_location and payload.url');
  return { handler: 'http', payload: { ...rest, url: location } as JsonObject };
}

function refuseTwice(names: string): never {
  refuseValue('code_location', `${names} say the same thing; give only one of them.`, 'field_conflict');
}

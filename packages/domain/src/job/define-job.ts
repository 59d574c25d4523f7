/**
 * From a request to a definition: everything a job means is judged here, once, for every interface. What is
 * accepted can run; what cannot is refused with the field to correct. Pure: the caller brings the time.
 */
import { refuseValue } from '../errors/refusal.ts';
import type { JobId, JsonObject } from '../ids.ts';
import { DEFAULT_RETRY, RETRIES_MAX, RETRY_FIELDS, type RetryPolicy } from '../retry/retry-policy.ts';
import { DEFAULT_MISFIRE, MISFIRE_FIELDS, type MisfirePolicy } from '../schedule/schedule.ts';
import { canonical, readSchedule } from './define-job-schedule.ts';
import {
  inferHandler,
  PAYLOAD_CHECKS,
  readNamespace,
  readNumber,
  readPayload,
  readText,
} from './define-job-values.ts';
import { defaultsOf, plainFields, readFields } from './field-kinds.ts';
import { HANDLER_LENGTH_MAX, HANDLER_NAME } from './handler-description.ts';
import {
  type Job,
  type JobDefinition,
  type JobInput,
  type JobPatch,
  NAME_LENGTH_MAX,
  payloadOf,
} from './job.ts';
import { JOB_FIELDS, PLAIN_JOB_FIELDS } from './job-fields.ts';

export { canonical, sameSchedule } from './define-job-schedule.ts';

/** Where a job goes and whose it is when it says nothing of that. */
export interface JobHome {
  readonly namespace: string | undefined;
  readonly userId: string | undefined;
}

export function defineJob(input: JobInput, nowMs: number, home?: JobHome): JobDefinition {
  return readJob(input, { current: DEFAULTS, isNew: true, nowMs, home });
}

/** A new job in its first version; its id and its shard are yet to be set. */
export function draftJob(
  input: JobInput,
  nowMs: number,
  home?: JobHome,
): { -readonly [Name in keyof Job]: Job[Name] } {
  const job = readJob(input, { current: DRAFT, isNew: true, nowMs, home });
  job.createdAtMs = nowMs;
  job.updatedAtMs = nowMs;
  return job;
}

export interface Redefinition {
  readonly definition: JobDefinition;
  /** False: the plan stays as it is, so that an edit of other things can neither lose nor double a fire. */
  readonly scheduleChanged: boolean;
}

export function redefineJob(job: JobDefinition, patch: JobPatch, nowMs: number): Redefinition {
  const definition = readJob(patch, { current: job, isNew: false, nowMs, home: undefined });
  return { definition, scheduleChanged: definition.schedule !== job.schedule };
}

/** The input is the complete definition: fields that are left out return to their defaults, but the job stays whose it is. */
export function replaceJob(job: Job, input: JobInput, nowMs: number): Redefinition {
  const { namespace, userId, key } = job;
  const complete = { ...input, key: input.key ?? key };
  const home = { namespace, userId };
  const definition = readJob(complete, { current: DEFAULTS, isNew: true, nowMs, home, replaces: job });
  readNamespace(definition.namespace, job);
  return { definition, scheduleChanged: definition.schedule !== job.schedule };
}

/** Whether two definitions mean the same; how their parts were stored or spelled is no difference. */
export function sameDefinition(one: JobDefinition, other: JobDefinition): boolean {
  return DEFINITION_PROPERTIES.every((name) =>
    name === 'payload'
      ? canonical(payloadOf(one)) === canonical(payloadOf(other))
      : canonical(one[name]) === canonical(other[name]),
  );
}

interface Context<Shape extends JobDefinition> {
  /** What fields that are left out stay as. */
  readonly current: Shape;
  readonly isNew: boolean;
  readonly nowMs: number;
  readonly home: JobHome | undefined;
  readonly replaces?: Job;
}

/** Every property, so that all definitions have one shape. */
const DEFAULTS: JobDefinition = inOnePiece({
  ...defaultsOf(JOB_FIELDS),
  namespace: '',
  name: '',
  handler: '',
  payload: '{}',
  schedule: { type: 'IMMEDIATE' },
  misfire: DEFAULT_MISFIRE,
  retry: DEFAULT_RETRY,
});
/** What a job is made of, beside what the engine keeps of it. */
export const DEFINITION_PROPERTIES = Object.keys(DEFAULTS) as (keyof JobDefinition)[];
const DRAFT: Job = inOnePiece({
  ...DEFAULTS,
  jobId: '' as JobId,
  shard: 0,
  version: 1,
  status: 'SCHEDULED',
  createdAtMs: 0,
  updatedAtMs: 0,
});

/**
 * V8 keeps the properties of a parsed object inside the object, and copies it in one piece. Properties that were added one by one
 * lie beside it, and each copy costs a second allocation.
 */
function inOnePiece<Shape extends object>(values: Shape): Shape {
  const shape = JSON.parse(JSON.stringify(values, (key, value) => (key === '' ? value : null)));
  return Object.assign(shape, values);
}

const MISFIRE_MEMBERS = plainFields(MISFIRE_FIELDS, 'misfire');
const RETRY_MEMBERS = plainFields(RETRY_FIELDS, 'retry');

function readJob<Shape extends JobDefinition>(
  input: JobInput,
  { current, isNew, nowMs, home, replaces }: Context<Shape>,
): { -readonly [Name in keyof Shape]: Shape[Name] } {
  const before = isNew ? undefined : current;
  const payload = readPayloadOf(input, before);
  const handler = readHandler(input, { current: before, payload });
  const check = PAYLOAD_CHECKS.get(handler);
  if (check && (input.payload !== undefined || input.handler !== undefined || isNew)) {
    check(input.payload ?? (JSON.parse(payload) as JsonObject));
  }
  const name = readName(input, before);
  const namespace = readNamespace(input.namespace ?? home?.namespace, before);
  const definition: { -readonly [Name in keyof JobDefinition]: JobDefinition[Name] } = readFields(
    PLAIN_JOB_FIELDS,
    input,
    current,
  );
  if (home && input.userId == null && home.userId !== undefined) {
    definition.userId = JOB_FIELDS.user_id.read(home.userId, 'user_id');
  }
  definition.name = name;
  definition.namespace = namespace;
  definition.handler = handler;
  definition.payload = payload;
  definition.schedule = readSchedule(input, { current: before?.schedule, nowMs, replaces });
  definition.misfire = readMisfire(input, before?.misfire);
  definition.retry = readRetry(input, before?.retry);
  return definition as { -readonly [Name in keyof Shape]: Shape[Name] };
}

function readPayloadOf({ payload }: JobInput, current: JobDefinition | undefined): string {
  if (payload === undefined) return current?.payload ?? DEFAULTS.payload;
  return payload === null ? DEFAULTS.payload : readPayload(payload);
}

function readName(input: JobInput, current: JobDefinition | undefined): string {
  const name = input.name === undefined ? (current?.name ?? input.key) : input.name;
  if (name === undefined || name === null) {
    return refuseValue('name', 'A job needs a name.', 'field_missing');
  }
  return readText(name, { field: 'name', lengthMax: NAME_LENGTH_MAX });
}

function readHandler(
  input: JobInput,
  { current, payload }: { current: JobDefinition | undefined; payload: string },
): string {
  if (input.handler === undefined && current) return current.handler;
  if (input.handler === undefined || input.handler === null) return inferHandler(payload);
  const name = readText(input.handler, { field: 'handler', lengthMax: HANDLER_LENGTH_MAX });
  if (name.includes('://')) {
    const message =
      'handler is a name; an address to call belongs into payload.url, with the handler "http".';
    refuseValue('handler', message);
  }
  return requireHandlerName(name, 'handler');
}

export function requireHandlerName(name: string, field: string): string {
  if (name.length <= HANDLER_LENGTH_MAX && HANDLER_NAME.test(name)) return name;
  const message = `${field} is made of letters, digits and . _ : / - and begins with a letter or a digit.`;
  return refuseValue(field, message);
}

function readMisfire({ misfire: given }: JobInput, current: MisfirePolicy = DEFAULT_MISFIRE): MisfirePolicy {
  if (given === null) return DEFAULT_MISFIRE;
  return given === undefined ? current : readFields(MISFIRE_MEMBERS, given, current);
}

function readRetry(input: JobInput, before: RetryPolicy = DEFAULT_RETRY): RetryPolicy {
  const { retry: given, maxRetries } = input;
  // Most say nothing, and share one object.
  if (given === undefined && maxRetries === undefined) return before;
  const current = given === null ? { ...DEFAULT_RETRY, maxRetries: before.maxRetries } : before;
  const retry = readFields(RETRY_MEMBERS, given ?? {}, current);
  if (given?.maxDelaySeconds != null && retry.delayMsMax < retry.delayMs) {
    const message = 'retry.max_delay_seconds is shorter than retry.delay_seconds.';
    refuseValue('retry.max_delay_seconds', message, 'field_conflict');
  }
  // A long first delay with no word about the longest one means that delay itself.
  retry.delayMsMax = Math.max(retry.delayMs, retry.delayMsMax);
  if (maxRetries === null) retry.maxRetries = DEFAULT_RETRY.maxRetries;
  else if (maxRetries !== undefined) {
    retry.maxRetries = readNumber(maxRetries, {
      field: 'max_retries',
      min: 0,
      max: RETRIES_MAX,
      integer: true,
    });
  }
  return retry;
}

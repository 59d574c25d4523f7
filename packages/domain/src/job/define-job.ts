/**
 * From a request to a definition: everything a job means is judged here, once, for every door it can come through. What
 * is accepted can run; what cannot is refused with the field to correct. Pure: the caller brings the time.
 */
import { Refusal } from '../errors/refusal.ts';
import type { JsonObject } from '../ids.ts';
import { DEFAULT_RETRY, RETRIES_MAX, type RetryPolicy } from '../retry/retry-policy.ts';
import { DEFAULT_MISFIRE, type MisfirePolicy } from '../schedule/schedule.ts';
import { checkHttpPayload } from './check-http-payload.ts';
import type { JobInput, JobPatch, MisfireInput, RetryInput } from './define-job-input.ts';
import { inferHandler, readPayload } from './define-job-payload.ts';
import { readSchedule } from './define-job-schedule.ts';
import { NO_LABELS, NO_RESOURCES, readLabels, readNamespace, readResources } from './define-job-tags.ts';
import { field, givenOr, JOB_BOUNDS, readNumber, readSeconds, readText } from './define-job-values.ts';
import {
  CONCURRENCY_MAX,
  type JobDefinition,
  NAME_LENGTH_MAX,
  type OverlapPolicy,
  TIMEOUT_MS_DEFAULT,
  TIMEOUT_MS_MAX,
} from './job.ts';
import type { Priority } from './priority.ts';

export type { JobInput, JobPatch, ScheduleTypeWord } from './define-job-input.ts';
export { sameSchedule } from './define-job-schedule.ts';

/** Where a job goes and whose it is when it says nothing of that. */
export interface JobHome {
  readonly namespace: string | undefined;
  readonly userId: string | undefined;
}

export function defineJob(input: JobInput, nowMs: number, home?: JobHome): JobDefinition {
  return readJob(input, { current: undefined, nowMs, home });
}

export interface Redefinition {
  readonly definition: JobDefinition;
  /** False: the plan stays as it is, so that an edit of other things can neither lose nor double a fire. */
  readonly scheduleChanged: boolean;
}

export function redefineJob(job: JobDefinition, patch: JobPatch, nowMs: number): Redefinition {
  const definition = readJob(patch, { current: job, nowMs, home: undefined });
  return { definition, scheduleChanged: definition.schedule !== job.schedule };
}

interface Context {
  readonly current: JobDefinition | undefined;
  readonly nowMs: number;
  readonly home: JobHome | undefined;
}

const payloadField = field({ fallback: '{}', read: readPayload });
const userField = field<string, string | undefined>({
  fallback: undefined,
  read: (text) => readText(text, { field: 'user_id', lengthMax: JOB_BOUNDS.userIdLengthMax }),
});
const priorityField = field<Priority, Priority>({ fallback: 'medium', read: (word) => word });
const concurrencyField = field<number, number>({
  fallback: 1,
  read: (n) => readNumber(n, { field: 'max_concurrency', min: 1, max: CONCURRENCY_MAX, whole: true }),
});
const overlapField = field<OverlapPolicy, OverlapPolicy>({ fallback: 'queue', read: (word) => word });
const timeoutField = field<number, number>({
  fallback: TIMEOUT_MS_DEFAULT,
  read: (n) => readSeconds(n, { field: 'timeout_seconds', min: 0.001, max: TIMEOUT_MS_MAX / 1_000 }),
});
const startTimeoutField = optionalSeconds('start_timeout_seconds', JOB_BOUNDS.startTimeoutSecondsMax);
const deadlineField = optionalSeconds('retry.deadline_seconds', JOB_BOUNDS.retryDeadlineSecondsMax);
const labelsField = field({ fallback: NO_LABELS, read: readLabels });
const resourcesField = field({ fallback: NO_RESOURCES, read: readResources });

function readJob(input: JobInput, { current, nowMs, home }: Context): JobDefinition {
  const payload = payloadField(input.payload, current?.payload);
  const handler = readHandler(input, { current, payload });
  if (handler === 'http' && (input.payload !== undefined || input.handler !== undefined || !current)) {
    checkHttpPayload(input.payload ?? (JSON.parse(payload) as JsonObject));
  }
  return {
    name: readName(input, current),
    namespace: readNamespace(input.namespace ?? home?.namespace, current),
    userId: userField(input.userId ?? (home ? home.userId : input.userId), current?.userId),
    handler,
    payload,
    schedule: readSchedule(input, { current: current?.schedule, nowMs }),
    misfire: readMisfire(input.misfire, current?.misfire),
    priority: priorityField(input.priority, current?.priority),
    maxConcurrency: concurrencyField(input.maxConcurrency, current?.maxConcurrency),
    overlap: overlapField(input.overlap, current?.overlap),
    retry: readRetry(input, current?.retry),
    timeoutMs: timeoutField(input.timeoutSeconds, current?.timeoutMs),
    startTimeoutMs: startTimeoutField(input.startTimeoutSeconds, current?.startTimeoutMs),
    labels: labelsField(input.labels, current?.labels),
    resources: resourcesField(input.resources, current?.resources),
  };
}

function readName(input: JobInput, current: JobDefinition | undefined): string {
  const name = input.name === undefined ? current?.name : input.name;
  if (name === undefined || name === null)
    throw new Refusal('field_missing', 'A job needs a name.', { field: 'name' });
  return readText(name, { field: 'name', lengthMax: NAME_LENGTH_MAX });
}

const HANDLER_NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/;

function readHandler(
  input: JobInput,
  { current, payload }: { current: JobDefinition | undefined; payload: string },
): string {
  if (input.handler === undefined && current) return current.handler;
  if (input.handler === undefined || input.handler === null) return inferHandler(payload);
  const name = readText(input.handler, { field: 'handler', lengthMax: JOB_BOUNDS.handlerLengthMax });
  if (name.includes('://')) {
    const message =
      'handler is a name; an address to call belongs into payload.url, with the handler "http".';
    throw new Refusal('field_invalid', message, { field: 'handler' });
  }
  if (HANDLER_NAME.test(name)) return name;
  const message = 'handler is made of letters, digits and . _ : / - and begins with a letter or a digit.';
  throw new Refusal('field_invalid', message, { field: 'handler' });
}

function readMisfire(
  given: MisfireInput | null | undefined,
  current: MisfirePolicy = DEFAULT_MISFIRE,
): MisfirePolicy {
  if (given === null) return DEFAULT_MISFIRE;
  if (given === undefined) return current;
  return {
    kind: givenOr(given.policy, {
      current: current.kind,
      fallback: DEFAULT_MISFIRE.kind,
      read: (word) => word,
    }),
    maxRuns: givenOr(given.maxRuns, {
      current: current.maxRuns,
      fallback: DEFAULT_MISFIRE.maxRuns,
      read: (n) =>
        readNumber(n, { field: 'misfire.max_runs', min: 1, max: JOB_BOUNDS.misfireRunsMax, whole: true }),
    }),
    windowMs: givenOr(given.windowSeconds, {
      current: current.windowMs,
      fallback: DEFAULT_MISFIRE.windowMs,
      read: (n) =>
        readSeconds(n, { field: 'misfire.window_seconds', min: 0, max: JOB_BOUNDS.misfireWindowSecondsMax }),
    }),
  };
}

function readRetry(input: JobInput, before: RetryPolicy = DEFAULT_RETRY): RetryPolicy {
  // Most say nothing, and share one object.
  if (input.retry === undefined && input.maxRetries === undefined) return before;
  const given: RetryInput = input.retry ?? {};
  const current = input.retry === null ? { ...DEFAULT_RETRY, maxRetries: before.maxRetries } : before;
  const delayMs = givenOr(given.delaySeconds, {
    current: current.delayMs,
    fallback: DEFAULT_RETRY.delayMs,
    read: (n) =>
      readSeconds(n, { field: 'retry.delay_seconds', min: 0, max: JOB_BOUNDS.retryDelaySecondsMax }),
  });
  const delayMsMax = givenOr(given.maxDelaySeconds, {
    current: current.delayMsMax,
    // A long first delay with no word about the longest one means that delay itself.
    fallback: Math.max(DEFAULT_RETRY.delayMsMax, delayMs),
    read: (n) =>
      readSeconds(n, { field: 'retry.max_delay_seconds', min: 0, max: JOB_BOUNDS.retryMaxDelaySecondsMax }),
  });
  if (given.maxDelaySeconds != null && delayMsMax < delayMs) {
    const message = 'retry.max_delay_seconds is shorter than retry.delay_seconds.';
    throw new Refusal('field_conflict', message, { field: 'retry.max_delay_seconds' });
  }
  return {
    strategy: givenOr(given.strategy, {
      current: current.strategy,
      fallback: DEFAULT_RETRY.strategy,
      read: (word) => word,
    }),
    maxRetries: givenOr(input.maxRetries, {
      current: current.maxRetries,
      fallback: DEFAULT_RETRY.maxRetries,
      read: (n) => readNumber(n, { field: 'max_retries', min: 0, max: RETRIES_MAX, whole: true }),
    }),
    delayMs,
    delayMsMax: Math.max(delayMs, delayMsMax),
    jitter: givenOr(given.jitter, {
      current: current.jitter,
      fallback: DEFAULT_RETRY.jitter,
      read: (word) => word,
    }),
    deadlineMs: deadlineField(given.deadlineSeconds, current.deadlineMs),
  };
}

function optionalSeconds(name: string, max: number) {
  return field<number, number | undefined>({
    fallback: undefined,
    read: (seconds) => readSeconds(seconds, { field: name, min: 0.001, max }),
  });
}

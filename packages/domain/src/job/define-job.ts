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
import { givenOr, JOB_BOUNDS, readNumber, readSeconds, readText } from './define-job-values.ts';
import {
  CONCURRENCY_MAX,
  type JobDefinition,
  NAME_LENGTH_MAX,
  TIMEOUT_MS_DEFAULT,
  TIMEOUT_MS_MAX,
} from './job.ts';

export type { JobInput, JobPatch, ScheduleTypeWord } from './define-job-input.ts';
export { sameSchedule } from './define-job-schedule.ts';

export function defineJob(input: JobInput, nowMs: number): JobDefinition {
  return readJob(input, { current: undefined, nowMs });
}

export interface Redefinition {
  readonly definition: JobDefinition;
  /** False: the plan stays as it is, so that an edit of other things can neither lose nor double a fire. */
  readonly scheduleChanged: boolean;
}

export function redefineJob(job: JobDefinition, patch: JobPatch, nowMs: number): Redefinition {
  const definition = readJob(patch, { current: job, nowMs });
  return { definition, scheduleChanged: definition.schedule !== job.schedule };
}

interface Context {
  readonly current: JobDefinition | undefined;
  readonly nowMs: number;
}

function readJob(input: JobInput, { current, nowMs }: Context): JobDefinition {
  const payload = givenOr(input.payload, { current: current?.payload, fallback: '{}', read: readPayload });
  const handler = readHandler(input, { current, payload });
  if (handler === 'http' && (input.payload !== undefined || input.handler !== undefined || !current)) {
    checkHttpPayload(input.payload ?? (JSON.parse(payload) as JsonObject));
  }
  return {
    name: readName(input, current),
    namespace: readNamespace(input.namespace, current),
    userId: givenOr<string, string | undefined>(input.userId, {
      current: current?.userId,
      fallback: undefined,
      read: (text) => readText(text, { field: 'user_id', lengthMax: JOB_BOUNDS.userIdLengthMax }),
    }),
    handler,
    payload,
    schedule: readSchedule(input, { current: current?.schedule, nowMs }),
    misfire: readMisfire(input.misfire, current?.misfire),
    priority: givenOr(input.priority, {
      current: current?.priority,
      fallback: 'medium',
      read: (word) => word,
    }),
    maxConcurrency: givenOr(input.maxConcurrency, {
      current: current?.maxConcurrency,
      fallback: 1,
      read: (n) => readNumber(n, { field: 'max_concurrency', min: 1, max: CONCURRENCY_MAX, whole: true }),
    }),
    overlap: givenOr(input.overlap, { current: current?.overlap, fallback: 'queue', read: (word) => word }),
    retry: readRetry(input, current?.retry),
    timeoutMs: givenOr(input.timeoutSeconds, {
      current: current?.timeoutMs,
      fallback: TIMEOUT_MS_DEFAULT,
      read: (n) => readSeconds(n, { field: 'timeout_seconds', min: 0.001, max: TIMEOUT_MS_MAX / 1_000 }),
    }),
    startTimeoutMs: readOptionalSeconds(input.startTimeoutSeconds, {
      current: current?.startTimeoutMs,
      field: 'start_timeout_seconds',
      max: JOB_BOUNDS.startTimeoutSecondsMax,
    }),
    labels: givenOr(input.labels, { current: current?.labels, fallback: NO_LABELS, read: readLabels }),
    resources: givenOr(input.resources, {
      current: current?.resources,
      fallback: NO_RESOURCES,
      read: readResources,
    }),
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
    deadlineMs: readOptionalSeconds(given.deadlineSeconds, {
      current: current.deadlineMs,
      field: 'retry.deadline_seconds',
      max: JOB_BOUNDS.retryDeadlineSecondsMax,
    }),
  };
}

function readOptionalSeconds(
  given: number | null | undefined,
  { current, field, max }: { current: number | undefined; field: string; max: number },
): number | undefined {
  return givenOr<number, number | undefined>(given, {
    current,
    fallback: undefined,
    read: (seconds) => readSeconds(seconds, { field, min: 0.001, max }),
  });
}

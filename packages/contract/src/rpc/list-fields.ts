/** What lists are asked for over RPC, read as strictly as a query of REST. Fields of a message that are empty were left out. */
import {
  JOB_STATUSES,
  type JobId,
  type JobStatus,
  type Labels,
  PRIORITIES,
  type Priority,
  Refusal,
  type ScheduleType,
} from '@carillon/domain';
import { readId } from '../rest/ids.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../rest/query-values.ts';
import type { ListJobsRequest } from './generated/carillon/v1/jobs_pb.js';

const SCHEDULE_TYPES = ['IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL'] as const satisfies readonly ScheduleType[];
const TEXT_LENGTH_MAX = 200;

export interface JobsAsked {
  readonly statuses: readonly JobStatus[];
  readonly scheduleTypes: readonly ScheduleType[] | undefined;
  readonly priority: Priority | undefined;
  readonly userId: string | undefined;
  readonly namespace: string | undefined;
  readonly handler: string | undefined;
  readonly labels: Labels | undefined;
  readonly text: string | undefined;
  readonly order: 'newest' | 'oldest';
  readonly afterJobId: JobId | undefined;
  readonly limit: number;
}

export function jobsAsked(request: ListJobsRequest): JobsAsked {
  const types = request.types.map((given) => oneOf(SCHEDULE_TYPES, given, 'types'));
  const labels = Object.entries(request.labels).map(([key, value]): [string, string] => [
    storable(key, 'labels'),
    storable(value, 'labels'),
  ]);
  return {
    statuses: request.statuses.map((given) => oneOf(JOB_STATUSES, given, 'statuses')),
    scheduleTypes: types.length === 0 ? undefined : types,
    priority: request.priority === '' ? undefined : oneOf(PRIORITIES, request.priority, 'priority'),
    userId: textAsked(request.userId, 'user_id'),
    namespace: textAsked(request.namespace, 'namespace'),
    handler: textAsked(request.handler, 'handler'),
    labels: labels.length === 0 ? undefined : Object.fromEntries(labels),
    text: textAsked(request.text, 'text'),
    order: request.oldestFirst ? 'oldest' : 'newest',
    afterJobId: request.pageToken === '' ? undefined : (pageToken(request.pageToken) as JobId),
    limit: pageSizeAsked(request.pageSize),
  };
}

export function textAsked(given: string, field: string): string | undefined {
  return given === '' ? undefined : storable(given, field);
}

export function countAsked(
  given: number,
  { field, fallback, max }: { field: string; fallback: number; max: number },
): number {
  if (given >= 0 && given <= max) return given === 0 ? fallback : given;
  throw new Refusal('field_invalid', `${field} must be a whole number from 1 to ${max}.`, { field });
}

export function pageSizeAsked(given: number): number {
  return countAsked(given, { field: 'page_size', fallback: LIMIT_DEFAULT, max: LIMIT_MAX });
}

function pageToken(given: string): string {
  try {
    return readId(given, 'job');
  } catch (error) {
    const message = 'page_token must be the next_page_token of a page of the same list.';
    throw new Refusal('field_invalid', message, { field: 'page_token', cause: error });
  }
}

/** Case is forgiven. */
function oneOf<const Word extends string>(words: readonly Word[], given: string, field: string): Word {
  const found = words.find((word) => word.toLowerCase() === given.toLowerCase());
  if (found !== undefined) return found;
  throw new Refusal('field_invalid', `${field} must be one of ${words.join(', ')}.`, { field });
}

/** No PostgreSQL text can hold U+0000 or half a surrogate pair, so nothing that is asked for can contain them. */
function storable(given: string, field: string): string {
  if (given.length <= TEXT_LENGTH_MAX && given.isWellFormed() && !given.includes('\u0000')) return given;
  const message = `${field} is longer than ${TEXT_LENGTH_MAX} characters or holds one that cannot be stored.`;
  throw new Refusal('field_invalid', message, { field });
}

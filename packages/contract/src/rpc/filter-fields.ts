/** Which jobs and dead letters are meant, as lists and bulk changes ask for them. */
import {
  DEAD_REASONS,
  type DeadReason,
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
import { JOBS_QUERY, type JobsFilter, type JobsQuery, toJobsQuery } from '../rest/job-query.ts';
import type { DeadLettersFilter } from '../rest/query.ts';
import { readShape } from '../rest/shape.ts';
import type {
  DeadLetterFilter,
  JobFilter,
  ListDeadLettersRequest,
  ListJobsRequest,
} from './generated/carillon/v1/jobs_pb.js';
import { instantAsked } from './job-fields.ts';
import { pageTokenAsked, storable, textAsked, wordAsked } from './list-fields.ts';

export type JobsOrder = Pick<JobsQuery, 'order' | 'after' | 'sorted'>;

const SCHEDULE_TYPES = ['IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL'] as const satisfies readonly ScheduleType[];

/** within: the message that holds the filters, for refusals. */
export function jobFilterAsked(asked: JobFilter | ListJobsRequest, within = ''): JobsFilter {
  const named = (field: string) => `${within}${field}`;
  const text = (field: 'userId' | 'namespace' | 'handler' | 'text', name: string = field) =>
    textAsked(asked[field], named(name));
  const statuses: JobStatus[] = asked.statuses.map((given) =>
    wordAsked(JOB_STATUSES, given, named('statuses')),
  );
  const types = asked.types.map((given) => wordAsked(SCHEDULE_TYPES, given, named('types')));
  const priority: Priority | undefined =
    asked.priority === '' ? undefined : wordAsked(PRIORITIES, asked.priority, named('priority'));
  return {
    statuses: statuses.length === 0 ? undefined : statuses,
    scheduleTypes: types.length === 0 ? undefined : types,
    priority,
    userId: text('userId', 'user_id'),
    namespace: text('namespace'),
    handler: text('handler'),
    labels: labelsAsked(asked.labels, named('labels')),
    text: text('text'),
    createdFromMs: asked.createdAfter && instantAsked(asked.createdAfter, named('created_after')),
    createdToMs: asked.createdBefore && instantAsked(asked.createdBefore, named('created_before')),
  };
}

/** The order of a list of jobs, and the place in it to go on from. */
export function jobOrderAsked({ sort, oldestFirst, pageToken }: ListJobsRequest): JobsOrder {
  if (sort !== '' && oldestFirst) {
    const message = 'sort and oldest_first both say the order; give only one of them.';
    throw new Refusal('field_conflict', message, { field: 'sort' });
  }
  const asked = { sort: sort || (oldestFirst ? 'created_at' : '-created_at') };
  const orderOf = (after?: string): JobsOrder =>
    toJobsQuery(readShape(JOBS_QUERY, after === undefined ? asked : { ...asked, after }));
  const first = orderOf();
  return pageTokenAsked(pageToken, orderOf) ?? first;
}

export function letterFilterAsked(
  asked: DeadLetterFilter | ListDeadLettersRequest,
  within = '',
): DeadLettersFilter {
  const named = (field: string) => `${within}${field}`;
  const reason: DeadReason | undefined =
    asked.reason === '' ? undefined : wordAsked(DEAD_REASONS, asked.reason, named('reason'));
  return {
    jobId: asked.jobId === '' ? undefined : (readId(asked.jobId, 'job') as JobId),
    reason,
    handler: textAsked(asked.handler, named('handler')),
    namespace: textAsked(asked.namespace, named('namespace')),
    userId: textAsked(asked.userId, named('user_id')),
    diedFromMs: asked.diedAfter && instantAsked(asked.diedAfter, named('died_after')),
    diedToMs: asked.diedBefore && instantAsked(asked.diedBefore, named('died_before')),
  };
}

export function labelsAsked(asked: Readonly<Record<string, string>>, field: string): Labels | undefined {
  const labels = Object.entries(asked).map(([key, value]): [string, string] => [
    storable(key, field),
    storable(value, field),
  ]);
  return labels.length === 0 ? undefined : Object.fromEntries(labels);
}

/** A job from a row of `jobs`. */
import {
  Cache,
  DEFAULT_MISFIRE,
  DEFAULT_RETRY,
  type Job,
  type MisfirePolicy,
  type RecurringSchedule,
  type RetryPolicy,
  type Schedule,
  type ScheduleType,
} from '@carillon/domain';
import { exists } from './fragments.sql.ts';
import { JOB_COLUMNS, selected } from './job-columns.ts';
import type { Selection } from './selection.ts';

/**
 * The status of a job j, composed: success of a one-off is written nowhere (it would cost the hot path an update of a wide
 * row per run), it follows from nothing of it being pending or alive any more. A pause that holds back runs is not over by that:
 * they could never be resumed.
 */
export const JOB_STATUS = `CASE WHEN j.schedule_type IN ('IMMEDIATE', 'FUTURE') AND j.status IN ('SCHEDULED', 'PAUSED')
    AND NOT ${exists(`SELECT FROM due d WHERE d.job_id = j.job_id AND (d.kind = 1 OR (d.held AND j.status = 'PAUSED'))`)}
    AND NOT EXISTS (SELECT FROM leases l CROSS JOIN LATERAL unnest(l.job_ids, l.kinds) WITH ORDINALITY AS u(job_id, kind, ord)
      WHERE l.job_ids @> ARRAY[j.job_id] AND u.job_id = j.job_id AND u.kind = 1 AND NOT ((u.ord - 1)::smallint = ANY(l.closed)))
    THEN 'COMPLETED' ELSE j.status END`;

const READ = JOB_COLUMNS.filter(({ unread }) => !unread);

const PROPERTIES = READ.flatMap(({ property, from }, index) =>
  property === undefined
    ? []
    : [
        {
          property,
          index,
          from: (from ?? ((value: unknown) => value ?? undefined)) as (value: unknown) => unknown,
        },
      ],
);
const INDEX = Object.fromEntries(READ.map(({ name }, index) => [name, index]));

/** A job j; its id is NULL in no row. */
export const JOB: Selection<Job> = {
  sql: READ.map((column) => (column.name === 'status' ? JOB_STATUS : selected(column))).join(', '),
  length: READ.length,
  from: (row, start) => {
    const at = <T>(name: string) => row[start + INDEX[name]!] as T;
    const job: Record<string, unknown> = {
      schedule: scheduleFrom(at('schedule_type'), at('schedule_time'), at('schedule')),
      misfire: misfireFrom(at('misfire')),
      retry: retryFrom(at('retry'), at('max_retries')),
    };
    for (const { property, index, from } of PROPERTIES) job[property] = from(row[start + index]);
    return job as unknown as Job;
  },
};

function scheduleFrom(type: ScheduleType, atMs: number | null, rule: string | null): Schedule {
  if (type === 'IMMEDIATE') return { type };
  if (type === 'FUTURE') return { type, atMs: Math.round(atMs ?? 0) };
  return recurringFrom(rule!);
}

/** Many jobs share their rules, so the few distinct texts are parsed once. */
const RULES_MAX = 10_000;
const rules = new Cache<string, RecurringSchedule>({ entriesMax: RULES_MAX });

export function recurringFrom(text: string): RecurringSchedule {
  return rules.getOrCompute(text, (rule) => JSON.parse(rule) as RecurringSchedule);
}

export function misfireFrom(text: string | null): MisfirePolicy {
  return text === null ? DEFAULT_MISFIRE : (JSON.parse(text) as MisfirePolicy);
}

export function retryFrom(text: string | null, maxRetries: number): RetryPolicy {
  if (text === null)
    return maxRetries === DEFAULT_RETRY.maxRetries ? DEFAULT_RETRY : { ...DEFAULT_RETRY, maxRetries };
  const stored = JSON.parse(text) as Omit<RetryPolicy, 'maxRetries' | 'deadlineMs'> & { deadlineMs?: number };
  return { ...stored, deadlineMs: stored.deadlineMs, maxRetries };
}

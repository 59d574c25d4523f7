/** Lists jobs by any combination of filters, in the order of their ids, which is that of creation. */
import type { Job, JobId } from '@carillon/domain';
import { textArray } from '../../postgres/array-literal.ts';
import type { Session } from '../../postgres/database.ts';
import { type JobList, type JobQuery, LOOKED_THROUGH_MAX } from '../job-store.ts';
import { priorityCode } from './codes.ts';
import { type JobRow, jobFromRow } from './job-row.ts';
import { COUNT_LABELLED, type Drive, type FilterName, listStatement } from './list-jobs.sql.ts';

type StopRow = readonly [stoppedAt: JobId | null, name: null];

export async function listJobs(session: Session, query: JobQuery): Promise<JobList> {
  const { order = 'newest', afterJobId, limit, offset = 0 } = query;
  const given = Object.entries(filterValues(query)).filter(([, value]) => value !== undefined);
  const statement = listStatement({
    drive: await driveOf(session, query),
    filters: given.map(([name]) => name as FilterName),
    order,
    continued: afterJobId !== undefined,
  });
  const place = afterJobId === undefined ? [] : [afterJobId];
  const rows = await session.query<JobRow | StopRow>(statement, [
    ...given.map(([, value]) => value),
    ...place,
    limit,
    offset,
  ]);
  const jobs: Job[] = [];
  let stoppedAt: JobId | undefined;
  for (const row of rows) {
    if (isStop(row)) stoppedAt = row[0] ?? undefined;
    else jobs.push(jobFromRow(row));
  }
  return { jobs, stoppedAt };
}

/** The row after the page has no name: it says where looking stopped. */
function isStop(row: JobRow | StopRow): row is StopRow {
  return row[1] === null;
}

function filterValues(query: JobQuery): Record<FilterName, unknown> {
  return {
    status: query.status,
    types: query.scheduleTypes && textArray(query.scheduleTypes),
    priority: query.priority && priorityCode(query.priority),
    user: query.userId,
    namespace: query.namespace,
    handler: query.handler,
    labels: query.labels && JSON.stringify(query.labels),
    text: query.text,
    from: query.createdFromMs,
    to: query.createdToMs,
  };
}

async function driveOf(session: Session, query: JobQuery): Promise<Drive> {
  if (query.userId !== undefined) return 'user';
  if (query.labels !== undefined) {
    const [row] = await session.query<readonly [number]>(COUNT_LABELLED, [JSON.stringify(query.labels)]);
    if ((row?.[0] ?? 0) <= LOOKED_THROUGH_MAX) return 'labels';
  }
  if (query.namespace !== undefined && query.namespace !== 'default') return 'namespace';
  if (query.status === 'SCHEDULED') return 'due';
  // Success of a one-off is written nowhere, so only the other ends can be looked up.
  if (query.status !== undefined && query.status !== 'COMPLETED') return 'status';
  return 'key';
}

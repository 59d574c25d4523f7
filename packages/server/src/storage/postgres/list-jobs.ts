/** Lists jobs by any combination of filters, in the order of their ids, which is that of creation. */
import { DEFAULT_NAMESPACE, type Job, type JobId, type ShownJobStatus } from '@carillon/domain';
import type { Session } from '../../postgres/database.ts';
import { type JobFilter, type JobList, type JobQuery, ROWS_SCANNED_MAX } from '../job-store.ts';
import { JOB } from './job-row.ts';
import {
  COUNT_KEY_PREFIX,
  COUNT_KEYED,
  COUNT_LABELLED,
  type Drive,
  FEW_DRIVES,
  type FewDrive,
  FILTERS,
  type FilterName,
  listStatement,
} from './list-jobs.sql.ts';

export async function listJobs(session: Session, query: JobQuery): Promise<JobList> {
  const { order = 'newest', afterJobId, limit, offset = 0 } = query;
  const { filters, parameters } = filtersOf(query);
  const statement = listStatement({
    drive: await driveOf(session, query),
    filters,
    order,
    continued: afterJobId !== undefined,
    payloads: query.payloads ?? true,
  });
  const position = afterJobId === undefined ? [] : [afterJobId];
  const rows = await session.query(statement, [...parameters, ...position, limit, offset]);
  const jobs: Job[] = [];
  const shown = new Map<JobId, ShownJobStatus>();
  let stoppedAt: JobId | undefined;
  for (const row of rows) {
    // The row after the page has no name: it says where the search stopped.
    if (row[1] === null) stoppedAt = (row[0] as JobId | null) ?? undefined;
    else {
      const job = JOB.from(row, 0);
      jobs.push(job);
      shown.set(job.jobId, row[JOB.length] as ShownJobStatus);
    }
  }
  return { jobs, shown, stoppedAt };
}

/** The filters that are given, and the parameter of each. */
export function filtersOf(query: JobFilter): { filters: FilterName[]; parameters: unknown[] } {
  const filters = (Object.keys(FILTERS) as FilterName[]).filter((name) => query[name] !== undefined);
  return { filters, parameters: filters.map((name) => parameterOf(query, name)) };
}

function parameterOf(query: JobFilter, name: FilterName): unknown {
  const { parameter } = FILTERS[name] as { parameter?: (value: unknown) => unknown };
  return parameter ? parameter(query[name]) : query[name];
}

async function driveOf(session: Session, query: JobQuery): Promise<Drive> {
  const isKeyed = query.jobKey !== undefined || query.jobKeyPrefix !== undefined;
  if (query.userId !== undefined && !isKeyed) return 'userId';
  const [few] = await rareDrives(session, query);
  return few ?? drivesInOrder(query)[0] ?? 'key';
}

const COUNTS = { labels: COUNT_LABELLED, jobKey: COUNT_KEYED, jobKeyPrefix: COUNT_KEY_PREFIX };

/** The filters that leave few enough jobs to sort them. */
export async function rareDrives(session: Session, query: JobFilter): Promise<FewDrive[]> {
  const rare: FewDrive[] = [];
  for (const drive of FEW_DRIVES) {
    if (query[drive] === undefined) continue;
    const [row] = await session.query<readonly [number]>(COUNTS[drive], [parameterOf(query, drive)]);
    if ((row?.[0] ?? 0) <= ROWS_SCANNED_MAX) rare.push(drive);
  }
  return rare;
}

/** The indexes in the order of the ids that serve the query, the most narrow one first as a rule. */
export function drivesInOrder({
  userId,
  namespace,
  status,
  ownStatus,
}: JobFilter): Exclude<Drive, FewDrive | 'key'>[] {
  const drives: Exclude<Drive, FewDrive | 'key'>[] = [];
  if (userId !== undefined) drives.push('userId');
  if (namespace !== undefined && namespace !== DEFAULT_NAMESPACE) drives.push('namespace');
  if (status === 'RUNNING') drives.push('live');
  if (status === 'SCHEDULED' || ownStatus === 'SCHEDULED') drives.push('due');
  // Success of a one-off is written nowhere, so only the other ends can be found.
  if (status === 'PAUSED' || status === 'FAILED' || status === 'CANCELLED') drives.push('status');
  if (ownStatus === 'PAUSED' || ownStatus === 'FAILED' || ownStatus === 'CANCELLED') drives.push('ownStatus');
  return drives;
}

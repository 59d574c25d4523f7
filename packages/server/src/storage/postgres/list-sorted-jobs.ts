/** Lists jobs in another order than that of creation, where few enough are requested to be sorted. */
import type { ShownJobStatus } from '@carillon/domain';
import type { Session } from '../../postgres/database.ts';
import type { SortedJob, SortedJobQuery } from '../job-store.ts';
import { JOB } from './job-row.ts';
import type { Drive } from './list-jobs.sql.ts';
import { drivesInOrder, filtersOf, rareDrives } from './list-jobs.ts';
import { sortedStatement } from './list-sorted-jobs.sql.ts';

/** By whichever index leaves few enough: each that leaves too many is only counted. */
export async function listSortedJobs(
  session: Session,
  query: SortedJobQuery,
): Promise<readonly SortedJob[] | 'too_many'> {
  const drives: Drive[] = [...(await rareDrives(session, query)), ...drivesInOrder(query)];
  for (const drive of drives.length === 0 ? (['key'] as const) : drives) {
    const found = await listBy(session, drive, query);
    if (found !== 'too_many') return found;
  }
  return 'too_many';
}

async function listBy(
  session: Session,
  drive: Drive,
  query: SortedJobQuery,
): Promise<readonly SortedJob[] | 'too_many'> {
  const { by, descending, after, limit, offset = 0 } = query;
  const { filters, parameters } = filtersOf(query);
  const rows = await session.query(
    sortedStatement({
      ...{ drive, filters, by, descending, payloads: query.payloads ?? true },
      continued: after !== undefined,
    }),
    [...parameters, ...[limit, offset], ...(after === undefined ? [] : [after.key, after.jobId])],
  );
  if (rows.some(([jobId]) => jobId === null)) return 'too_many';
  return rows.map((row) => {
    const job = JOB.from(row, 0);
    const shown = row[JOB.length] as ShownJobStatus;
    return { job, shown, cursor: { key: row[JOB.length + 1] as string | number, jobId: job.jobId } };
  });
}

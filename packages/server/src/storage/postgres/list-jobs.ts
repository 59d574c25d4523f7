/** Lists jobs by any combination of filters, newest first. Ids are ordered by creation, so the primary key is the order. */
import type { Job } from '@carillon/domain';
import type { Session } from '../../postgres/database.ts';
import type { JobQuery } from '../job-store.ts';
import { priorityCode } from './codes.ts';
import { JOB_COLUMNS, JOB_STATUS, type JobRow, jobFromRow } from './job-row.ts';

export async function listJobs(session: Session, query: JobQuery): Promise<Job[]> {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const names: string[] = [];
  const where = (name: string, condition: string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    names.push(name);
    conditions.push(condition.replace('?', `$${values.length}`));
  };
  where('status', `${JOB_STATUS} = ?`, query.status);
  where('type', 'j.schedule_type = ?', query.scheduleType);
  where('priority', 'j.priority = ?', query.priority && priorityCode(query.priority));
  where('user', 'j.user_id = ?', query.userId);
  where('handler', 'j.handler = ?', query.handler);
  where('after', 'j.job_id < ?::uuid', query.afterJobId);
  values.push(query.limit, query.offset ?? 0);
  const filter = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const rows = await session.query<JobRow>(
    {
      // One prepared statement per combination of filters: a bounded number.
      name: `list_jobs_${names.join('_')}`,
      text: `SELECT ${JOB_COLUMNS} FROM jobs j ${filter} ORDER BY j.job_id DESC LIMIT $${values.length - 1} OFFSET $${values.length}`,
    },
    values,
  );
  return rows.map(jobFromRow);
}

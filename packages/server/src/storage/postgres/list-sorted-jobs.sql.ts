/**
 * Statements that sort jobs by something that no index keeps: an index on names or times of change would cost every new job
 * and every edit. What the drive finds is counted first, no further than one list reads; only if that is all of it, it is
 * read and sorted, and the page is cut from the top.
 */
import { type JobSortKey, keyOfNone } from '@carillon/domain';
import type { Statement } from '../../postgres/database.ts';
import { ROWS_SCANNED_MAX } from '../job-store.ts';
import { JOB } from './job-row.ts';
import {
  type Drive,
  driven,
  FILTERS,
  type FilterName,
  isFewDrive,
  LIVE,
  listedColumns,
  restOf,
} from './list-jobs.sql.ts';

export interface SortShape {
  readonly drive: Drive;
  /** In the order of their parameters, the drive's own filter included. */
  readonly filters: readonly FilterName[];
  readonly by: JobSortKey;
  readonly descending: boolean;
  readonly continued: boolean;
  readonly payloads: boolean;
}

/** Names in any case, compared by their bytes, as those who merge several lists do. none: the key of a job without a plan. */
const KEYS: Record<JobSortKey, (none: number) => string> = {
  name: () => 'lower(j.name) COLLATE "C"',
  priority: () => 'j.priority::bigint',
  updated_at: () => 'round(extract(epoch FROM j.updated_at) * 1000)::bigint',
  // One by one, by the job: of a join the planner may make a hash of everything that waits.
  next_run_time: (
    none,
  ) => `coalesce((SELECT c.nominal_at FROM cursors c WHERE c.job_id = j.job_id AND NOT c.held),
      (SELECT d.nominal_at FROM due d WHERE d.job_id = j.job_id AND NOT d.held AND d.kind = 1 AND d.attempt = 1 AND d.epoch = 1
        LIMIT 1), ${none}::bigint)`,
};

const TOO_MANY = Array.from({ length: JOB.length + 2 }, () => 'NULL').join(', ');

/** Selects the job, its status as it is shown, and its key. One parameter per filter, then limit and offset, then key and id of the job to continue after, if there is one. */
export function sortedStatement({
  drive,
  filters,
  by,
  descending,
  continued,
  payloads,
}: SortShape): Statement {
  const at = (name: FilterName) => `$${filters.indexOf(name) + 1}`;
  const [limit, offset, afterKey, afterId] = [1, 2, 3, 4].map((n) => `$${filters.length + n}`);
  const direction = descending ? 'DESC' : 'ASC';
  const type = by === 'name' ? 'text COLLATE "C"' : 'bigint';
  const position = `(${afterKey}::${type}, ${afterId}::uuid)`;
  const past = continued ? `WHERE (j.sort_key, j.job_id) ${descending ? '<' : '>'} ${position}` : '';
  const found = foundBy(drive, at);
  const rest = restOf(drive, filters).map((name) => FILTERS[name].sql(at(name)));
  return {
    // Not prepared: thousands of shapes, each kept by every connection, would be the caller's to fill its memory with.
    name: '',
    text: `WITH ${LIVE}, found AS MATERIALIZED (
        SELECT count(*) > ${ROWS_SCANNED_MAX} AS too_many FROM (${found('j.job_id')} LIMIT ${ROWS_SCANNED_MAX + 1}) found
      ), page AS MATERIALIZED (
        SELECT ${listedColumns(payloads)}, j.sort_key FROM (
          SELECT j.*, ${KEYS[by](keyOfNone({ descending }))} AS sort_key FROM (${found('j.*')} LIMIT ${ROWS_SCANNED_MAX}) j
          WHERE NOT (SELECT too_many FROM found)${rest.map((filter) => ` AND ${filter}`).join('')}
        ) j ${past}
        ORDER BY j.sort_key ${direction}, j.job_id ${direction} LIMIT ${limit} OFFSET ${offset}
      )
      SELECT * FROM page UNION ALL SELECT ${TOO_MANY} FROM found WHERE too_many`,
  };
}

function foundBy(drive: Drive, at: (name: FilterName) => string): (columns: 'j.job_id' | 'j.*') => string {
  if (drive === 'due') {
    return (columns) => `SELECT ${columns} FROM (
        (SELECT DISTINCT d.job_id FROM due d ORDER BY d.job_id LIMIT ${ROWS_SCANNED_MAX + 1})
        UNION (SELECT c.job_id FROM cursors c ORDER BY c.job_id LIMIT ${ROWS_SCANNED_MAX + 1})
        UNION SELECT live.job_id FROM live) waiting JOIN jobs j USING (job_id)`;
  }
  if (drive === 'live') {
    return (columns) =>
      `SELECT ${columns} FROM (SELECT DISTINCT live.job_id FROM live) living JOIN jobs j USING (job_id)`;
  }
  if (isFewDrive(drive))
    return (columns) => `SELECT ${columns} FROM jobs j WHERE ${FILTERS[drive].sql(at(drive))}`;
  if (drive === 'key') return (columns) => `SELECT ${columns} FROM jobs j ORDER BY j.job_id`;
  const { where } = driven(drive, at(drive), { order: 'newest' });
  return (columns) => `SELECT ${columns} FROM jobs j WHERE ${where}`;
}

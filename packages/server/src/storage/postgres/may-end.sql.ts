/** When the end of a run is the end of its job. */
import { exists } from './exists.sql.ts';

/**
 * Whether the end of its last run ends the job `j`. Not while a pause holds back others of its runs: they would be held for ever,
 * since an ended job cannot be resumed. Such a job stays paused, and ends with what is released.
 *
 * except: a further condition on the held rows `h` that count, for statements that take some out themselves.
 */
export function mayEnd(except = ''): string {
  return `(j.status = 'SCHEDULED' OR (j.status = 'PAUSED'
        AND NOT ${exists('SELECT FROM cursors c WHERE c.job_id = j.job_id')}
        AND NOT ${exists(`SELECT FROM due h WHERE h.job_id = j.job_id AND h.held ${except}`)}))`;
}

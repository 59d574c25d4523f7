/** Which jobs are locked: asked after a settlement waited too long, and never on the hot path. */
import type { Statement } from '../../postgres/database.ts';

/** $1 job ids. Whoever can be locked as SETTLE and LOCK_ENDING_JOBS may want to, is not locked by others. */
export const LOCKED_JOBS: Statement = {
  name: 'locked_jobs',
  text: `
    WITH free AS MATERIALIZED (
      SELECT job_id FROM jobs WHERE job_id = ANY($1::uuid[]) FOR UPDATE SKIP LOCKED
    )
    SELECT job_id FROM jobs WHERE job_id = ANY($1::uuid[]) AND job_id NOT IN (SELECT job_id FROM free)`,
};

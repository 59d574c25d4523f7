/**
 * Pending runs by their own ids. The first run of a one-off has the id of its job and is found by the primary key, which begins
 * with the job: new jobs, of which most are one-offs, need no entry in the index on ids of runs.
 */

/** run: an expression that gives the id of one. */
export function pendingRun(run: string): string {
  return `(SELECT * FROM due WHERE run_id = ${run} AND run_id <> job_id
      UNION ALL SELECT * FROM due WHERE job_id = ${run} AND run_id = ${run})`;
}

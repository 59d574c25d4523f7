/** Whether the counts of the store say the same as its history: figures of charts that show something else would be worth nothing. */
import type pg from 'pg';

type Sums = {
  readonly namespace: string;
  readonly succeeded: string;
  readonly failed: string;
  readonly skipped: string;
  readonly lost: string;
};

const counted = `
  SELECT namespace, sum(succeeded) AS succeeded, sum(failed + timed_out) AS failed, sum(skipped) AS skipped, sum(lost) AS lost
  FROM run_hours WHERE handler = '' AND namespace <> '*' GROUP BY 1 ORDER BY 1`;

const recorded = `
  SELECT j.namespace, sum(r.count) FILTER (WHERE r.status = 'SUCCESS') AS succeeded,
    sum(r.count) FILTER (WHERE r.status IN ('FAILED', 'TIMED_OUT')) AS failed,
    sum(r.count) FILTER (WHERE r.status = 'SKIPPED') AS skipped, sum(r.count) FILTER (WHERE r.status = 'LOST') AS lost
  FROM (SELECT job_id, status, count(*) AS count FROM job_runs GROUP BY 1, 2) r JOIN jobs j USING (job_id) GROUP BY 1 ORDER BY 1`;

export async function checkCounts(client: Pick<pg.Client, 'query'>): Promise<void> {
  const [counts, records] = [await sums(client, counted), await sums(client, recorded)];
  if (counts !== records) throw new Error(`not correct: counted ${counts}, recorded ${records}`);
}

async function sums(client: Pick<pg.Client, 'query'>, text: string): Promise<string> {
  const { rows } = await client.query<Sums>(text);
  return rows
    .map((row) =>
      Object.values(row)
        .map((sum) => sum ?? '0')
        .join(' '),
    )
    .join(', ');
}

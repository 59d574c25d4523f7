/** The history of runs as the database has it, and what tests of many runs ask it. */
import type { OwnPostgres } from './own-postgres.ts';

/** One attempt, or one skipped range. */
export interface HistoryRow extends Record<string, unknown> {
  readonly jobId: string;
  readonly runId: string;
  readonly status: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly nominalAtMs: number;
  /** When it was claimed or, if it was skipped, fired. */
  readonly createdAtMs: number;
  /** When its outcome was recorded. */
  readonly recordedAtMs: number;
  readonly executorId: string | null;
  readonly reason: string | null;
  readonly occurrences: number;
}

const ms = (column: string, name: string) => `(extract(epoch FROM ${column}) * 1000)::float8 AS "${name}"`;

/** Of the jobs whose names begin with the prefix, by job and nominal instant. */
export function historyOf(postgres: OwnPostgres, namePrefix: string): Promise<HistoryRow[]> {
  return postgres.query<HistoryRow>(
    `SELECT r.job_id AS "jobId", r.run_id AS "runId", r.status, r.epoch, r.attempt_number AS attempt,
       ${ms('r.scheduled_at', 'nominalAtMs')}, ${ms('r.created_at', 'createdAtMs')}, ${ms('r.modified_time', 'recordedAtMs')},
       r.executor_id AS "executorId", r.reason, r.occurrences
     FROM job_runs r JOIN jobs j USING (job_id) WHERE starts_with(j.name, $1)
     ORDER BY r.job_id, r.scheduled_at, r.epoch`,
    [namePrefix],
  );
}

/** Nominal instants between the first and the last that have no verdict, or more than one; sorted rows of one job. */
export function wrongInstants(rows: readonly HistoryRow[], everyMs: number): string[] {
  const verdicts = new Map<number, Set<string>>();
  for (const { runId, nominalAtMs, occurrences } of rows) {
    for (let i = 0; i < occurrences; i += 1) {
      const at = nominalAtMs + i * everyMs;
      verdicts.set(at, (verdicts.get(at) ?? new Set()).add(runId));
    }
  }
  const instants = [...verdicts.keys()];
  const [firstMs, lastMs] = [Math.min(...instants), Math.max(...instants)];
  const wrong = [...verdicts].flatMap(([at, runs]) => {
    if ((at - firstMs) % everyMs !== 0) return [`${iso(at)} is not on the grid`];
    return runs.size === 1 ? [] : [`${iso(at)} has ${runs.size} verdicts`];
  });
  for (let at = firstMs; at <= lastMs; at += everyMs)
    if (!verdicts.has(at)) wrong.push(`${iso(at)} has no verdict`);
  return wrong;
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}

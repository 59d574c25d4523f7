/** Adds what was tallied to the counts of the store, by the statements of the server. */
import type pg from 'pg';
import { boundFailures } from '../../packages/server/src/storage/bound-failures.ts';
import {
  countParameters,
  failureParameters,
} from '../../packages/server/src/storage/postgres/count-parameters.ts';
import { ADD_COUNTS, ADD_FAILURES } from '../../packages/server/src/storage/postgres/stats.sql.ts';
import type { CountRow, RunTally } from '../../packages/server/src/storage/run-tally.ts';

/** Of minutes only those that the server would still keep, if any of them are. */
export async function addCounts(
  pool: Pick<pg.Pool, 'query'>,
  tally: RunTally,
  { minutesFromMs, lastMs }: { minutesFromMs: number; lastMs: number },
): Promise<void> {
  if (lastMs >= minutesFromMs) {
    const minutes = tally.rows('minute').filter(({ atMs }) => atMs >= minutesFromMs);
    await pool.query(ADD_COUNTS.minute.text, countParameters(inOrder(minutes)));
  }
  await pool.query(ADD_COUNTS.hour.text, countParameters(inOrder(tally.rows('hour'))));
  const failures = boundFailures(tally.failures(), new Map()).toSorted(
    (a, b) => a.atMs - b.atMs || compare(a.namespace, b.namespace) || compare(a.fingerprint, b.fingerprint),
  );
  await pool.query(ADD_FAILURES.text, failureParameters(failures));
}

/** Batches are written side by side: in one order they wait for each other, and never in a circle. */
function inOrder(rows: readonly CountRow[]): CountRow[] {
  return rows.toSorted(
    (a, b) => a.atMs - b.atMs || compare(a.namespace, b.namespace) || compare(a.handler, b.handler),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

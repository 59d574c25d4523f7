/** Reads what fires next, for callers who see everything and for those who see some places only. */
import type { JobId, Visible } from '@carillon/domain';
import { textArray } from '../../postgres/array-literal.ts';
import type { Session } from '../../postgres/database.ts';
import type { UpcomingFire, UpcomingQuery } from '../job-store.ts';
import { priorityWord } from './codes.ts';
import { recurringFrom } from './job-row.ts';
import { UPCOMING, UPCOMING_IS_PARTIAL } from './upcoming.sql.ts';

type UpcomingRow = readonly [
  jobId: JobId,
  name: string,
  namespace: string,
  userId: string | null,
  handler: string,
  priority: number,
  fireAtMs: number,
  nominalAtMs: number,
  schedule: string | null,
];

export async function readUpcoming(
  session: Session,
  { fromMs, untilMs, visible, limit }: UpcomingQuery,
): Promise<{ fires: UpcomingFire[]; partial: boolean }> {
  const rows = await session.query<UpcomingRow>(UPCOMING, [fromMs, untilMs, limit, ...placeArrays(visible)]);
  const fires = rows.map(
    ([jobId, name, namespace, userId, handler, priority, fireAtMs, nominalAtMs, schedule]) => ({
      job: { jobId, name, namespace, userId: userId ?? undefined, handler, priority: priorityWord(priority) },
      fireAtMs,
      cursor: schedule === null ? undefined : { schedule: recurringFrom(schedule), nominalAtMs },
    }),
  );
  if (visible === undefined) return { fires, partial: false };
  const [row] = await session.query<readonly [boolean | null]>(UPCOMING_IS_PARTIAL, [fromMs, untilMs]);
  return { fires, partial: row?.[0] === true };
}

/** Parallel arrays of namespaces and owners; NULLs where everything is seen. */
export function placeArrays(
  visible: readonly Visible[] | undefined,
): readonly [namespaces: string | null, users: string | null] {
  if (visible === undefined) return [null, null];
  return [
    textArray(visible.map(({ namespace }) => namespace)),
    textArray(visible.map(({ userId }) => userId)),
  ];
}

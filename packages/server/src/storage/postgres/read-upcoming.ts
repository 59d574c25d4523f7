/** Reads what fires next, for callers who see everything and for those who see some namespaces only. */
import type { Visible } from '@carillon/domain';
import { textArray } from '../../postgres/array-literal.ts';
import type { Session } from '../../postgres/database.ts';
import type { UpcomingFire, UpcomingQuery } from '../job-store.ts';
import { readAll } from './selection.ts';
import { UPCOMING, UPCOMING_IS_PARTIAL } from './upcoming.sql.ts';

export async function readUpcoming(
  session: Session,
  { fromMs, untilMs, visible, limit }: UpcomingQuery,
): Promise<{ fires: UpcomingFire[]; partial: boolean }> {
  const fires = await readAll(session, UPCOMING, [fromMs, untilMs, limit, ...visibleArrays(visible)]);
  if (visible === undefined) return { fires, partial: false };
  const [row] = await session.query<readonly [boolean | null]>(UPCOMING_IS_PARTIAL, [fromMs, untilMs]);
  return { fires, partial: row?.[0] === true };
}

/** Parallel arrays of namespaces and owners; NULLs where everything is seen. */
export function visibleArrays(
  visible: readonly Visible[] | undefined,
): readonly [namespaces: string | null, users: string | null] {
  if (visible === undefined) return [null, null];
  return [
    textArray(visible.map(({ namespace }) => namespace)),
    textArray(visible.map(({ userId }) => userId)),
  ];
}

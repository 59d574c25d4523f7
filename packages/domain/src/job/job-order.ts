/** The orders that lists of jobs come in besides that of creation, and cursors in them. Jobs with the same key follow by id. */
import type { JobId } from '../ids.ts';

export const JOB_SORT_KEYS = ['name', 'priority', 'updated_at', 'next_run_time'] as const;
export type JobSortKey = (typeof JOB_SORT_KEYS)[number];

export interface JobOrder {
  readonly by: JobSortKey;
  readonly descending: boolean;
}

/** Where a job stands in such a list. */
export interface JobCursor {
  /** A name in small letters, a priority from 0 for low, or an instant. */
  readonly key: string | number;
  readonly jobId: JobId;
}

/** The key of a job that nothing is planned for: it comes last, whichever way the list goes. */
export function keyOfNone({ descending }: Pick<JobOrder, 'descending'>): number {
  return descending ? -1 : Number.MAX_SAFE_INTEGER;
}

/** Negative: a comes first. */
export function compareJobCursors(
  a: JobCursor,
  b: JobCursor,
  { descending }: Pick<JobOrder, 'descending'>,
): number {
  const ascending = compareKeys(a.key, b.key) || compareKeys(a.jobId, b.jobId);
  return descending ? -ascending : ascending;
}

function compareKeys(a: string | number, b: string | number): number {
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  return Number(a) - Number(b);
}

/** By code points, as a database compares bytes of UTF-8; the units of JavaScript put a few of them elsewhere. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Halves of a pair stand for what comes after everything that one unit can say. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit;
}

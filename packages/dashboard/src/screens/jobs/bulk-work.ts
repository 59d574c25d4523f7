/**
 * One action on many jobs, part by part: counts them first without changing anything, then changes them, tells how far it is
 * after each part, and stops between two parts when it is told to. Parts that were done stay done.
 */
import type { BulkReport, BulkRequest } from '@carillon/client';

export type BulkAction = BulkRequest['action'];
export type BulkTarget =
  | { readonly ids: readonly string[] }
  | { readonly filter: NonNullable<BulkRequest['filter']> };

export interface BulkProgress {
  readonly matched: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  /** The first that matched. */
  readonly firstIds: readonly string[];
  /** Those that were changed, to undo it. */
  readonly changedIds: readonly string[];
  /** Why some were refused, each reason once. */
  readonly reasons: readonly string[];
  readonly finished: boolean;
}

/** Small enough that a bar moves and Stop acts soon. */
export const IDS_PER_PART = 100;
const FIRST_IDS_MAX = 10;
const REASONS_MAX = 3;

const NOTHING: BulkProgress = {
  ...{ matched: 0, changed: 0, unchanged: 0, refused: 0 },
  ...{ firstIds: [], changedIds: [], reasons: [], finished: false },
};

type Send = (request: BulkRequest) => Promise<BulkReport>;

export async function* workThrough(
  send: Send,
  {
    action,
    target,
    dryRun,
    signal,
  }: { action: BulkAction; target: BulkTarget; dryRun: boolean; signal: AbortSignal },
): AsyncGenerator<BulkProgress, void, undefined> {
  let progress = NOTHING;
  const common = { action, dry_run: dryRun };
  if ('ids' in target) {
    for (let from = 0; from < target.ids.length && !signal.aborted; from += IDS_PER_PART) {
      const part = target.ids.slice(from, from + IDS_PER_PART);
      progress = added(progress, await send({ ...common, job_ids: part }));
      yield { ...progress, finished: from + IDS_PER_PART >= target.ids.length };
    }
    return;
  }
  let cursor: string | null = null;
  do {
    const report: BulkReport = await send({ ...common, filter: target.filter, ...(cursor && { cursor }) });
    progress = added(progress, report);
    cursor = report.next;
    yield { ...progress, finished: cursor === null };
  } while (cursor !== null && !signal.aborted);
}

function added(before: BulkProgress, report: BulkReport): BulkProgress {
  const refusals = report.results.flatMap(({ error }) => (error === null ? [] : error.message));
  return {
    matched: before.matched + report.matched,
    changed: before.changed + report.changed,
    unchanged: before.unchanged + report.unchanged,
    refused: before.refused + report.refused,
    firstIds: [...before.firstIds, ...report.job_ids].slice(0, FIRST_IDS_MAX),
    changedIds: [
      ...before.changedIds,
      ...report.results.flatMap(({ outcome, job_id: id }) => (outcome === 'changed' ? id : [])),
    ],
    reasons: [...new Set([...before.reasons, ...refusals])].slice(0, REASONS_MAX),
    finished: false,
  };
}

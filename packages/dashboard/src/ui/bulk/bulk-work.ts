/**
 * One action on many jobs, runs or dead letters, part by part: counts them first without changing anything, then changes them, tells how far it is
 * after each part, and stops between two parts when it is told to. Parts that were done stay done.
 */

export type BulkTarget<Filter> = { readonly ids: readonly string[] } | { readonly filter: Filter };

/** What the server is asked for in one part: named ones, or a filter and where it continues. */
export type PartRequest<Filter> = { readonly dryRun: boolean } & (
  | { readonly ids: readonly string[] }
  | { readonly filter: Filter; readonly cursor?: string }
);

export interface PartReport {
  readonly matched: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  /** The first that matched. */
  readonly ids: readonly string[];
  /** In a dry run, only those that were refused. */
  readonly results: readonly {
    readonly id: string;
    readonly outcome: 'changed' | 'unchanged' | 'refused';
    readonly error: { readonly code: string; readonly message: string } | null;
  }[];
  readonly next: string | null;
}

export interface Reason {
  readonly code: string;
  /** Of the first that was refused so. */
  readonly message: string;
  readonly count: number;
}

export interface BulkProgress {
  readonly matched: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refused: number;
  /** The first that matched and were not refused. */
  readonly firstIds: readonly string[];
  /** Those that were changed, to undo it. */
  readonly changedIds: readonly string[];
  readonly reasons: readonly Reason[];
  readonly finished: boolean;
}

/** Small enough that a bar moves and Stop acts soon. */
export const IDS_PER_PART = 100;
const FIRST_IDS_MAX = 10;

const NOTHING: BulkProgress = {
  ...{ matched: 0, changed: 0, unchanged: 0, refused: 0 },
  ...{ firstIds: [], changedIds: [], reasons: [], finished: false },
};

export async function* workThrough<Filter>(
  send: (request: PartRequest<Filter>) => Promise<PartReport>,
  { target, dryRun, signal }: { target: BulkTarget<Filter>; dryRun: boolean; signal: AbortSignal },
): AsyncGenerator<BulkProgress, void, undefined> {
  let progress = NOTHING;
  if ('ids' in target) {
    for (let from = 0; from < target.ids.length && !signal.aborted; from += IDS_PER_PART) {
      const ids = target.ids.slice(from, from + IDS_PER_PART);
      progress = added(progress, await send({ dryRun, ids }));
      yield { ...progress, finished: from + IDS_PER_PART >= target.ids.length };
    }
    return;
  }
  let cursor: string | null = null;
  do {
    const report: PartReport = await send({
      ...{ dryRun, filter: target.filter },
      ...(cursor !== null && { cursor }),
    });
    progress = added(progress, report);
    cursor = report.next;
    yield { ...progress, finished: cursor === null };
  } while (cursor !== null && !signal.aborted);
}

function added(before: BulkProgress, report: PartReport): BulkProgress {
  const refused = new Set(report.results.flatMap(({ id, error }) => (error === null ? [] : id)));
  return {
    matched: before.matched + report.matched,
    changed: before.changed + report.changed,
    unchanged: before.unchanged + report.unchanged,
    refused: before.refused + report.refused,
    firstIds: [...before.firstIds, ...report.ids.filter((id) => !refused.has(id))].slice(0, FIRST_IDS_MAX),
    changedIds: [
      ...before.changedIds,
      ...report.results.flatMap(({ outcome, id }) => (outcome === 'changed' ? id : [])),
    ],
    reasons: withReasons(before.reasons, report),
    finished: false,
  };
}

function withReasons(before: readonly Reason[], { results }: PartReport): readonly Reason[] {
  const reasons = new Map(before.map((reason) => [reason.code, reason]));
  for (const { error } of results) {
    if (error === null) continue;
    const { message, count } = reasons.get(error.code) ?? { message: error.message, count: 0 };
    reasons.set(error.code, { code: error.code, message, count: count + 1 });
  }
  return [...reasons.values()];
}

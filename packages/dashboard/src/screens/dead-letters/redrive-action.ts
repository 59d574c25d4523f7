/** Sending many dead letters round again. */
import type { RedriveManyRequest } from '@carillon/client';
import { carillon } from '../../api/carillon.ts';
import type { BulkAction } from '../../ui/bulk/bulk-dialog.tsx';
import type { PartReport, PartRequest } from '../../ui/bulk/bulk-work.ts';

export type LetterFilter = NonNullable<RedriveManyRequest['filter']>;

/** Counting is quick; a bar that moves and a Stop that acts soon want smaller parts. */
const COUNTED_PER_PART = 1_000;
const REDRIVEN_PER_PART = 200;

/** A letter is redriven once, whoever asks and however often: no key is needed for what is sent twice. */
async function send(request: PartRequest<LetterFilter>): Promise<PartReport> {
  const { dryRun } = request;
  const of =
    'ids' in request
      ? { run_ids: request.ids }
      : {
          ...{ filter: request.filter, cursor: request.cursor },
          limit: dryRun ? COUNTED_PER_PART : REDRIVEN_PER_PART,
        };
  const report = await carillon.deadLetters.redriveMany({ dry_run: dryRun, ...of });
  const { matched, redriven, unchanged, refused, run_ids: ids, results, next } = report;
  return {
    ...{ matched, unchanged, refused, ids, next, changed: redriven },
    results: results.map(({ run_id: id, outcome, error }) => ({
      ...{ id, error },
      outcome: outcome === 'redriven' ? 'changed' : outcome,
    })),
  };
}

export const REDRIVE: BulkAction<LetterFilter> = {
  ...{ key: 'redrive', needs: 'dead_letters.redrive', verb: 'Redrive', done: 'redriven' },
  effect: 'Each runs again as a new run, with its job as it is now.',
  send,
};

/**
 * With an end: what is given up after the letters were counted is not redriven with them. The end is that of the newest letter,
 * because the clock of a browser may be wrong.
 */
export async function filterOfNow(filter: LetterFilter): Promise<LetterFilter> {
  const { items } = await carillon.deadLetters.list({ ...filter, handled: false, limit: 1 }).page();
  const newest = items[0]?.died_at;
  return newest === undefined
    ? filter
    : { ...filter, died_before: new Date(Date.parse(newest) + 1).toISOString() };
}

/** The name of its job: letters have none. */
export async function readLetterName(runId: string): Promise<string> {
  try {
    const { job_name: name, job_id: jobId } = await carillon.deadLetters.get(runId);
    return name ?? jobId;
  } catch {
    // Gone meanwhile: its id still says which one it was.
    return runId;
  }
}

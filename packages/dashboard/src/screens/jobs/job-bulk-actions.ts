/** What can be done with many jobs at once. */
import type { BulkRequest } from '@carillon/client';
import { carillon } from '../../api/carillon.ts';
import type { BulkAction } from '../../ui/bulk/bulk-dialog.tsx';
import type { PartReport, PartRequest } from '../../ui/bulk/bulk-work.ts';

export type JobBulkFilter = NonNullable<BulkRequest['filter']>;

/** What is sent back in one undo. */
const UNDONE_MAX = 1_000;

const sender =
  (action: BulkRequest['action']) =>
  async (request: PartRequest<JobBulkFilter>): Promise<PartReport> => {
    const of =
      'ids' in request ? { job_ids: request.ids } : { filter: request.filter, cursor: request.cursor };
    const {
      job_ids: ids,
      results,
      ...report
    } = await carillon.jobs.bulk({
      ...{ action, dry_run: request.dryRun },
      ...of,
    });
    return { ...report, ids, results: results.map(({ job_id: id, ...result }) => ({ id, ...result })) };
  };

const undoneBy = (action: BulkRequest['action']) => (ids: readonly string[]) =>
  ids.length === 0 || ids.length > UNDONE_MAX
    ? undefined
    : () => carillon.jobs.bulk({ action, job_ids: ids });

export const JOB_BULK_ACTIONS: readonly BulkAction<JobBulkFilter>[] = [
  {
    ...{ key: 'pause', needs: 'jobs.pause', verb: 'Pause', done: 'paused' },
    effect: 'They start no runs until they are resumed.',
    send: sender('pause'),
    undo: undoneBy('resume'),
  },
  {
    ...{ key: 'resume', needs: 'jobs.pause', verb: 'Resume', done: 'resumed' },
    effect: 'They run by their schedules again.',
    send: sender('resume'),
    undo: undoneBy('pause'),
  },
  {
    ...{ key: 'cancel', needs: 'jobs.cancel', verb: 'Cancel', done: 'cancelled', danger: true },
    effect: 'Runs that wait are dropped, runs that have started are asked to stop. This cannot be undone.',
    send: sender('cancel'),
  },
];

export async function readJobName(jobId: string): Promise<string> {
  try {
    return (await carillon.jobs.get(jobId)).name;
  } catch {
    // Gone meanwhile: its id still says which one it was.
    return jobId;
  }
}

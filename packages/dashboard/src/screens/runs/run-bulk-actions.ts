/** What can be done with many runs at once. */
import type { BulkRunsRequest } from '@carillon/client';
import { carillon } from '../../api/carillon.ts';
import type { BulkAction } from '../../ui/bulk/bulk-dialog.tsx';
import type { PartReport, PartRequest } from '../../ui/bulk/bulk-work.ts';
import { readJobName } from '../jobs/job-bulk-actions.ts';

export type RunBulkFilter = NonNullable<BulkRunsRequest['filter']>;

const sender =
  (action: BulkRunsRequest['action']) =>
  async (request: PartRequest<RunBulkFilter>, idempotencyKey: string): Promise<PartReport> => {
    const of =
      'ids' in request ? { run_ids: request.ids } : { filter: request.filter, cursor: request.cursor };
    const {
      run_ids: ids,
      results,
      ...report
    } = await carillon.runs.bulk({ action, dry_run: request.dryRun, ...of }, { idempotencyKey });
    return {
      ...report,
      ids,
      results: results.map(({ run_id: id, outcome, error }) => ({ id, outcome, error })),
    };
  };

/** Without a state in the filter, only those are meant that the action fits. */
export function runBulkActions({ byStatus }: { byStatus: boolean }): readonly BulkAction<RunBulkFilter>[] {
  return [
    {
      ...{ key: 'cancel', needs: 'runs.cancel', verb: 'Cancel', danger: true },
      done: 'cancelled or asked to stop',
      effect: 'They are stopped and not tried again. What they have done so far stays done.',
      send: sender('cancel'),
    },
    {
      ...{ key: 'rerun', needs: 'runs.rerun', verb: 'Run again', done: 'run again' },
      effect: `Each becomes a new run of its job, with the same input.${
        byStatus ? '' : ' Of all that match, those that failed or timed out are meant.'
      }`,
      send: sender('rerun'),
    },
  ];
}

/** The name of its job: runs have none. */
export async function readRunName(runId: string): Promise<string> {
  try {
    return await readJobName((await carillon.runs.get(runId)).job_id);
  } catch {
    return runId;
  }
}

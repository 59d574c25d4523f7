/**
 * Pauses, resumes or cancels every job of a selection. One request does a bounded part of it and says where to go on; a
 * dry run says what would be touched and touches nothing. Each job is changed by the same operation as a single one.
 */
import {
  type Action,
  BULK_JOBS_MAX,
  type BulkAction,
  type Caller,
  type JobId,
  type JobSelection,
  type JobStatus,
} from '@carillon/domain';
import { cancelJob } from './cancel-job.ts';
import { selectJobs } from './list-jobs.ts';
import type { OperationPorts } from './operation-ports.ts';
import { pauseJob } from './pause-job.ts';
import { resumeJob } from './resume-job.ts';
import { workThrough } from './work-through.ts';

export interface BulkRequest {
  readonly action: BulkAction;
  readonly selection: JobSelection;
  readonly dryRun: boolean;
  readonly afterJobId?: JobId | undefined;
}

export interface BulkReport {
  readonly matched: number;
  readonly changed: number;
  /** Could not be changed: they ended meanwhile, or kept changing. */
  readonly refused: number;
  readonly jobIds: readonly JobId[];
  /** More may match after this job: ask again with it. Undefined: all are done. */
  readonly next: JobId | undefined;
}

const NEEDS: Record<BulkAction, Action> = {
  pause: 'jobs.pause',
  resume: 'jobs.pause',
  cancel: 'jobs.cancel',
};
/** Where the action does something, unless the selection names statuses itself. */
const MEANS: Record<BulkAction, readonly JobStatus[]> = {
  pause: ['SCHEDULED'],
  resume: ['PAUSED'],
  cancel: ['SCHEDULED', 'PAUSED'],
};

export function bulkJobs(ports: OperationPorts) {
  const actions = { pause: pauseJob(ports), resume: resumeJob(ports), cancel: cancelJob(ports) };
  return async (caller: Caller, request: BulkRequest): Promise<BulkReport> => {
    const { action, selection, dryRun, afterJobId } = request;
    const statuses = selection.statuses?.length ? selection.statuses : MEANS[action];
    const { jobs, next } = await selectJobs(ports, {
      caller,
      action: NEEDS[action],
      query: { ...selection, statuses, afterJobId, limit: BULK_JOBS_MAX },
    });
    const { done, refused } = dryRun
      ? { done: 0, refused: 0 }
      : await workThrough(jobs, ({ jobId }) => actions[action](caller, jobId));
    return { matched: jobs.length, changed: done, refused, jobIds: jobs.map(({ jobId }) => jobId), next };
  };
}

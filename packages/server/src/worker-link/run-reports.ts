/**
 * What workers report about their runs. Every report carries the lease and epoch under which the run was handed out; one about a run
 * that another worker has by now is answered `stale`, and the worker must stop what it still does for it.
 */
import type { WorkerHome } from '@carillon/worker';

/** What a home needs of whoever records. */
export type RunReports = Pick<WorkerHome, 'ended' | 'running'>;

/**
 * What workers report about their runs. Every report carries the lease and epoch under which the run was handed out; one about a run
 * that another worker has by now is answered `stale`, and the worker must stop what it still does for it.
 */
import type { ReportAnswer, RunningReport, RunReport } from '@carillon/worker';

export interface RunReports {
  /** In batches, because a promise for each would cost more than the run. Answers in order. */
  ended(reports: readonly RunReport[]): Promise<readonly ReportAnswer[]>;
  /** Runs that have been going on for a while, so that people see them. Best effort. */
  running(reports: readonly RunningReport[]): void;
}

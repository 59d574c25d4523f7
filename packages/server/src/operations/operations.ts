/**
 * Everything that can be asked of Carillon, as one object: the doors (REST, RPC, dashboard) call these and nothing below. Every operation
 * takes its caller first and judges itself what they may.
 */
import type { Caller } from '@carillon/domain';
import { keyOperations } from './accounts/key-operations.ts';
import { namespaceOperations } from './accounts/namespace-operations.ts';
import { sessionOperations } from './accounts/session-operations.ts';
import { userOperations } from './accounts/user-operations.ts';
import { bulkJobs } from './bulk-jobs.ts';
import { bulkRedriveDeadLetters } from './bulk-redrive-dead-letters.ts';
import { cancelJob } from './cancel-job.ts';
import { cancelRun } from './cancel-run.ts';
import { createJob } from './create-job.ts';
import { createJobs } from './create-jobs.ts';
import { deleteJob } from './delete-job.ts';
import { getDeadLetter } from './get-dead-letter.ts';
import { getJob } from './get-job.ts';
import { getJobLogs } from './get-job-logs.ts';
import { getJobStatus } from './get-job-status.ts';
import { getRun } from './get-run.ts';
import { listAudit } from './list-audit.ts';
import { listDeadLetters } from './list-dead-letters.ts';
import { listJobs } from './list-jobs.ts';
import { listRuns } from './list-runs.ts';
import { listSortedJobs } from './list-sorted-jobs.ts';
import { listUpcoming } from './list-upcoming.ts';
import { listWorkerRuns } from './list-worker-runs.ts';
import { getWorker, listWorkers } from './list-workers.ts';
import type { OperationPorts } from './operation-ports.ts';
import { pauseJob } from './pause-job.ts';
import { previewSchedule } from './preview-schedule.ts';
import { readEvents } from './read-events.ts';
import { redriveDeadLetter } from './redrive-dead-letter.ts';
import { rerunRun } from './rerun-run.ts';
import { resumeJob } from './resume-job.ts';
import { runJobNow } from './run-job-now.ts';
import { updateJob } from './update-job.ts';
import { watchEvents } from './watch-events.ts';

export type Operations = ReturnType<typeof createOperations>;

export function createOperations(ports: OperationPorts) {
  return {
    createJob: createJob(ports),
    createJobs: createJobs(ports),
    updateJob: updateJob(ports),
    pauseJob: pauseJob(ports),
    resumeJob: resumeJob(ports),
    cancelJob: cancelJob(ports),
    deleteJob: deleteJob(ports),
    runJobNow: runJobNow(ports),
    cancelRun: cancelRun(ports),
    rerunRun: rerunRun(ports),
    bulkJobs: bulkJobs(ports),
    previewSchedule: previewSchedule(ports),
    getJob: getJob(ports),
    getJobStatus: getJobStatus(ports),
    getRun: getRun(ports),
    listJobs: listJobs(ports),
    listSortedJobs: listSortedJobs(ports),
    listRuns: listRuns(ports),
    listUpcoming: listUpcoming(ports),
    getJobLogs: getJobLogs(ports),
    listWorkers: listWorkers(ports),
    getWorker: getWorker(ports),
    listWorkerRuns: listWorkerRuns(ports),
    listDeadLetters: listDeadLetters(ports),
    getDeadLetter: getDeadLetter(ports),
    redriveDeadLetter: redriveDeadLetter(ports),
    readEvents: readEvents(ports),
    watchEvents: watchEvents(ports),
    bulkRedriveDeadLetters: bulkRedriveDeadLetters(ports),
    listAudit: listAudit(ports),
    ...namespaceOperations(ports),
    ...userOperations(ports),
    ...keyOperations(ports),
    ...sessionOperations(ports),
  };
}

type Asked<Operation> = Operation extends (caller: Caller, ...rest: infer Rest) => infer Answer
  ? (...rest: Rest) => Answer
  : never;

export type OperationsOfOne = { [Name in keyof Operations]: Asked<Operations[Name]> };

/** The operations as one caller has them: for whoever embeds the engine, and for tests. */
export function operationsAs(caller: Caller, operations: Operations): OperationsOfOne {
  const bound = Object.entries(operations).map(([name, operation]) => [
    name,
    (...rest: unknown[]) => (operation as (...given: unknown[]) => unknown)(caller, ...rest),
  ]);
  return Object.fromEntries(bound) as OperationsOfOne;
}

/**
 * Everything that can be asked of Carillon, as one object: the doors (REST, RPC, dashboard) call these and nothing below. Every operation
 * takes its caller first and judges itself what they may.
 */
import type { Caller } from '@carillon/domain';
import { cancelJob } from './cancel-job.ts';
import { cancelRun } from './cancel-run.ts';
import { createJob } from './create-job.ts';
import { createJobs } from './create-jobs.ts';
import { deleteJob } from './delete-job.ts';
import { getJob } from './get-job.ts';
import { getJobStatus } from './get-job-status.ts';
import { getRun } from './get-run.ts';
import { listDeadLetters } from './list-dead-letters.ts';
import { listJobs } from './list-jobs.ts';
import { listRuns } from './list-runs.ts';
import { listWorkerRuns } from './list-worker-runs.ts';
import type { OperationPorts } from './operation-ports.ts';
import { pauseJob } from './pause-job.ts';
import { redriveDeadLetter } from './redrive-dead-letter.ts';
import { resumeJob } from './resume-job.ts';
import { runJobNow } from './run-job-now.ts';
import { updateJob } from './update-job.ts';

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
    getJob: getJob(ports),
    getJobStatus: getJobStatus(ports),
    getRun: getRun(ports),
    listJobs: listJobs(ports),
    listRuns: listRuns(ports),
    listWorkerRuns: listWorkerRuns(ports),
    listDeadLetters: listDeadLetters(ports),
    redriveDeadLetter: redriveDeadLetter(ports),
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

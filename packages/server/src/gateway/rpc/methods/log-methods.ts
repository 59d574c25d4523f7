/** The stories of jobs and runs, line by line. */
import { LOGS_QUERY, logLines, readShape, rpc } from '@carillon/contract';
import type { Operations } from '../../../operations/operations.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';

const { method } = rpc.JobService;

export function logMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.getJobLogs, ['runs.read'], async ({ caller, request }) => {
      const jobId = idOf.job(request.jobId);
      const query = readShape(LOGS_QUERY, request.limit === 0 ? {} : { limit: String(request.limit) });
      const attempts = await operations.getJobLogs(caller, jobId, query);
      return { jobId, lines: logLines(attempts).map(rpc.logLineMessage) };
    }),
    unary(method.getRunLogs, ['runs.read'], async ({ caller, request }) => {
      const runId = idOf.run(request.runId);
      const { latest, attempts } = await operations.getRun(caller, runId);
      return { jobId: latest.jobId, runId, lines: logLines(attempts).map(rpc.logLineMessage) };
    }),
  ];
}

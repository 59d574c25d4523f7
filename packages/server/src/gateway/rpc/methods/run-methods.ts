/** Runs: of a job, of a worker, one by one; stop them, run them again. */
import { rpc, runView } from '@carillon/contract';
import { Refusal } from '@carillon/domain';
import type { Operations } from '../../../operations/operations.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';
import { runPageAnswer, runPageAsked } from '../run-pages.ts';
import { keyOf } from './job-methods.ts';

const { method } = rpc.JobService;

export function runMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.getExecHistory, ['runs.read'], async ({ caller, request }) => {
      const rows = await operations.listRuns(caller, idOf.job(request.jobId), runPageAsked(request));
      return runPageAnswer(rows, request);
    }),
    // Those of a worker are for who may see workers as well.
    unary(method.listRuns, ['runs.read', 'workers.read'], async ({ caller, request }) => {
      const page = runPageAsked(request);
      const { of } = request;
      switch (of.case) {
        case 'jobId':
          return runPageAnswer(await operations.listRuns(caller, idOf.job(of.value), page), request);
        case 'workerId': {
          const workerId = idOf.worker(of.value);
          return runPageAnswer(await operations.listWorkerRuns(caller, workerId, page), request);
        }
        default:
          throw new Refusal('field_missing', 'Give the job_id or the worker_id.', { field: 'job_id' });
      }
    }),
    unary(method.getRun, ['runs.read'], async ({ caller, request }) => {
      const { latest, attempts } = await operations.getRun(caller, idOf.run(request.runId));
      const messages = attempts.map((attempt) => rpc.runMessage(runView(attempt)));
      return { run: rpc.runMessage(runView(latest)), attempts: messages };
    }),
    unary(method.cancelRun, ['runs.cancel'], async ({ caller, request }) => {
      const runId = idOf.run(request.runId);
      const ended = (await operations.cancelRun(caller, runId)) === 'ended';
      return { runId, status: ended ? 'cancelled' : 'cancelling' };
    }),
    unary(method.rerunRun, ['runs.rerun'], ({ caller, request }) => {
      const idempotencyKey = keyOf(request.idempotencyKey);
      return operations.rerunRun(caller, idOf.run(request.runId), { idempotencyKey });
    }),
  ];
}

/** Workers: who executes. */
import { rpc, workerView } from '@carillon/contract';
import type { Operations } from '../../../operations/operations.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';

const { method } = rpc.JobService;

export function workerMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.listWorkers, ['workers.read'], async ({ caller }) => {
      const workers = await operations.listWorkers(caller);
      return { workers: workers.map((worker) => rpc.workerMessage(workerView(worker))) };
    }),
    unary(method.getWorker, ['workers.read'], async ({ caller, request }) => {
      const worker = await operations.getWorker(caller, idOf.worker(request.workerId));
      return { worker: rpc.workerMessage(workerView(worker)) };
    }),
  ];
}

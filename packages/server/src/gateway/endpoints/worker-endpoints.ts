/** Workers: who executes, and what each is running. */
import { EXAMPLES, runAnswer, WORKER_RUNS_QUERY, workerAnswer, workerView } from '@carillon/contract';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { answerRuns, runPageOf } from './answer-runs.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function workerEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/workers',
      access: 'workers.read',
      tag: 'workers',
      summary: 'List workers',
      answers: {
        200: {
          description: 'All that are known.',
          schema: z.array(workerAnswer),
          example: [EXAMPLES.worker],
        },
      },
      handle: async ({ caller }) => (await operations.listWorkers(caller)).map(workerView),
    }),

    endpoint({
      method: 'GET',
      path: '/workers/{id}',
      access: 'workers.read',
      tag: 'workers',
      summary: 'Read a worker',
      answers: { 200: { description: 'The worker.', schema: workerAnswer, example: EXAMPLES.worker } },
      handle: async ({ caller, params }) => workerView(await operations.getWorker(caller, params.id!)),
    }),

    endpoint({
      method: 'GET',
      path: '/job/executions',
      access: ['workers.read', 'runs.read'],
      tag: 'workers',
      summary: 'List what a worker is running',
      query: WORKER_RUNS_QUERY,
      answers: { 200: { description: 'The runs.', schema: z.array(runAnswer), example: [EXAMPLES.run] } },
      handle: async (call) => {
        const { worker_id: workerId, ...paging } = call.query;
        const query = { ...paging, page: paging.page, before: undefined };
        const rows = await operations.listWorkerRuns(call.caller, workerId, runPageOf(query));
        return answerRuns(rows, { call, query, address });
      },
    }),
  ];
}

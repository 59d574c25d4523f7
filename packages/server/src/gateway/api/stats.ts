/** Counts over time, what goes on now, and failures by group. */
import {
  EXAMPLES,
  FAILURES_QUERY,
  failureAnswer,
  failureView,
  rpc,
  STATS_NOW_QUERY,
  STATS_QUERY,
  statsAnswer,
  statsNowAnswer,
  statsNowView,
  statsView,
  toFailuresQuery,
  toStatsQuery,
} from '@carillon/contract';
import { z } from 'zod';
import { type ApiContext, type Operation, operation, reading } from './operation.ts';

const { method: call } = rpc.JobService;

export function statsOperations({ operations }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/stats',
      rpc: { method: call.getStats, names: { from: 'since', to: 'until' } },
      access: 'runs.read',
      tag: 'stats',
      summary: 'Count runs over time',
      description:
        'Attempts by the minute or hour in which their end was recorded, of the namespaces in which you may read every run: a grant for your own jobs alone adds nothing, unless job_id names one of them. The last hour when from is left out; at most 2,000 buckets. Minutes are kept for 2 days, hours for 400. Counting begins with the version of the server that can, and costs the same however many runs there are.',
      query: reading(STATS_QUERY, toStatsQuery),
      answers: { 200: { description: 'The counts.', schema: statsAnswer, example: EXAMPLES.stats } },
      handle: async ({ caller, query }) => ({ body: statsView(await operations.readStats(caller, query)) }),
    }),

    operation({
      method: 'GET',
      path: '/stats/now',
      rpc: { method: call.getStatsNow },
      access: 'runs.read',
      tag: 'stats',
      summary: 'See whether the system keeps up',
      description:
        'Cheap enough to be asked every second: those who ask within the same second share the answer.',
      query: reading(STATS_NOW_QUERY),
      answers: { 200: { description: 'As of now.', schema: statsNowAnswer, example: EXAMPLES.statsNow } },
      handle: async ({ caller, query }) => ({
        body: statsNowView(await operations.readStatsNow(caller, query)),
      }),
    }),

    operation({
      method: 'GET',
      path: '/failures',
      rpc: { method: call.listFailures },
      access: 'runs.read',
      tag: 'stats',
      summary: 'List failures by group, the most frequent first',
      description:
        'Attempts that failed or took too long, grouped by handler and error without what varies from run to run. By whole hours: the last day when from is left out. Of the namespaces in which you may read every run.',
      query: reading(FAILURES_QUERY, toFailuresQuery),
      answers: {
        200: { description: 'The groups.', schema: z.array(failureAnswer), example: [EXAMPLES.failure] },
      },
      handle: async ({ caller, query }) => ({
        body: (await operations.listFailures(caller, query)).map(failureView),
      }),
    }),
  ];
}

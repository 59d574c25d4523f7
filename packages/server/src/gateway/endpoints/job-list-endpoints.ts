/** Jobs as lists: by their properties, and by what fires next. */
import {
  EXAMPLES,
  JOBS_QUERY,
  jobAnswer,
  jobView,
  toJobsQuery,
  toUpcomingQuery,
  UPCOMING_QUERY,
  upcomingAnswer,
  upcomingView,
  writeJobPlace,
} from '@carillon/contract';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { linkPages, tellTotal } from '../page-links.ts';
import { userNamed } from './caller-words.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function jobListEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/jobs',
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'List jobs',
      description:
        'Follow the Link header (rel="next") until there is none. An answer looks through a bounded number of jobs: it may hold fewer entries than limit, even none, and still have a next. X-Total-Count is there when the list was read from its start to its end.',
      query: JOBS_QUERY,
      answers: { 200: { description: 'The jobs.', schema: z.array(jobAnswer), example: [EXAMPLES.job] } },
      handle: async ({ caller, query, request, reply }) => {
        const { page, limit, after: afterJobId, order, sorted, userId, ...filter } = toJobsQuery(query);
        const asked = {
          ...filter,
          userId: userNamed(caller, userId),
          offset: page === undefined ? 0 : (page - 1) * limit,
          limit,
        };
        const { jobs, next } = sorted
          ? await operations.listSortedJobs(caller, { ...asked, ...sorted })
          : await operations.listJobs(caller, { ...asked, order, afterJobId });
        linkPages(request, reply, {
          address,
          page,
          stopped: jobs.length < limit,
          hasMore: next !== undefined,
          next: next && { name: 'after', value: typeof next === 'string' ? next : writeJobPlace(next) },
        });
        if (afterJobId === undefined && sorted?.after === undefined) {
          tellTotal(reply, { page, limit, shown: jobs.length, ended: next === undefined });
        }
        return jobs.map(jobView);
      },
    }),

    endpoint({
      method: 'GET',
      path: '/jobs/upcoming',
      access: 'jobs.read',
      tag: 'jobs',
      summary: 'What fires next',
      description:
        'Every start that is planned within the time asked for, in order: waiting runs and the occurrences of recurring jobs. Carillon-Partial: true says that more was due than could be looked at.',
      query: UPCOMING_QUERY,
      answers: {
        200: {
          description: 'The starts, first things first.',
          schema: z.array(upcomingAnswer),
          example: [
            {
              job_id: EXAMPLES.jobId,
              name: EXAMPLES.job.name,
              namespace: 'default',
              user_id: 'u003',
              handler: 'http',
              priority: 'medium',
              run_time: '2030-01-02T08:00:00.000Z',
            },
          ],
        },
      },
      handle: async ({ caller, query, reply }) => {
        const { runs, partial } = await operations.listUpcoming(caller, toUpcomingQuery(query));
        if (partial) reply.header('carillon-partial', 'true');
        return runs.map(upcomingView);
      },
    }),
  ];
}

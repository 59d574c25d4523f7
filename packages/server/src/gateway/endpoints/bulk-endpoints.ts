/** Many jobs at once, by filter. */
import { BULK_BODY, bulkAnswer, bulkView, EXAMPLES, toBulkRequest } from '@carillon/contract';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { userNamed } from './caller-words.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function bulkEndpoints({ operations }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/jobs/bulk',
      access: ['jobs.pause', 'jobs.cancel'],
      tag: 'jobs',
      summary: 'Pause, resume or cancel many jobs',
      description:
        'One request does up to 1,000 jobs; "next" of the answer, sent as "after", goes on with the rest. Without a status, pause means scheduled jobs, resume paused ones, cancel both. Pausing and resuming ask for jobs.pause, cancelling for jobs.cancel.',
      body: BULK_BODY,
      bodyExamples: {
        'dry run': { action: 'pause', filter: { label: 'team:billing' }, dry_run: true },
        cancel: { action: 'cancel', filter: { user_id: 'u003', status: 'paused' } },
      },
      answers: {
        200: {
          description: 'What was done, or would be.',
          schema: bulkAnswer,
          example: {
            action: 'pause',
            dry_run: true,
            matched: 1,
            changed: 0,
            refused: 0,
            jobs: [EXAMPLES.jobId],
            next: null,
          },
        },
      },
      handle: async ({ caller, body }) => {
        const { selection, ...request } = toBulkRequest(body);
        const report = await operations.bulkJobs(caller, {
          ...request,
          selection: { ...selection, userId: userNamed(caller, selection.userId) },
        });
        return bulkView(request, report);
      },
    }),
  ];
}

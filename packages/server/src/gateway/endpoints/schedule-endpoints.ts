/** Schedules without jobs: what one would mean. */
import { EXAMPLES, PREVIEW_BODY, previewAnswer, previewView, toPreviewRequest } from '@carillon/contract';
import { type Endpoint, endpoint } from '../endpoint.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function scheduleEndpoints({ operations }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/schedules/preview',
      access: 'schedules.preview',
      tag: 'schedules',
      summary: 'What a schedule means',
      description:
        'The schedule fields of a job, in words and in its next instants, with warnings where a change of the clock within a year skips or repeats a planned time. A schedule that never fires is refused.',
      body: PREVIEW_BODY,
      bodyExamples: {
        cron: { cron_expression: '0 9 * * 1-5', time_zone: 'Europe/Paris', count: 1 },
        interval: { interval: '15m', count: 3, after: '2030-01-01T00:00:00Z' },
      },
      answers: {
        200: { description: 'The preview.', schema: previewAnswer, example: EXAMPLES.preview },
      },
      handle: async ({ caller, body }) =>
        previewView(await operations.previewSchedule(caller, toPreviewRequest(body))),
    }),
  ];
}

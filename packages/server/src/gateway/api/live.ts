/** What changed, for pages: a stream with at most one message a second, or one answer. An exception: one path has two kinds of answers. */
import { EXAMPLES, LIVE_QUERY, liveAnswer, liveView, toLiveQuery } from '@carillon/contract';
import { systemClock } from '@carillon/foundation';
import { z } from 'zod';
import { liveStream } from '../events/live-stream.ts';
import { type ApiContext, type Operation, reading, restOperation } from './operation.ts';

const STREAM_TYPE = 'text/event-stream';
const STREAM_EXAMPLE = `id: ${EXAMPLES.live.id}\ndata: ${JSON.stringify(EXAMPLES.live)}\n\n`;

export function liveOperations({ operations, authenticate, stopping }: ApiContext): Operation[] {
  return [
    restOperation({
      method: 'GET',
      path: '/live',
      restOnly: 'for pages; programs watch events',
      access: 'events.read',
      tag: 'events',
      summary: 'What to read again, as it changes',
      description: [
        'For pages that show jobs and runs. With `Accept: text/event-stream` a stream of Server-Sent Events: at most one message a',
        'second, however much happens. The first one comes within a second and tells the position; what was read before it may be old.',
        'Up to 200 jobs and 200 runs are named; where there were more, or what happened is not known any more,',
        'refetch is true, at most every five seconds. Otherwise one answer in JSON: what changed since last_event_id.',
      ].join(' '),
      query: reading(LIVE_QUERY),
      headers: {
        'last-event-id': { description: 'The id of the last update you got.', example: '74231-1802' },
        accept: {
          description: 'text/event-stream for a stream, application/json for one answer.',
          example: 'application/json',
        },
      },
      answers: {
        200: {
          description: 'What changed.',
          schema: liveAnswer,
          example: EXAMPLES.live,
          otherTypes: {
            [STREAM_TYPE]: {
              schema: z.string().describe('Server-Sent Events; "data" of each is an update in JSON.'),
              example: STREAM_EXAMPLE,
            },
          },
        },
      },
      handle: async ({ caller, query, request, reply }) => {
        const asked = toLiveQuery(query, request.headers['last-event-id']);
        reply.header('vary', 'accept');
        // A stream in answer to HEAD would never end.
        if (request.method === 'HEAD' || !request.headers.accept?.includes(STREAM_TYPE))
          return { body: liveView(await operations.readLive(caller, asked)) };
        const body = await liveStream({
          open: (sink) => operations.watchLive(caller, asked, sink),
          clock: systemClock,
          authenticate: () => authenticate(request),
          stopping,
        });
        // Asks proxies not to collect the answer before they pass it on.
        reply
          .type(STREAM_TYPE)
          .header('x-accel-buffering', 'no')
          .header('cache-control', 'no-store, no-transform');
        return { body };
      },
    }),
  ];
}

/** Events, as a stream that goes on or page by page. An exception: one path has two kinds of answers. */
import { cloudEvent, EVENTS_QUERY, EXAMPLES, eventAnswer, rpc, toEventsQuery } from '@carillon/contract';
import { writeEventCursor } from '@carillon/domain';
import { systemClock } from '@carillon/foundation';
import { z } from 'zod';
import { sseStream } from '../events/sse-stream.ts';
import { type ApiContext, type Operation, reading, restOperation } from './operation.ts';

const STREAM_TYPE = 'text/event-stream';
const { id, type } = EXAMPLES.event;
const STREAM_EXAMPLE = `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(EXAMPLES.event)}\n\n`;

export function eventOperations({ operations, authenticate, stopping }: ApiContext): Operation[] {
  return [
    restOperation({
      method: 'GET',
      path: '/events',
      calls: [rpc.JobService.method.listEvents, rpc.JobService.method.watchEvents],
      access: 'events.read',
      tag: 'events',
      summary: 'Follow what happens, or read what happened',
      description: [
        'With `Accept: text/event-stream` (or `*/*`, as curl sends) the answer is a stream of Server-Sent Events that goes on',
        'until you close it: `id`, `event` (the type) and `data`, a CloudEvent in JSON. Without a last event it begins now.',
        'With `Accept: application/json`, with none, or with a limit, it is one page of events, oldest first; follow the Link header `next`,',
        'which is always there, to read on.',
      ].join(' '),
      // As clients of streams know it; cursor does the same.
      cursor: 'last_event_id',
      query: reading(EVENTS_QUERY),
      headers: {
        'last-event-id': { description: 'The id of the last event you saw.', example: '74231-1802-0' },
        accept: {
          description: 'text/event-stream for a stream, application/json for a page.',
          example: 'application/json',
        },
      },
      answers: {
        200: {
          description: 'The events: a page of them, or a stream.',
          schema: z.array(eventAnswer),
          example: [EXAMPLES.event],
          otherTypes: {
            [STREAM_TYPE]: {
              schema: z.string().describe('Server-Sent Events; "data" of each is an event in JSON.'),
              example: STREAM_EXAMPLE,
            },
          },
        },
      },
      handle: async ({ caller, query, request, reply }) => {
        const { filter, after, limit, isPage } = toEventsQuery(query, request.headers['last-event-id']);
        reply.header('vary', 'accept');
        // A stream in answer to HEAD would never end.
        if (request.method === 'HEAD' || !wantsStream(request.headers.accept, { isPage })) {
          const { events, through } = await operations.readEvents(caller, { filter, after, limit });
          return {
            body: events.map(cloudEvent),
            list: {
              hasMore: true,
              next: writeEventCursor(through),
              cursorAt: (index) => writeEventCursor(events[index]!.cursor),
            },
          };
        }
        await operations.requireNamespace(caller, filter.namespace);
        const events = operations.watchEvents(caller, { filter, after });
        // Asks proxies not to collect the answer before they pass it on.
        reply
          .type(STREAM_TYPE)
          .header('x-accel-buffering', 'no')
          .header('cache-control', 'no-store, no-transform');
        const recognise = () => authenticate(request);
        return { body: sseStream({ events, clock: systemClock, stopping, authenticate: recognise }) };
      },
    }),
  ];
}

/** A browser's EventSource and curl get the stream; programs that ask for JSON, a limit, or nothing in particular, a page. */
function wantsStream(accept: string | undefined, { isPage }: { isPage: boolean }): boolean {
  if (accept === undefined || accept.trim() === '') return false;
  if (accept.includes(STREAM_TYPE)) return true;
  return accept.includes('*/*') && !accept.includes('application/json') && !isPage;
}

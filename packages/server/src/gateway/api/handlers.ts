/** Handlers: list and read. */
import { EXAMPLES, handlerAnswer, handlerView, PAGE_QUERY, rpc } from '@carillon/contract';
import { z } from 'zod';
import {
  type ApiContext,
  listReply,
  type Operation,
  operation,
  placeAfter,
  reading,
  readLimit,
} from './operation.ts';

const { method: call } = rpc.JobService;

export function handlerOperations({ operations }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/handlers',
      rpc: { method: call.listHandlers },
      access: 'handlers.read',
      tag: 'handlers',
      summary: 'List handlers',
      description:
        'What jobs can name as their handler, with the payload that each takes. Those that no worker offers at the moment are kept for 30 days.',
      cursor: 'cursor',
      query: reading(PAGE_QUERY),
      answers: {
        200: { description: 'By name.', schema: z.array(handlerAnswer), example: [EXAMPLES.handler] },
      },
      handle: async ({ caller, query: { limit, cursor } }) =>
        listReply(
          await operations.listHandlers(caller, { after: placeAfter(cursor), limit: readLimit(limit) }),
          {
            limit,
            view: handlerView,
            cursorOf: ({ name }) => name,
          },
        ),
    }),

    operation({
      method: 'GET',
      path: '/handlers/{name}',
      rpc: { method: call.getHandler },
      access: 'handlers.read',
      tag: 'handlers',
      summary: 'Read a handler',
      subject: 'handler',
      subjectIs: 'The name of the handler; a slash in it is written as %2F.',
      answers: { 200: { description: 'The handler.', schema: handlerAnswer, example: EXAMPLES.handler } },
      handle: async ({ caller, id }) => ({ body: handlerView(await operations.getHandler(caller, id)) }),
    }),
  ];
}

/** Namespaces: what separates one team's jobs from another's. */
import {
  ACCOUNT_EXAMPLES,
  BY_NAME_QUERY,
  NAMESPACE_BODY,
  NAMESPACE_CHANGE,
  namespaceAnswer,
  namespaceView,
  parseIdempotencyKey,
} from '@carillon/contract';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { cutPage, linkPages, readLimit } from '../page-links.ts';
import type { EndpointContext } from './endpoint-context.ts';

const ONE = { schema: namespaceAnswer, example: ACCOUNT_EXAMPLES.namespace };
const params = { name: 'The name of the namespace.' };

export function namespaceEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/namespaces',
      access: 'namespaces.read',
      tag: 'namespaces',
      summary: 'List the namespaces that you have a grant in',
      query: BY_NAME_QUERY,
      answers: {
        200: {
          description: 'The namespaces, by name.',
          schema: z.array(namespaceAnswer),
          example: [ACCOUNT_EXAMPLES.namespace],
        },
      },
      handle: async ({ caller, query, request, reply }) => {
        const { after, limit } = query;
        const rows = await operations.listNamespaces(caller, { after, limit: readLimit(limit) });
        const { shown, hasMore } = cutPage(rows, limit);
        const last = shown.at(-1);
        const next = last && { name: 'after', value: last.name };
        linkPages(request, reply, { address, page: undefined, hasMore, next });
        return shown.map(namespaceView);
      },
    }),

    endpoint({
      method: 'POST',
      path: '/namespaces',
      access: 'namespaces.manage',
      tag: 'namespaces',
      summary: 'Create a namespace',
      headers: {
        'Idempotency-Key': { description: 'With it, a namespace that is already as asked for is no error.' },
      },
      body: NAMESPACE_BODY,
      bodyExamples: { namespace: ACCOUNT_EXAMPLES.namespaceBody },
      answers: { 201: { description: 'Created.', ...ONE } },
      handle: async ({ caller, body, request, reply }) => {
        const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
        const namespace = await operations.createNamespace(caller, body, { idempotencyKey });
        reply.code(201).header('location', `${address}/api/namespaces/${namespace.name}`);
        return namespaceView(namespace);
      },
    }),

    endpoint({
      method: 'GET',
      path: '/namespaces/{name}',
      access: 'namespaces.read',
      tag: 'namespaces',
      summary: 'Read a namespace',
      params,
      answers: { 200: { description: 'The namespace.', ...ONE } },
      handle: async ({ caller, params }) =>
        namespaceView(await operations.getNamespace(caller, params.name!)),
    }),

    endpoint({
      method: 'PATCH',
      path: '/namespaces/{name}',
      access: 'namespaces.manage',
      tag: 'namespaces',
      summary: 'Describe a namespace anew',
      params,
      body: NAMESPACE_CHANGE,
      bodyExamples: { description: { description: 'Invoices, reminders and dunning' } },
      answers: { 200: { description: 'As it is now.', ...ONE } },
      handle: async ({ caller, params, body }) =>
        namespaceView(await operations.updateNamespace(caller, params.name!, body)),
    }),

    endpoint({
      method: 'DELETE',
      path: '/namespaces/{name}',
      access: 'namespaces.manage',
      tag: 'namespaces',
      summary: 'Remove an empty namespace',
      description: 'Grants and keys in it go with it. One that holds jobs is refused.',
      params,
      answers: { 204: { description: 'Removed.' } },
      handle: async ({ caller, params, reply }) => {
        await operations.deleteNamespace(caller, params.name!);
        reply.code(204);
      },
    }),
  ];
}

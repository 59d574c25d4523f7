/** API keys: for programs, shown once. */
import {
  ACCOUNT_EXAMPLES,
  createdKeyAnswer,
  KEY_BODY,
  KEYS_QUERY,
  keyAnswer,
  keyView,
  parseIdempotencyKey,
  readId,
  toKeyInput,
} from '@carillon/contract';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { cutPage, linkPages, readLimit } from '../page-links.ts';
import type { EndpointContext } from './endpoint-context.ts';

const params = { id: 'The key_id.' };
const OWN =
  'People who are signed in need no permission for keys of their own, nor does a key for itself; for others it takes';

export function keyEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/keys',
      access: 'self',
      tag: 'keys',
      summary: 'List keys, newest first',
      description: `${OWN} keys.read.`,
      query: KEYS_QUERY,
      answers: {
        200: { description: 'The keys.', schema: z.array(keyAnswer), example: [ACCOUNT_EXAMPLES.key] },
      },
      handle: async ({ caller, query, request, reply }) => {
        const { after: afterKeyId, limit } = query;
        const rows = await operations.listKeys(caller, { afterKeyId, limit: readLimit(limit) });
        const { shown, hasMore } = cutPage(rows, limit);
        const last = shown.at(-1);
        const next = last && { name: 'after', value: last.keyId };
        linkPages(request, reply, { address, page: undefined, hasMore, next });
        return shown.map(keyView);
      },
    }),

    endpoint({
      method: 'POST',
      path: '/keys',
      access: 'self',
      tag: 'keys',
      summary: 'Make a key',
      description: `The answer is the only one that holds the key. No key is stronger than its maker or its owner. People who are signed in make keys of their own without a permission; everybody else needs keys.manage.`,
      headers: { 'Idempotency-Key': { description: 'The same key again makes no second one.' } },
      body: KEY_BODY,
      bodyExamples: { key: ACCOUNT_EXAMPLES.keyBody },
      answers: {
        201: { description: 'Made.', schema: createdKeyAnswer, example: ACCOUNT_EXAMPLES.createdKey },
      },
      handle: async ({ caller, body, request, reply }) => {
        const idempotencyKey = parseIdempotencyKey(request.headers['idempotency-key']);
        const { key, secret } = await operations.createKey(caller, toKeyInput(body), { idempotencyKey });
        reply.code(201).header('location', `${address}/api/keys/${key.keyId}`);
        return { ...keyView(key), key: secret };
      },
    }),

    endpoint({
      method: 'GET',
      path: '/keys/{id}',
      access: 'self',
      tag: 'keys',
      summary: 'Read a key, without its secret',
      description: `${OWN} keys.read.`,
      params,
      answers: { 200: { description: 'The key.', schema: keyAnswer, example: ACCOUNT_EXAMPLES.key } },
      handle: async ({ caller, params }) =>
        keyView(await operations.getKey(caller, readId(params.id!, 'key'))),
    }),

    endpoint({
      method: 'DELETE',
      path: '/keys/{id}',
      access: 'self',
      tag: 'keys',
      summary: 'Revoke a key',
      description: `It stops working at once on the server that answers, within seconds on all others. ${OWN} keys.manage.`,
      params,
      answers: { 204: { description: 'Revoked.' } },
      handle: async ({ caller, params, reply }) => {
        await operations.revokeKey(caller, readId(params.id!, 'key'));
        reply.code(204);
      },
    }),
  ];
}

/** API keys: listed, made, renamed, rotated and revoked. */
import {
  ACCOUNT_EXAMPLES,
  createdKeyAnswer,
  KEY_BODY,
  KEY_CHANGE,
  KEYS_QUERY,
  keyAnswer,
  keyView,
  ROTATE_KEY_BODY,
  rpc,
  toKeyInput,
  toKeysQuery,
  toRotationInput,
} from '@carillon/contract';
import { z } from 'zod';
import { type ApiContext, listReply, type Operation, operation, reading, readLimit } from './operation.ts';

const { method: call } = rpc.AccountService;
const KEY = { schema: keyAnswer, example: ACCOUNT_EXAMPLES.key };
const aboutKey = { subject: 'key', subjectIs: 'The key_id.' } as const;

const OWN_KEYS =
  'People need no permission for keys of their own, whatever they came with, nor does a key for itself; for others it takes';

export function keyOperations({ operations, address }: ApiContext): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/keys',
      rpc: { method: call.listKeys },
      access: 'self',
      tag: 'keys',
      summary: 'List keys, newest first',
      description: `${OWN_KEYS} keys.read.`,
      cursor: 'cursor',
      query: reading(KEYS_QUERY, toKeysQuery),
      answers: {
        200: { description: 'The keys.', schema: z.array(keyAnswer), example: [ACCOUNT_EXAMPLES.key] },
      },
      handle: async ({ caller, query: { limit, ...query } }) => {
        const rows = await operations.listKeys(caller, { ...query, limit: readLimit(limit) });
        return listReply(rows, { limit, view: keyView, cursorOf: ({ keyId }) => keyId });
      },
    }),

    operation({
      method: 'POST',
      path: '/keys',
      rpc: { method: call.createKey, names: { key: 'secret' } },
      access: 'self',
      tag: 'keys',
      summary: 'Make a key',
      description:
        'The answer is the only one that holds the key. No key is stronger than its maker or its owner. People make keys of their own without a permission; one that lasts longer than the session or key they came with, or than 30 days, takes current_password. Keys of others, and of nobody, need keys.manage, and current_password of who has one; so do worker keys, with workers.connect as well.',
      headers: { 'Idempotency-Key': { description: 'The same key again makes no second one.' } },
      body: reading(KEY_BODY, toKeyInput),
      bodyExamples: {
        key: ACCOUNT_EXAMPLES.keyBody,
        several_grants: ACCOUNT_EXAMPLES.severalGrantsBody,
        worker: ACCOUNT_EXAMPLES.workerKeyBody,
      },
      answers: {
        201: { description: 'Made.', schema: createdKeyAnswer, example: ACCOUNT_EXAMPLES.createdKey },
      },
      handle: async ({ caller, body, idempotencyKey }) => {
        const { key, secret } = await operations.createKey(caller, body, { idempotencyKey });
        const location = `${address}/api/keys/${key.keyId}`;
        return { status: 201, headers: { location }, body: { ...keyView(key), key: secret } };
      },
    }),

    operation({
      method: 'GET',
      path: '/keys/{id}',
      rpc: { method: call.getKey },
      access: 'self',
      tag: 'keys',
      summary: 'Read a key, without its secret',
      description: `${OWN_KEYS} keys.read.`,
      ...aboutKey,
      answers: { 200: { description: 'The key.', ...KEY } },
      handle: async ({ caller, id }) => ({ body: keyView(await operations.getKey(caller, id)) }),
    }),

    operation({
      method: 'PATCH',
      path: '/keys/{id}',
      rpc: { method: call.updateKey },
      access: 'self',
      tag: 'keys',
      summary: 'Rename a key',
      description: `${OWN_KEYS} keys.manage.`,
      ...aboutKey,
      body: reading(KEY_CHANGE),
      bodyExamples: { name: ACCOUNT_EXAMPLES.keyChange },
      answers: { 200: { description: 'As it is now.', ...KEY } },
      handle: async ({ caller, id, body }) => ({
        body: keyView(await operations.renameKey(caller, id, body.name)),
      }),
    }),

    operation({
      method: 'POST',
      path: '/keys/{id}/rotate',
      rpc: { method: call.rotateKey, names: { key: 'secret' } },
      access: 'self',
      tag: 'keys',
      summary: 'Give a key a new secret',
      description: `The answer is the only one that holds it. The secret before works on for the overlap; one from an earlier rotation ends at once. ${OWN_KEYS} keys.manage and every right that the key has, and current_password of who has one.`,
      ...aboutKey,
      body: reading(ROTATE_KEY_BODY, toRotationInput),
      bodyExamples: { a_day: ACCOUNT_EXAMPLES.rotationBody, at_once: { overlap: 0 } },
      answers: {
        200: { description: 'Rotated.', schema: createdKeyAnswer, example: ACCOUNT_EXAMPLES.rotatedKey },
      },
      handle: async ({ caller, id, body }) => {
        const { key, secret } = await operations.rotateKey(caller, id, body);
        return { body: { ...keyView(key), key: secret } };
      },
    }),

    operation({
      method: 'DELETE',
      path: '/keys/{id}',
      rpc: { method: call.revokeKey },
      access: 'self',
      tag: 'keys',
      summary: 'Revoke a key',
      description: `It stops working at once on the server that answers, within seconds on all others. ${OWN_KEYS} keys.manage.`,
      ...aboutKey,
      answers: { 204: { description: 'Revoked.' } },
      handle: async ({ caller, id }) => {
        await operations.revokeKey(caller, id);
        return { status: 204, also: { key_id: id } };
      },
    }),
  ];
}

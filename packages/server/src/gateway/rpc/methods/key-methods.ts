/** API keys, which are shown once, and whose key it is that asks. */
import { callerView, KEY_BODY, keyView, rpc, toKeyInput } from '@carillon/contract';
import type { Operations } from '../../../operations/operations.ts';
import { cutPage, readLimit } from '../../page-links.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';
import { keyOf } from './job-methods.ts';

const { method } = rpc.AccountService;

export function keyMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.getCaller, 'self', async ({ caller }) => ({
      caller: rpc.callerMessage(callerView(caller, undefined)),
    })),
    unary(method.listKeys, 'self', async ({ caller, request }) => {
      const { afterKeyId, limit } = rpc.keysAsked(request);
      const rows = await operations.listKeys(caller, { afterKeyId, limit: readLimit(limit) });
      const { shown, hasMore } = cutPage(rows, limit);
      return {
        keys: shown.map((key) => rpc.keyMessage(keyView(key))),
        nextPageToken: (hasMore && shown.at(-1)?.keyId) || '',
      };
    }),
    unary(method.createKey, 'self', async ({ caller, request }) => {
      const input = toKeyInput(rpc.bodyAsked(KEY_BODY, rpc.CreateKeyRequestSchema, request));
      const idempotencyKey = keyOf(request.idempotencyKey);
      const { key, secret } = await operations.createKey(caller, input, { idempotencyKey });
      return { key: rpc.keyMessage(keyView(key)), secret };
    }),
    unary(method.getKey, 'self', async ({ caller, request }) => {
      const key = await operations.getKey(caller, idOf.key(request.keyId));
      return { key: rpc.keyMessage(keyView(key)) };
    }),
    unary(method.revokeKey, 'self', async ({ caller, request }) => {
      const keyId = idOf.key(request.keyId);
      await operations.revokeKey(caller, keyId);
      return { keyId };
    }),
  ];
}

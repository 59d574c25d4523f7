/** Namespaces: what separates one team's jobs from another's. */
import { NAMESPACE_BODY, NAMESPACE_CHANGE, namespaceView, rpc } from '@carillon/contract';
import type { Operations } from '../../../operations/operations.ts';
import { cutPage, readLimit } from '../../page-links.ts';
import { idOf } from '../read-ids.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';
import { keyOf } from './job-methods.ts';

const { method } = rpc.AccountService;

export function namespaceMethods(operations: Operations): RpcMethod[] {
  const answer = (namespace: Parameters<typeof namespaceView>[0]) => ({
    namespace: rpc.namespaceMessage(namespaceView(namespace)),
  });
  return [
    unary(method.listNamespaces, ['namespaces.read'], async ({ caller, request }) => {
      const { after, limit } = rpc.namesAsked(request);
      const rows = await operations.listNamespaces(caller, { after, limit: readLimit(limit) });
      const { shown, hasMore } = cutPage(rows, limit);
      return {
        namespaces: shown.map((namespace) => rpc.namespaceMessage(namespaceView(namespace))),
        nextPageToken: (hasMore && shown.at(-1)?.name) || '',
      };
    }),
    unary(method.createNamespace, ['namespaces.manage'], async ({ caller, request }) => {
      const body = rpc.bodyAsked(NAMESPACE_BODY, rpc.CreateNamespaceRequestSchema, request);
      const idempotencyKey = keyOf(request.idempotencyKey);
      return answer(await operations.createNamespace(caller, body, { idempotencyKey }));
    }),
    unary(method.getNamespace, ['namespaces.read'], async ({ caller, request }) =>
      answer(await operations.getNamespace(caller, idOf.namespace(request.name))),
    ),
    unary(method.updateNamespace, ['namespaces.manage'], async ({ caller, request }) => {
      const change = rpc.bodyAsked(NAMESPACE_CHANGE, rpc.UpdateNamespaceRequestSchema, request, ['name']);
      return answer(await operations.updateNamespace(caller, idOf.namespace(request.name), change));
    }),
    unary(method.deleteNamespace, ['namespaces.manage'], async ({ caller, request }) => {
      const name = idOf.namespace(request.name);
      await operations.deleteNamespace(caller, name);
      return { name };
    }),
  ];
}

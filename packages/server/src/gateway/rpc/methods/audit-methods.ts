/** The audit log: who changed what, from where. */
import { auditView, rpc } from '@carillon/contract';
import type { Operations } from '../../../operations/operations.ts';
import { cutPage, readLimit } from '../../page-links.ts';
import { type RpcMethod, unary } from '../rpc-method.ts';

const { method } = rpc.AuditService;

export function auditMethods(operations: Operations): RpcMethod[] {
  return [
    unary(method.listAuditEntries, ['audit.read'], async ({ caller, request }) => {
      const { limit, ...filter } = rpc.auditAsked(request);
      const rows = await operations.listAudit(caller, { ...filter, limit: readLimit(limit) });
      const { shown, hasMore } = cutPage(rows, limit);
      const last = shown.at(-1);
      return {
        entries: shown.map((entry) => rpc.auditMessage(auditView(entry))),
        nextPageToken: hasMore && last ? String(last.auditId) : '',
      };
    }),
  ];
}

/** The audit log: who changed what, from where. */
import { ACCOUNT_EXAMPLES, AUDIT_QUERY, auditAnswer, auditView, toAuditQuery } from '@carillon/contract';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { cutPage, linkPages, readLimit } from '../page-links.ts';
import type { EndpointContext } from './endpoint-context.ts';

export function auditEndpoints({ operations, address }: EndpointContext): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/audit',
      access: 'audit.read',
      tag: 'audit',
      summary: 'Who changed what, newest first',
      description:
        'Of the namespaces where you are an administrator; of everything with a grant for the whole.',
      query: AUDIT_QUERY,
      answers: {
        200: { description: 'The entries.', schema: z.array(auditAnswer), example: [ACCOUNT_EXAMPLES.audit] },
      },
      handle: async ({ caller, query, request, reply }) => {
        const { limit, ...filter } = toAuditQuery(query);
        const rows = await operations.listAudit(caller, { ...filter, limit: readLimit(limit) });
        const { shown, hasMore } = cutPage(rows, limit);
        const last = shown.at(-1);
        const next = last && { name: 'before', value: String(last.auditId) };
        linkPages(request, reply, { address, page: undefined, hasMore, next });
        return shown.map(auditView);
      },
    }),
  ];
}

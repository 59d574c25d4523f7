/** What the audit log has about one thing, newest first. Entries may hold a whole job before and after: some are read at a time, and few of large ones. */
import type { AuditRecord } from '../../storage/audit-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { type Part, readWithinBytes } from './read-within-bytes.ts';

export function entriesAbout(
  { audit }: Pick<OperationPorts, 'audit'>,
  query: { readonly subjectId: string; readonly limit: number; readonly beforeId?: number | undefined },
): Promise<Part<AuditRecord, number>> {
  const { subjectId } = query;
  return readWithinBytes<AuditRecord, number>({
    limit: query.limit,
    read: async (limit, beforeId = query.beforeId) => {
      const rows = await audit.ofSubject({ subjectId, limit: limit + 1, beforeId });
      return { rows: rows.slice(0, limit), next: rows.length > limit ? rows[limit - 1]!.auditId : undefined };
    },
    bytesOf: entryBytes,
    cursorOf: ({ auditId }) => auditId,
  });
}

export function entryBytes({ before, after }: AuditRecord): number {
  return (before?.length ?? 0) + (after?.length ?? 0);
}

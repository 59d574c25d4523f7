/**
 * What the audit log has about one thing, newest first. Entries may hold a whole job before and after: some are read at a time, few of
 * large ones, and only for so many callers at once.
 */
import type { Caller } from '@carillon/domain';
import type { Clock } from '@carillon/foundation';
import type { AuditLog } from '../../audit/audit-log.ts';
import { claimantOf } from '../../shared-limit/shared-limit.ts';
import { WaitingLimit } from '../../shared-limit/waiting-limit.ts';
import type { AuditRecord } from '../../storage/audit-store.ts';
import { type Part, readWithinBytes } from './read-within-bytes.ts';

export interface EntriesQuery {
  readonly subjectId: string;
  readonly limit: number;
  readonly beforeId?: number | undefined;
}

export type EntriesAbout = (caller: Caller, query: EntriesQuery) => Promise<Part<AuditRecord, number>>;

export function readerOfEntries({
  audit,
  clock,
}: {
  audit: Pick<AuditLog, 'ofSubject'>;
  clock: Clock;
}): EntriesAbout {
  const readings = new WaitingLimit({ clock, what: 'histories are read', eachMax: 6, totalMax: 40 });
  return (caller, query) => readings.run(claimantOf(caller), () => readEntries(audit, query));
}

function readEntries(
  audit: Pick<AuditLog, 'ofSubject'>,
  { subjectId, ...query }: EntriesQuery,
): Promise<Part<AuditRecord, number>> {
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

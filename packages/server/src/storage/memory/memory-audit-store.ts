/** The audit log in memory. */
import type { AuditEntry, AuditQuery, AuditRecord, AuditStore } from '../audit-store.ts';

export class MemoryAuditStore implements AuditStore {
  readonly #records: AuditRecord[] = [];

  async record(entries: readonly AuditEntry[]): Promise<void> {
    for (const entry of entries) this.#records.push({ ...entry, auditId: this.#records.length + 1 });
  }

  async list(query: AuditQuery): Promise<AuditRecord[]> {
    return this.#records
      .filter((record) => matches(record, query))
      .reverse()
      .slice(0, query.limit);
  }
}

function matches(record: AuditRecord, query: AuditQuery): boolean {
  const { namespaces, actor, action, subjectId, fromMs, untilMs, beforeId } = query;
  return (
    (namespaces === undefined || (record.namespace !== undefined && namespaces.includes(record.namespace))) &&
    (actor === undefined || record.actor.id === actor || record.actor.name === actor) &&
    (action === undefined || record.action === action) &&
    (subjectId === undefined || record.subject.id === subjectId) &&
    (fromMs === undefined || record.atMs >= fromMs) &&
    (untilMs === undefined || record.atMs < untilMs) &&
    (beforeId === undefined || record.auditId < beforeId)
  );
}

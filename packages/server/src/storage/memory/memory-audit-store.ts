/** The audit log in memory. */
import type { AuditEntry, AuditPage, AuditQuery, AuditRecord, AuditStore } from '../audit-store.ts';
import type { MemoryState } from './memory-state.ts';

export class MemoryAuditStore implements AuditStore {
  readonly #records: AuditRecord[];
  readonly #namespaces: MemoryState['namespaces'];

  constructor(state: Pick<MemoryState, 'audit' | 'namespaces'>) {
    this.#records = state.audit;
    this.#namespaces = state.namespaces;
  }

  async record(entries: readonly AuditEntry[]): Promise<void> {
    for (const entry of entries) addAudit(this.#records, entry);
  }

  async list(query: AuditQuery): Promise<AuditRecord[]> {
    return this.#records
      .filter((record) => matches(record, query) && (!query.sinceMade || this.#isSinceMade(record)))
      .reverse()
      .slice(0, query.limit);
  }

  async page(query: AuditQuery): Promise<AuditPage> {
    return { records: await this.list(query) };
  }

  #isSinceMade({ namespace = '', auditId }: AuditRecord): boolean {
    const made = this.#namespaces.get(namespace);
    return made !== undefined && auditId > made.auditAfter;
  }
}

export function addAudit(records: AuditRecord[], entry: AuditEntry): void {
  records.push({ ...entry, auditId: (records.at(-1)?.auditId ?? 0) + 1 });
}

function matches(record: AuditRecord, query: AuditQuery): boolean {
  const { namespaces, actor, action, subjectId, fromMs, untilMs, beforeId } = query;
  return (
    (namespaces === undefined || (record.namespace !== undefined && namespaces.includes(record.namespace))) &&
    (actor === undefined || isBy(record.actor, actor)) &&
    (action === undefined || record.action === action) &&
    (subjectId === undefined || record.subject.id === subjectId) &&
    (fromMs === undefined || record.atMs >= fromMs) &&
    (untilMs === undefined || record.atMs < untilMs) &&
    (beforeId === undefined || record.auditId < beforeId)
  );
}

function isBy({ id, name, via }: AuditRecord['actor'], wanted: string): boolean {
  return [id, name, via?.id, via?.name].includes(wanted);
}

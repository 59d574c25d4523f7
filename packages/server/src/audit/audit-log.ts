/**
 * The audit log: who changed what. A change passes its entry to the storage, which writes both or neither. What changes
 * nothing, such as a refused sign-in, is recorded here, and answered when the entry is durable.
 */
import { actorOf, type Caller, type Job, Refusal, redactor, requireMay, visibleTo } from '@carillon/domain';
import { BatchBuffer, type Clock } from '@carillon/foundation';
import type { AuditEntry, AuditPage, AuditQuery, AuditRecord, AuditStore } from '../storage/audit-store.ts';
import { detailsText } from './details-text.ts';

export interface ListAuditQuery extends Omit<AuditQuery, 'namespaces' | 'sinceMade'> {
  readonly namespace?: string | undefined;
}

/** before, after: under the names that fields have inside; they are recorded in snake_case. */
export interface Change {
  readonly action: string;
  readonly namespace: string | undefined;
  readonly subject: AuditEntry['subject'];
  readonly before?: object | undefined;
  readonly after?: object | undefined;
}

export class AuditLog {
  readonly #store: AuditStore;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #buffer: BatchBuffer<AuditEntry, undefined>;

  constructor(options: { store: AuditStore; clock: Pick<Clock, 'now'> }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#buffer = new BatchBuffer({
      flush: async (entries) => {
        await options.store.record(entries);
        return [];
      },
      batchMax: 1_000,
      flushesMax: 2,
      capacity: 50_000,
      onFull: () => new Refusal('overloaded', 'Too many changes are waiting to be written down.'),
    });
  }

  async record(caller: Caller, change: Change): Promise<void> {
    await this.#buffer.add(auditEntry(caller, change, this.#clock.now()));
  }

  /**
   * Newest first. Administrators of a namespace see its entries since it was created; entries of an earlier namespace of
   * the same name, and entries without one, are for administrators of all namespaces.
   */
  async page(caller: Caller, { namespace, ...query }: ListAuditQuery): Promise<AuditPage> {
    requireMay(caller, 'audit.read');
    // A grant on one's own jobs does not show what others did.
    const visible = visibleTo(caller, 'audit.read')
      ?.filter(({ userId }) => userId === undefined)
      .map((granted) => granted.namespace);
    const namespaces =
      namespace === undefined ? visible : [namespace].filter((name) => visible?.includes(name) ?? true);
    return this.#store.page({ ...query, namespaces, sinceMade: visible !== undefined });
  }

  /** The records of the page alone. */
  async list(caller: Caller, query: ListAuditQuery): Promise<readonly AuditRecord[]> {
    return (await this.page(caller, query)).records;
  }

  /** What was done to one thing, newest first. Whoever calls decides what of it is shown, and to whom. */
  ofSubject(query: Required<Pick<AuditQuery, 'subjectId' | 'limit'>> & Pick<AuditQuery, 'beforeId'>) {
    return this.#store.list(query);
  }
}

let redact = redactor();

/** Names of members, headers and parameters whose values are not recorded, besides those that never are. For the whole process. */
export function redactAlso(names: readonly string[]): void {
  redact = redactor(names);
}

/** Credentials are left out of before and after: more people read the audit log, and for longer, than use the job. */
export function auditEntry(caller: Caller, change: Change, atMs: number): AuditEntry {
  const { action, namespace, subject, before, after } = change;
  return {
    atMs,
    actor: actorOf(caller),
    action,
    namespace,
    subject,
    before: before && redact(detailsText(before)),
    after: after && redact(detailsText(after)),
    origin: caller.origin,
  };
}

export function jobSubject(job: Pick<Job, 'jobId' | 'namespace'>): Pick<Change, 'namespace' | 'subject'> {
  return { namespace: job.namespace, subject: { kind: 'job', id: job.jobId } };
}

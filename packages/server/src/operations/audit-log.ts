/**
 * Who changed what. Changes bring their entries to the storage, which writes both or neither. What changes nothing, such as
 * a refused attempt to sign in, is recorded here, and answered when the entry is durable.
 */
import { type Caller, type Job, Refusal } from '@carillon/domain';
import { BatchBuffer, type Clock } from '@carillon/foundation';
import type { AuditEntry, AuditStore } from '../storage/audit-store.ts';

export interface Change {
  readonly action: string;
  readonly namespace: string | undefined;
  readonly subject: AuditEntry['subject'];
  readonly before?: object | undefined;
  readonly after?: object | undefined;
}

export class AuditLog {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #buffer: BatchBuffer<AuditEntry, undefined>;

  constructor(options: { store: Pick<AuditStore, 'record'>; clock: Pick<Clock, 'now'> }) {
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
}

export function auditEntry(caller: Caller, change: Change, atMs: number): AuditEntry {
  const { action, namespace, subject, before, after } = change;
  return {
    atMs,
    actor: caller,
    action,
    namespace,
    subject,
    before: before && JSON.stringify(before),
    after: after && JSON.stringify(after),
    origin: caller.origin,
  };
}

/** The fields of two versions of a job that differ; undefined fields stand as null. */
export function changedFields(before: Job, after: Job): { before: object; after: object } {
  const [was, is]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const name of Object.keys(after) as (keyof Job)[]) {
    if (name === 'version' || name === 'updatedAtMs') continue;
    if (JSON.stringify(before[name]) === JSON.stringify(after[name])) continue;
    was[name] = before[name] ?? null;
    is[name] = after[name] ?? null;
  }
  return { before: was, after: is };
}

export function jobSubject(job: Pick<Job, 'jobId' | 'namespace'>): Pick<Change, 'namespace' | 'subject'> {
  return { namespace: job.namespace, subject: { kind: 'job', id: job.jobId } };
}

/** Who changed what, from where: appended, never edited. */
import type { Actor, Caller } from '@carillon/domain';

export interface AuditEntry {
  readonly atMs: number;
  readonly actor: Actor;
  /** What was done, such as "jobs.update". */
  readonly action: string;
  readonly namespace: string | undefined;
  readonly subject: { readonly kind: string; readonly id: string };
  /** JSON texts of what changed, before and after. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly origin: Caller['origin'];
}

export interface AuditRecord extends AuditEntry {
  /** Grows with every entry; the cursor of a list. */
  readonly auditId: number;
}

export interface AuditQuery {
  /** Any of these; undefined: all, also what belongs to none. */
  readonly namespaces?: readonly string[] | undefined;
  /** Only what was done since the namespaces were made: nothing of those that had their names before. */
  readonly sinceMade?: boolean | undefined;
  /** Id or name of who did it, or of the session or key that they came with. */
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly subjectId?: string | undefined;
  readonly fromMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Newest first; continue after this one. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

export interface AuditPage {
  readonly records: readonly AuditRecord[];
  /** It looked through so many entries that it ended before this one: more may match before it. */
  readonly stoppedAt?: number | undefined;
}

export interface AuditStore {
  record(entries: readonly AuditEntry[]): Promise<void>;
  /** Looks through a bounded number of entries, and says where it stopped. */
  page(query: AuditQuery): Promise<AuditPage>;
  /** The records of the page alone. */
  list(query: AuditQuery): Promise<readonly AuditRecord[]>;
}

/** The audit log on PostgreSQL. */
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Database, Session, Statement } from '../../postgres/database.ts';
import type { AuditEntry, AuditPage, AuditQuery, AuditRecord, AuditStore } from '../audit-store.ts';
import {
  AUDIT_STOP,
  AUDIT_STOP_OF_ACTION,
  AUDIT_STOP_OF_ACTION_IN_NAMESPACES,
  AUDIT_STOP_OF_NAMESPACES,
  type AuditRow,
  LIST_AUDIT,
  LIST_AUDIT_OF_ACTION,
  LIST_AUDIT_OF_ACTION_IN_NAMESPACES,
  LIST_AUDIT_OF_NAMESPACES,
  LIST_AUDIT_OF_SUBJECT,
  RECORD_AUDIT,
} from './audit.sql.ts';
import { spanPosition } from './codes.ts';
import { type Read, readAll } from './selection.ts';

export class PostgresAuditStore implements AuditStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  record(entries: readonly AuditEntry[]): Promise<void> {
    return recordAudit(this.#database, entries);
  }

  async list(query: AuditQuery): Promise<readonly AuditRecord[]> {
    return (await this.page(query)).records;
  }

  async page(query: AuditQuery): Promise<AuditPage> {
    const { namespaces, subjectId, limit } = query;
    const values = [
      namespaces === undefined ? null : textArray([...new Set(namespaces)]),
      query.actor ?? null,
      query.action ?? null,
      subjectId ?? null,
      query.fromMs ?? null,
      query.untilMs ?? null,
      query.beforeId ?? null,
      query.limit,
      query.sinceMade ?? false,
    ];
    if (subjectId !== undefined) {
      const position = spanPosition(subjectId) ?? null;
      return { records: await readAll(this.#database, LIST_AUDIT_OF_SUBJECT, [...values, position]) };
    }
    const { list, stop } = statementsFor(query);
    const records = (await readAll(this.#database, list, values)).flatMap(recordsOf);
    if (records.length >= limit) return { records };
    // What was recorded between the two statements makes it stop sooner: nothing is passed over.
    const [row] = await this.#database.query<readonly [number | null]>(stop, values);
    const stoppedAt = row?.[0] ?? undefined;
    if (stoppedAt === undefined) return { records };
    return { records: records.filter(({ auditId }) => auditId >= stoppedAt), stoppedAt };
  }
}

function statementsFor({ action, namespaces }: AuditQuery): { list: Read<AuditRow>; stop: Statement } {
  const isRare = action !== undefined && action !== 'jobs.create';
  if (namespaces === undefined)
    return isRare
      ? { list: LIST_AUDIT_OF_ACTION, stop: AUDIT_STOP_OF_ACTION }
      : { list: LIST_AUDIT, stop: AUDIT_STOP };
  return isRare
    ? { list: LIST_AUDIT_OF_ACTION_IN_NAMESPACES, stop: AUDIT_STOP_OF_ACTION_IN_NAMESPACES }
    : { list: LIST_AUDIT_OF_NAMESPACES, stop: AUDIT_STOP_OF_NAMESPACES };
}

/** Newest first. */
function recordsOf({ record, several }: AuditRow): AuditRecord[] {
  if (several === undefined) return [record];
  const { subjectIds, first, afters, requestIds } = several;
  return subjectIds
    .map((id, i) => ({
      ...record,
      auditId: record.auditId + first - 1 + i,
      subject: { kind: record.subject.kind, id },
      after: afters ? afters[i]! : record.after,
      origin: requestIds ? { ...record.origin, requestId: requestIds[i] ?? undefined } : record.origin,
    }))
    .reverse();
}

/** Within the transaction of the change that they tell of, where there is one. */
export async function recordAudit(
  session: Session,
  entries: readonly (AuditEntry | undefined)[],
): Promise<void> {
  const given = entries.filter((entry) => entry !== undefined);
  if (given.length === 0) return;
  const text = (pick: (entry: AuditEntry) => string | undefined) => textArray(given.map(pick));
  await session.query(RECORD_AUDIT, [
    plainArray(given.map((entry) => entry.atMs)),
    text(({ actor }) => actor.kind),
    text(({ actor }) => actor.id),
    text(({ actor }) => actor.name),
    text(({ action }) => action),
    text(({ namespace }) => namespace),
    text(({ subject }) => subject.kind),
    text(({ subject }) => subject.id),
    text(({ before }) => before),
    text(({ after }) => after),
    text(({ origin }) => origin.address),
    text(({ origin }) => origin.userAgent),
    text(({ origin }) => origin.requestId),
    text(({ actor }) => actor.via?.kind),
    text(({ actor }) => actor.via?.id),
    text(({ actor }) => actor.via?.name),
  ]);
}

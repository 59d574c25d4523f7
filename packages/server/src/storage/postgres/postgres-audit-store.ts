/** The audit log on PostgreSQL. */
import type { Caller } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Database, Session, Statement } from '../../postgres/database.ts';
import type { AuditEntry, AuditQuery, AuditRecord, AuditStore } from '../audit-store.ts';
import {
  LIST_AUDIT,
  LIST_AUDIT_OF_ACTION,
  LIST_AUDIT_OF_ACTION_IN_NAMESPACES,
  LIST_AUDIT_OF_NAMESPACES,
  LIST_AUDIT_OF_SUBJECT,
  RECORD_AUDIT,
} from './audit.sql.ts';
import { spanPosition } from './codes.ts';

type AuditRow = readonly [
  auditId: number,
  atMs: number,
  actorKind: Caller['kind'],
  actorId: string,
  actorName: string,
  action: string,
  namespace: string | null,
  subjectKind: string,
  subjectId: string | null,
  before: string | null,
  after: string | null,
  address: string | null,
  userAgent: string | null,
  requestId: string | null,
  /** Where the row stands for several: the position of the first on this page, counted from 1, their ids, and what is told of each. */
  first: number,
  subjectIds: string[] | null,
  afters: string[] | null,
];

export class PostgresAuditStore implements AuditStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  record(entries: readonly AuditEntry[]): Promise<void> {
    return recordAudit(this.#database, entries);
  }

  async list(query: AuditQuery): Promise<AuditRecord[]> {
    const rows = await this.#database.query<AuditRow>(statementFor(query), [
      query.namespaces === undefined ? null : textArray([...new Set(query.namespaces)]),
      query.actor ?? null,
      query.action ?? null,
      query.subjectId ?? null,
      query.fromMs ?? null,
      query.untilMs ?? null,
      query.beforeId ?? null,
      query.limit,
      query.sinceMade ?? false,
      ...(query.subjectId === undefined ? [] : [spanPosition(query.subjectId) ?? null]),
    ]);
    return rows.flatMap(recordsOf);
  }
}

function statementFor({ subjectId, action, namespaces }: AuditQuery): Statement {
  if (subjectId !== undefined) return LIST_AUDIT_OF_SUBJECT;
  const isRare = action !== undefined && action !== 'jobs.create';
  if (namespaces === undefined) return isRare ? LIST_AUDIT_OF_ACTION : LIST_AUDIT;
  return isRare ? LIST_AUDIT_OF_ACTION_IN_NAMESPACES : LIST_AUDIT_OF_NAMESPACES;
}

/** Newest first. */
function recordsOf(row: AuditRow): AuditRecord[] {
  const [auditId, , , , , , , , subjectId, , after, , , , first, subjectIds, afters] = row;
  if (subjectIds === null) return [recordOf(row, { auditId, subjectId: subjectId!, after })];
  return subjectIds
    .map((id, i) =>
      recordOf(row, { auditId: auditId + first - 1 + i, subjectId: id, after: afters ? afters[i]! : after }),
    )
    .reverse();
}

function recordOf(
  row: AuditRow,
  { auditId, subjectId, after }: { auditId: number; subjectId: string; after: string | null },
): AuditRecord {
  return {
    auditId,
    atMs: Math.round(row[1]),
    actor: { kind: row[2], id: row[3], name: row[4] },
    action: row[5],
    namespace: row[6] ?? undefined,
    subject: { kind: row[7], id: subjectId },
    before: row[9] ?? undefined,
    after: after ?? undefined,
    origin: {
      address: row[11] ?? undefined,
      userAgent: row[12] ?? undefined,
      requestId: row[13] ?? undefined,
    },
  };
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
  ]);
}

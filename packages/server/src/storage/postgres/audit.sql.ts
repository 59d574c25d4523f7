/**
 * Statements of the audit log. Whoever did something is in no index, nor is when: a list looks through a bounded number of entries, and
 * a second statement says where it stopped.
 */
import { statement } from '../../postgres/database.ts';
import type { AuditRecord } from '../audit-store.ts';
import { ROWS_SCANNED_MAX } from '../job-store.ts';
import { timestampOf } from './fragments.sql.ts';
import { columns, ms, optional, read } from './selection.ts';

/** One element per entry. */
export const RECORD_AUDIT = statement('record_audit')`
  INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id, before, after,
    address, user_agent, request_id, via_kind, via_id, via_name)
  SELECT ${timestampOf('at')}, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id,
    before::jsonb, after::jsonb, address, user_agent, request_id, via_kind, via_id, via_name
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[])
  AS e(at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id, before, after, address, user_agent,
    request_id, via_kind, via_id, via_name)`;

const VIA = columns<NonNullable<AuditRecord['actor']['via']>>({
  kind: 'a.via_kind',
  id: 'a.via_id',
  name: 'a.via_name',
});

const record = (of: { auditId: string; subjectId: string; after: string; requestId: string }) =>
  columns<AuditRecord>({
    auditId: of.auditId,
    atMs: ms('a.at'),
    actor: columns<AuditRecord['actor']>({
      kind: 'a.actor_kind',
      id: 'a.actor_id',
      name: 'a.actor_name',
      via: optional(VIA),
    }),
    action: 'a.action',
    namespace: 'a.namespace',
    subject: columns<AuditRecord['subject']>({ kind: 'a.subject_kind', id: of.subjectId }),
    before: 'a.before::text',
    after: of.after,
    origin: columns<AuditRecord['origin']>({
      address: 'a.address',
      userAgent: 'a.user_agent',
      requestId: of.requestId,
    }),
  });

/** A row of the log. One that stands for several: the position of the first on this page, counted from 1, and what differs. */
export interface AuditRow {
  readonly record: AuditRecord;
  readonly several:
    | {
        readonly subjectIds: string[];
        readonly first: number;
        readonly afters: string[] | undefined;
        readonly requestIds: (string | null)[] | undefined;
      }
    | undefined;
}
const ROW = columns<AuditRow>({
  record: record({
    auditId: 'a.audit_id',
    subjectId: 'a.subject_id',
    after: 'a.after::text',
    requestId: 'a.request_id',
  }),
  several: optional(
    columns<NonNullable<AuditRow['several']>>({
      subjectIds: 'a.subject_ids[a.first:a.last]::text[]',
      first: 'a.first',
      afters: 'a.afters[a.first:a.last]',
      requestIds: 'a.request_ids[a.first:a.last]',
    }),
  ),
});

const ID_MAX = '9223372036854775807';
/** As CASE and not OR: the planner takes the former for a filter that lets half of it pass, and reads on in the order of an index. */
const given = (at: string, holds: string) => `CASE WHEN ${at} IS NULL THEN true ELSE ${holds} END`;
const COMMON_FILTERS = [
  given('$2::text', '$2 IN (a.actor_id, a.actor_name, a.via_id, a.via_name)'),
  given('$3::text', 'a.action = $3'),
  given('$5::bigint', `a.at >= ${timestampOf('$5::bigint')}`),
  given('$6::bigint', `a.at < ${timestampOf('$6::bigint')}`),
].join(' AND ');
/** The types are told to statements that do not use every parameter. */
const GIVEN = `($1::text[], $2::text, $3::text, $4::text, $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::boolean) IS DISTINCT FROM NULL`;
const FILTERS = `${COMMON_FILTERS} AND ${given('$4::text', 'a.subject_id = $4')}`;

/** No row is read further than the page needs: last is the position of its last entry on this page. */
const FOUND = `a.*, least(a.subject_count, coalesce($7::bigint, ${ID_MAX}) - a.audit_id)::int AS last`;

/** rows: newest first, as many as a page has entries at most. Of each what is on the page, of the last one what still fits. */
const page = (name: string, rows: string) => read(name, ROW)`
  SELECT ${ROW.sql}
    FROM (
      SELECT a.*, greatest(1, a.last - $8 + before_it + 1)::int AS first FROM (
        SELECT a.*, coalesce(sum(a.last) OVER (ORDER BY a.audit_id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_it
        FROM (${rows}) a
      ) a WHERE before_it < $8
    ) a ORDER BY a.audit_id DESC`;

const BEFORE = '($7::bigint IS NULL OR a.audit_id < $7::bigint)';
const VISIBLE = `($1::text[] IS NULL OR a.namespace = ANY($1::text[]))
      AND (NOT $9::boolean OR EXISTS (SELECT FROM namespaces n WHERE n.name = a.namespace AND a.audit_id > n.audit_after))`;

/** Of one subject there are few. */
const listed = ({
  row,
  condition,
  filters = FILTERS,
}: {
  row: string;
  condition: string;
  filters?: string;
}) =>
  `SELECT ${row} FROM audit_log a
    WHERE ${condition} AND ${filters} AND ${BEFORE} AND ${VISIBLE}
    ORDER BY a.audit_id DESC LIMIT $8`;

/** The newest entries, as many as one list looks through. */
const walkAll = (condition: string) =>
  `SELECT a.* FROM audit_log a WHERE ${condition} AND ${BEFORE} ORDER BY a.audit_id DESC`;
const listAll = (condition: string) =>
  `SELECT ${FOUND} FROM (${walkAll(condition)} LIMIT ${ROWS_SCANNED_MAX}) a WHERE ${VISIBLE} AND ${FILTERS}
    ORDER BY a.audit_id DESC LIMIT $8`;
const stopAll = (name: string, condition: string) => statement(name)`
  SELECT a.audit_id FROM (${walkAll(condition)} OFFSET ${ROWS_SCANNED_MAX - 1} LIMIT 1) a WHERE ${GIVEN}`;

const SCOPES = `(
      SELECT asked.name, CASE WHEN $9::boolean THEN n.audit_after ELSE 0 END AS audit_after
      FROM unnest($1::text[]) AS asked(name) LEFT JOIN namespaces n ON n.name = asked.name
    ) scope`;
/** Several namespaces share what one list looks through. */
const ROWS_OF_EACH = `(${ROWS_SCANNED_MAX} / greatest(1, cardinality($1::text[])))`;

interface NamespaceWalk {
  readonly walk: string;
  readonly order: string;
}

/** Each namespace by itself, from its newest entry back to where it was made: entries of others are not read. */
const walkNamespace = ({ walk, order }: NamespaceWalk) =>
  `SELECT a.* FROM audit_log a WHERE ${walk} AND a.namespace IS NOT NULL ORDER BY ${order}`;
const listNamespaces = (of: NamespaceWalk) => `SELECT a.* FROM ${SCOPES} CROSS JOIN LATERAL (
      SELECT ${FOUND} FROM (${walkNamespace(of)} LIMIT ${ROWS_OF_EACH}) a WHERE ${FILTERS} ORDER BY ${of.order} LIMIT $8
    ) a
    ORDER BY a.audit_id DESC LIMIT $8`;
const stopNamespaces = (name: string, of: NamespaceWalk) => statement(name)`
  SELECT max(a.audit_id) FROM ${SCOPES} CROSS JOIN LATERAL (${walkNamespace(of)} OFFSET ${ROWS_OF_EACH} - 1 LIMIT 1) a WHERE ${GIVEN}`;

/**
 * Compared as rows, in the order of the index: with an equality the planner would rather walk through all namespaces
 * in the order of the ids, for a page that most often is near the end of them.
 */
const IN_NAMESPACE = `(a.namespace, a.audit_id) > (scope.name, scope.audit_after)
        AND (a.namespace, a.audit_id) < (scope.name, coalesce($7::bigint, ${ID_MAX}))`;
const OF_ACTION = `a.action = $3 AND a.action <> 'jobs.create'`;

/** Every filter may be NULL. $1 namespaces, $2 actor, $3 action, $4 subject, $5 from, $6 until, $7 before this id, $8 limit, $9 only since the
 * namespaces were made. */
export const LIST_AUDIT = page('list_audit', listAll('true'));
/** Of the parameters of the list: where it stopped, when it showed fewer than there is room for. */
export const AUDIT_STOP = stopAll('audit_stop', 'true');

const OF_SUBJECT = record({
  auditId: 'a.audit_id + a.position - 1',
  subjectId: '$4::text',
  after: 'coalesce(a.afters[a.position], a.after::text)',
  requestId: 'coalesce(a.request_ids[a.position], a.request_id)',
});

/**
 * By the index on subjects, and by that on spans of many: a job that was made with others has one entry there. $10 the first 60
 * bits of the subject, NULL when it is no UUID.
 */
export const LIST_AUDIT_OF_SUBJECT = read('list_audit_of_subject', OF_SUBJECT)`
  SELECT ${OF_SUBJECT.sql}
  FROM (
    (${listed({ row: 'a.*, 1 AS position', condition: 'a.subject_id = $4' })})
    UNION ALL
    (SELECT * FROM (${listed({
      row: 'a.*, array_position(a.subject_ids::text[], $4) AS position',
      condition: 'a.subject_span @> $10::bigint AND $4 = ANY(a.subject_ids::text[])',
      filters: COMMON_FILTERS,
    })}) a WHERE $7::bigint IS NULL OR a.audit_id + a.position - 1 < $7::bigint)
  ) a
  ORDER BY a.audit_id + a.position DESC LIMIT $8`;

/** By the index on actions, which leaves out the most frequent one: whoever makes jobs by the million pays for one index less. */
export const LIST_AUDIT_OF_ACTION = page('list_audit_of_action', listAll(OF_ACTION));
export const AUDIT_STOP_OF_ACTION = stopAll('audit_stop_of_action', OF_ACTION);

const NAMESPACE: NamespaceWalk = { walk: IN_NAMESPACE, order: 'a.namespace DESC, a.audit_id DESC' };
export const LIST_AUDIT_OF_NAMESPACES = page('list_audit_of_namespaces', listNamespaces(NAMESPACE));
export const AUDIT_STOP_OF_NAMESPACES = stopNamespaces('audit_stop_of_namespaces', NAMESPACE);

const ACTION_IN_NAMESPACE: NamespaceWalk = {
  walk: `a.namespace = scope.name AND ${OF_ACTION} AND a.audit_id > scope.audit_after AND a.audit_id < coalesce($7::bigint, ${ID_MAX})`,
  order: 'a.audit_id DESC',
};
export const LIST_AUDIT_OF_ACTION_IN_NAMESPACES = page(
  'list_audit_of_action_in_namespaces',
  listNamespaces(ACTION_IN_NAMESPACE),
);
export const AUDIT_STOP_OF_ACTION_IN_NAMESPACES = stopNamespaces(
  'audit_stop_of_action_in_namespaces',
  ACTION_IN_NAMESPACE,
);

/** Statements of the audit log. */
import { type Statement, statement } from '../../postgres/database.ts';
import { msOf, timestampOf } from './fragments.sql.ts';

/** One element per entry. */
export const RECORD_AUDIT = statement('record_audit')`
  INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id, before, after,
    address, user_agent, request_id)
  SELECT ${timestampOf('at')}, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id,
    before::jsonb, after::jsonb, address, user_agent, request_id
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[])
  AS e(at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id, before, after, address, user_agent,
    request_id)`;

const ID_MAX = '9223372036854775807';
/** As CASE and not OR: the planner takes the former for a filter that lets half of it pass, and reads on in the order of an index. */
const given = (at: string, holds: string) => `CASE WHEN ${at} IS NULL THEN true ELSE ${holds} END`;
const COMMON_FILTERS = [
  given('$2::text', 'a.actor_id = $2 OR a.actor_name = $2'),
  given('$3::text', 'a.action = $3'),
  given('$5::bigint', `a.at >= ${timestampOf('$5::bigint')}`),
  given('$6::bigint', `a.at < ${timestampOf('$6::bigint')}`),
].join(' AND ');
const FILTERS = `${COMMON_FILTERS} AND ${given('$4::text', 'a.subject_id = $4')}`;

/** No row is looked into further than the page needs: last is the position of its last entry on this page. */
const ROW = `a.*, least(a.subject_count, coalesce($7::bigint, ${ID_MAX}) - a.audit_id)::int AS last`;

/** rows: newest first, as many as a page has entries at most. Of each what is on the page, of the last one what still fits. */
const page = (rows: string) => `SELECT a.audit_id, ${msOf('a.at')}, a.actor_kind, a.actor_id, a.actor_name,
      a.action, a.namespace, a.subject_kind, a.subject_id, a.before::text, a.after::text, a.address, a.user_agent, a.request_id,
      a.first, a.subject_ids[a.first:a.last]::text[], a.afters[a.first:a.last]
    FROM (
      SELECT a.*, greatest(1, a.last - $8 + before_it + 1)::int AS first FROM (
        SELECT a.*, coalesce(sum(a.last) OVER (ORDER BY a.audit_id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_it
        FROM (${rows}) a
      ) a WHERE before_it < $8
    ) a ORDER BY a.audit_id DESC`;

const listed = ({
  row = ROW,
  condition,
  filters = FILTERS,
}: {
  row?: string;
  condition: string;
  filters?: string;
}) =>
  `SELECT ${row} FROM audit_log a
    WHERE ${condition} AND ($1::text[] IS NULL OR a.namespace = ANY($1::text[])) AND ${filters}
      AND ($7::bigint IS NULL OR a.audit_id < $7::bigint)
      AND (NOT $9::boolean OR EXISTS (SELECT FROM namespaces n WHERE n.name = a.namespace AND a.audit_id > n.audit_after))
    ORDER BY a.audit_id DESC LIMIT $8`;

/** Each namespace by itself, from its newest entry back to where it was made: what the others did is not looked at. */
const listPlaces = (walk: string, order: string) => `SELECT a.* FROM (
      SELECT asked.name, CASE WHEN $9::boolean THEN n.audit_after ELSE 0 END AS audit_after
      FROM unnest($1::text[]) AS asked(name) LEFT JOIN namespaces n ON n.name = asked.name
    ) place CROSS JOIN LATERAL (
      SELECT ${ROW} FROM audit_log a WHERE ${walk} AND a.namespace IS NOT NULL AND ${FILTERS} ORDER BY ${order} LIMIT $8
    ) a
    ORDER BY a.audit_id DESC LIMIT $8`;

/**
 * Compared as whole rows, in the order of the index: with an equality the planner would rather walk through all namespaces
 * in the order of the ids, for a page that most often is near the end of them.
 */
const IN_PLACE = `(a.namespace, a.audit_id) > (place.name, place.audit_after)
        AND (a.namespace, a.audit_id) < (place.name, coalesce($7::bigint, ${ID_MAX}))`;
const OF_ACTION = `a.action = $3 AND a.action <> 'jobs.create'`;

/** Every filter may be NULL. $1 namespaces, $2 actor, $3 action, $4 subject, $5 from, $6 until, $7 before this id, $8 limit, $9 only since the
 * namespaces were made. */
export const LIST_AUDIT: Statement = { name: 'list_audit', text: page(listed({ condition: 'true' })) };

/**
 * By the index on subjects, and by that on spans of many: a job that was made with others has one entry there. $10 the first 60
 * bits of the subject, NULL when it is no UUID.
 */
export const LIST_AUDIT_OF_SUBJECT = statement('list_audit_of_subject')`
  SELECT a.audit_id + a.position - 1, ${msOf('a.at')}, a.actor_kind, a.actor_id, a.actor_name, a.action,
    a.namespace, a.subject_kind, $4::text, a.before::text, coalesce(a.afters[a.position], a.after::text), a.address, a.user_agent,
    a.request_id, 1, NULL::text[], NULL::text[]
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
export const LIST_AUDIT_OF_ACTION = statement('list_audit_of_action')`
  ${page(listed({ condition: OF_ACTION }))}`;

export const LIST_AUDIT_OF_NAMESPACES = statement('list_audit_of_namespaces')`
  ${page(listPlaces(IN_PLACE, 'a.namespace DESC, a.audit_id DESC'))}`;

export const LIST_AUDIT_OF_ACTION_IN_NAMESPACES: Statement = {
  name: 'list_audit_of_action_in_namespaces',
  text: page(
    listPlaces(
      `a.namespace = place.name AND ${OF_ACTION} AND a.audit_id > place.audit_after AND a.audit_id < coalesce($7::bigint, ${ID_MAX})`,
      'a.audit_id DESC',
    ),
  ),
};

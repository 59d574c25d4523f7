/** Statements of the audit log. */
import type { Statement } from '../../postgres/database.ts';

/** One element per entry. */
export const RECORD_AUDIT: Statement = {
  name: 'record_audit',
  text: `INSERT INTO audit_log (at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id, before, after,
      address, user_agent, request_id)
    SELECT to_timestamp(at::float8 / 1000), actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id,
      before::jsonb, after::jsonb, address, user_agent, request_id
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
      $10::text[], $11::text[], $12::text[], $13::text[])
    AS e(at, actor_kind, actor_id, actor_name, action, namespace, subject_kind, subject_id, before, after, address, user_agent,
      request_id)`,
};

const ID_MAX = '9223372036854775807';
const RECORD = `a.audit_id, (extract(epoch FROM a.at) * 1000)::float8, a.actor_kind, a.actor_id, a.actor_name, a.action, a.namespace,
      a.subject_kind, a.subject_id, a.before::text, a.after::text, a.address, a.user_agent, a.request_id`;
/** As CASE and not OR: the planner takes the former for a filter that lets half of it pass, and reads on in the order of an index. */
const given = (at: string, holds: string) => `CASE WHEN ${at} IS NULL THEN true ELSE ${holds} END`;
const FILTERS = [
  given('$2::text', 'a.actor_id = $2 OR a.actor_name = $2'),
  given('$3::text', 'a.action = $3'),
  given('$4::text', 'a.subject_id = $4'),
  given('$5::bigint', 'a.at >= to_timestamp($5::bigint::float8 / 1000)'),
  given('$6::bigint', 'a.at < to_timestamp($6::bigint::float8 / 1000)'),
].join(' AND ');

const list = (condition: string) => `SELECT ${RECORD} FROM audit_log a
    WHERE ${condition} AND ($1::text[] IS NULL OR a.namespace = ANY($1::text[])) AND ${FILTERS}
      AND ($7::bigint IS NULL OR a.audit_id < $7::bigint)
      AND (NOT $9::boolean OR EXISTS (SELECT FROM namespaces n WHERE n.name = a.namespace AND a.audit_id > n.audit_after))
    ORDER BY a.audit_id DESC LIMIT $8`;

/** Each namespace by itself, from its newest entry back to where it was made: what the others did is not looked at. */
const listPlaces = (walk: string, order: string) => `SELECT a.* FROM (
      SELECT asked.name, CASE WHEN $9::boolean THEN n.audit_after ELSE 0 END AS audit_after
      FROM unnest($1::text[]) AS asked(name) LEFT JOIN namespaces n ON n.name = asked.name
    ) place CROSS JOIN LATERAL (
      SELECT ${RECORD} FROM audit_log a WHERE ${walk} AND a.namespace IS NOT NULL AND ${FILTERS} ORDER BY ${order} LIMIT $8
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
export const LIST_AUDIT: Statement = { name: 'list_audit', text: list('true') };

/** By the index on subjects. */
export const LIST_AUDIT_OF_SUBJECT: Statement = {
  name: 'list_audit_of_subject',
  text: list('a.subject_id = $4'),
};

/** By the index on actions, which leaves out the most frequent one: whoever makes jobs by the million pays for one index less. */
export const LIST_AUDIT_OF_ACTION: Statement = {
  name: 'list_audit_of_action',
  text: list(OF_ACTION),
};

export const LIST_AUDIT_OF_NAMESPACES: Statement = {
  name: 'list_audit_of_namespaces',
  text: listPlaces(IN_PLACE, 'a.namespace DESC, a.audit_id DESC'),
};

export const LIST_AUDIT_OF_ACTION_IN_NAMESPACES: Statement = {
  name: 'list_audit_of_action_in_namespaces',
  text: listPlaces(
    `a.namespace = place.name AND ${OF_ACTION} AND a.audit_id > place.audit_after AND a.audit_id < coalesce($7::bigint, ${ID_MAX})`,
    'a.audit_id DESC',
  ),
};

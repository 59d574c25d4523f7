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

const list = (
  condition: string,
) => `SELECT audit_id, (extract(epoch FROM at) * 1000)::float8, actor_kind, actor_id, actor_name,
      action, namespace, subject_kind, subject_id, before::text, after::text, address, user_agent, request_id
    FROM audit_log
    WHERE ${condition} AND ($1::text[] IS NULL OR namespace = ANY($1::text[])) AND ($2::text IS NULL OR actor_id = $2 OR actor_name = $2)
      AND ($3::text IS NULL OR action = $3) AND ($4::text IS NULL OR subject_id = $4)
      AND ($5::bigint IS NULL OR at >= to_timestamp($5::bigint::float8 / 1000))
      AND ($6::bigint IS NULL OR at < to_timestamp($6::bigint::float8 / 1000))
      AND ($7::bigint IS NULL OR audit_id < $7::bigint)
    ORDER BY audit_id DESC LIMIT $8`;

/** Every filter may be NULL. $1 namespaces, $2 actor, $3 action, $4 subject, $5 from, $6 until, $7 before this id, $8 limit. */
export const LIST_AUDIT: Statement = { name: 'list_audit', text: list('true') };

/** By the index on subjects. */
export const LIST_AUDIT_OF_SUBJECT: Statement = {
  name: 'list_audit_of_subject',
  text: list('subject_id = $4'),
};

/** By the index on actions, which leaves out the most frequent one: whoever makes jobs by the million need not pay for it. */
export const LIST_AUDIT_OF_ACTION: Statement = {
  name: 'list_audit_of_action',
  text: list(`action = $3 AND action <> 'jobs.create'`),
};

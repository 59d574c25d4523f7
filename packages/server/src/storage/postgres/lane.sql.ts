/** Lanes in SQL: the columns of a pending run that follow from its job, as lane.ts has them, and what names a lane. */
import { PART_COUNT } from '../lane.ts';

const hash = (text: string) =>
  `('x' || encode(substr(sha256(convert_to(${text}, 'UTF8')), 1, 4), 'hex'))::bit(32)`;

/** Of the job j. */
export const JOB_HANDLER_KEY = `${hash('j.handler')}::integer`;
export const JOB_TENANT = `((${hash('j.namespace')}::bigint >> 6 << 26) | coalesce(${hash('j.user_id')}::bigint >> 6, 0))`;
/** The number of the namespace that a tenant is of. */
export const NAMESPACE_KEY = (tenant: string) => `(${tenant} >> 26)`;
/** Whether the worker w may be given runs of the tenant. */
export const servesTenant = (tenant: string) =>
  `(w.namespaces IS NULL OR ${isOneOf('w.namespaces', tenant)})`;
const isOneOf = (namespaces: string, tenant: string) =>
  `EXISTS (SELECT FROM unnest(${namespaces}) AS n(namespace) WHERE ${isOfNamespace('n.namespace', tenant)})`;
/** Whether the tenant is of the namespace with this name. */
export const isOfNamespace = (namespace: string, tenant: string) =>
  `${hash(namespace)}::bigint >> 6 = ${NAMESPACE_KEY(tenant)}`;
export const JOB_PART = `(j.shard % ${PART_COUNT})::smallint`;

/** Written as the predicate of the index has it. */
export const IS_OPEN = 'due.blocked = 0 AND NOT due.held';

/** The rows of `due` in the lane of this name. */
export function inLane(lane: string): string {
  return `due.part = ${lane}.part AND due.priority = ${lane}.priority AND due.handler_key = ${lane}.handler_key
      AND due.tenant = ${lane}.tenant AND ${IS_OPEN}`;
}

const NAME = 'due.part, due.priority, due.handler_key, due.tenant';

/**
 * `lane`, for WITH RECURSIVE: every lane in order, from after a lane on, by one index lookup per lane. With its name come these
 * columns of its first run: `first`, by which that is found, and `also`.
 */
export function lanes({
  first = [],
  also = [],
  after,
}: {
  first?: readonly string[];
  also?: readonly string[];
  after?: string;
} = {}): string {
  const order = [NAME, ...first].join(', ');
  const columns = [order, ...also].join(', ');
  const next = (before: string | undefined) =>
    `SELECT ${columns} FROM due WHERE ${IS_OPEN} ${before ? `AND (${NAME}) > (${before})` : ''} ORDER BY ${order} LIMIT 1`;
  return `lane AS (
      (${next(after)})
      UNION ALL
      SELECT n.* FROM lane l CROSS JOIN LATERAL (${next('l.part, l.priority, l.handler_key, l.tenant')}) n
    )`;
}

/** What blocked says. */
export const OPEN = 0;
export const PLANNED = 1;
export const WAITING = 2;

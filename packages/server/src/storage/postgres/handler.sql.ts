/** Statements of what workers say of their handlers. */
import type { HandlerDescription } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import type { BoundSchema } from '../handler-store.ts';
import { columns, read } from './selection.ts';

const HANDLER = columns<HandlerDescription>({
  name: 'name',
  description: 'description',
  parameters: 'parameters',
  origin: 'origin',
});

/**
 * $1 names, $2 descriptions, $3 schemas, $4 origins, $5 now. In the order of their names, so that two workers that start at the same
 * moment do not wait for each other in a circle.
 */
export const RECORD_HANDLERS = statement('record_handlers')`
  INSERT INTO handlers AS known (name, description, parameters, origin, seen_at)
  SELECT name, description, parameters, origin, $5::bigint
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS said(name, description, parameters, origin)
  ORDER BY name
  ON CONFLICT (name) DO UPDATE SET description = excluded.description, parameters = excluded.parameters,
    origin = excluded.origin, seen_at = excluded.seen_at
  WHERE NOT (excluded.origin = 'worker' AND known.origin = 'built_in')`;

/** $1 the instant. */
export const FORGET_HANDLERS = statement('forget_handlers')`
  DELETE FROM handlers h WHERE h.seen_at < $1::bigint
    AND NOT EXISTS (SELECT FROM workers w WHERE h.name = ANY(w.handlers))`;

/** $1 namespaces, $2 names, $3 schemas, $4 now. In order, as above. */
export const RECORD_BOUND = statement('record_bound_handlers')`
  INSERT INTO bound_handlers (namespace, name, parameters, seen_at)
  SELECT said.namespace, said.name, said.parameters, $4::bigint
  FROM unnest($1::text[], $2::text[], $3::text[]) AS said(namespace, name, parameters)
  JOIN namespaces n ON n.name = said.namespace
  ORDER BY 1, 2
  ON CONFLICT (namespace, name) DO UPDATE SET parameters = excluded.parameters, seen_at = excluded.seen_at`;

/** $1 the instant, $2 namespaces, $3 how many each of them keeps. */
export const FORGET_BOUND = statement('forget_bound_handlers')`
  WITH placed AS (
    SELECT namespace, name, row_number() OVER (PARTITION BY namespace ORDER BY seen_at DESC, name) AS place
    FROM bound_handlers WHERE namespace = ANY($2::text[])
  )
  DELETE FROM bound_handlers b
  WHERE (b.seen_at < $1::bigint AND NOT EXISTS (SELECT FROM workers w WHERE b.name = ANY(w.handlers)))
    OR (b.namespace, b.name) IN (SELECT namespace, name FROM placed WHERE place > $3::int)`;

const BOUND = columns<BoundSchema>({ namespace: 'b.namespace', name: 'b.name', parameters: 'b.parameters' });

/** $1 namespaces, $2 names. */
export const BOUND_SCHEMAS = read('bound_schemas', BOUND)`
  SELECT ${BOUND.sql} FROM unnest($1::text[], $2::text[]) AS asked(namespace, name)
  JOIN bound_handlers b ON b.namespace = asked.namespace AND b.name = asked.name`;

/** $1 after, $2 limit. */
export const HANDLER_NAMES = statement('handler_names')`
  SELECT name FROM handlers WHERE name COLLATE "C" > $1 ORDER BY name COLLATE "C" LIMIT $2`;

/** $1 names. */
export const DESCRIBE_HANDLERS = read('describe_handlers', HANDLER)`
  SELECT ${HANDLER.sql} FROM handlers WHERE name = ANY($1::text[])`;

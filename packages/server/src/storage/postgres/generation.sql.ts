/** Statements about generations. What the database is at this moment is read by functions, which also answer where the role may not read it. */
import { EPOCHS_PER_GENERATION_BITS } from '@carillon/domain';
import { type Statement, statement } from '../../postgres/database.ts';

/** No run is handed out at an epoch below this. */
export const FIRST_EPOCH = `(SELECT current_generation() << ${EPOCHS_PER_GENERATION_BITS})`;

const DATABASE = '(SELECT oid FROM pg_database WHERE datname = current_database())';

/** What was seen last, NULL where nothing was, and what there is now. */
export const LOOK_AT_GENERATION = statement('look_at_generation')`
  SELECT g.generation, g.system_identifier, g.timeline, g.database::text, current_generation(), database_system(),
    database_timeline(), ${DATABASE}::text, pg_snapshot_xmax(pg_current_snapshot())::text
  FROM (SELECT) AS now LEFT JOIN storage_generation g ON true`;

/** What the database is belongs to generation 0: nobody has read it before. */
export const REMEMBER_FIRST = statement('remember_first_generation')`
  INSERT INTO storage_generation (generation, system_identifier, timeline, database)
  VALUES (0, database_system(), database_timeline(), ${DATABASE}) ON CONFLICT DO NOTHING`;

/**
 * $1 the generation as it was seen. Keeps what current_generation() says already, so nothing changes for anybody; what cannot be
 * read now stays as it is known. No row: somebody else was first.
 */
export const REMEMBER_PROMOTION = statement('remember_promotion')`
  UPDATE storage_generation SET generation = current_generation(), timeline = coalesce(nullif(database_timeline(), 0), timeline),
    system_identifier = coalesce(nullif(database_system(), ''), system_identifier), since = now()
  WHERE generation = $1 RETURNING generation`;

/**
 * Nobody records an event between the last of a generation and the first of the next: who has begun is waited for, who comes later
 * waits. Else a position in the former one could become visible when readers are past it.
 */
export function lockEvents(): Statement {
  // Run once each: not worth keeping prepared.
  return { name: '', text: 'LOCK TABLE ONLY events IN SHARE ROW EXCLUSIVE MODE' };
}

/** $1 the generation as it was seen, $2 the number that may not be gone beyond. No row: somebody else was first. */
export const BEGIN_GENERATION = statement('begin_generation')`
  UPDATE storage_generation SET generation = least($2, current_generation() + 1), timeline = database_timeline(),
    system_identifier = database_system(), database = ${DATABASE}, since = now()
  WHERE generation = $1 RETURNING generation`;

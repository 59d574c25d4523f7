/**
 * The schema of a database as text, read from the catalogues: the same on every supported PostgreSQL, ordered by name, so
 * that a change of the schema is a readable change of a file. (pg_dump is not among the embedded binaries, and its text
 * differs from version to version.)
 */
import type pg from 'pg';

type Row = Record<string, string | null>;

const TABLES = `
  SELECT c.oid::text AS oid, c.relname AS name, pg_get_partkeydef(c.oid) AS partitioned, array_to_string(c.reloptions, ', ') AS options
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  ORDER BY c.relname COLLATE "C"`;

const COLUMNS = `
  SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS required,
    pg_get_expr(d.adbin, d.adrelid) AS fallback, a.attidentity::text AS identity, a.attgenerated::text AS generated,
    CASE WHEN a.attstorage <> t.typstorage THEN a.attstorage::text END AS storage
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

/** Since PostgreSQL 18 every NOT NULL is a constraint too; the columns show them already. */
const CONSTRAINTS = `
  SELECT conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
  WHERE conrelid = $1::oid AND contype <> 'n' ORDER BY contype = 'p' DESC, conname COLLATE "C"`;

const INDEXES = `
  SELECT pg_get_indexdef(i.indexrelid) AS definition FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = $1::oid AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype <> 'f')
  ORDER BY c.relname COLLATE "C"`;

/** Everything else that a migration may make, each as one line or one definition. */
const OTHERS = `
  SELECT definition FROM (
    SELECT 1 AS part, c.relname AS name, 'CREATE VIEW ' || c.relname || ' AS' || E'\\n' || pg_get_viewdef(c.oid) AS definition
      FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('v', 'm')
    UNION ALL SELECT 2, c.relname, 'CREATE SEQUENCE ' || c.relname || ';'
      FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S'
    UNION ALL SELECT 3, t.typname, 'CREATE TYPE ' || t.typname || ' AS ENUM (' ||
        (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid) || ');'
      FROM pg_type t WHERE t.typnamespace = 'public'::regnamespace AND t.typtype = 'e'
    UNION ALL SELECT 4, p.proname, pg_get_functiondef(p.oid) || ';'
      FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prokind IN ('f', 'p')
    UNION ALL SELECT 5, t.tgname, pg_get_triggerdef(t.oid) || ';' FROM pg_trigger t WHERE NOT t.tgisinternal
    UNION ALL SELECT 6, e.extname, 'CREATE EXTENSION ' || e.extname || ';' FROM pg_extension e WHERE e.extname <> 'plpgsql'
  ) o ORDER BY part, name COLLATE "C"`;

const STORAGE_WORDS: Record<string, string> = { p: 'PLAIN', e: 'EXTERNAL', m: 'MAIN', x: 'EXTENDED' };

const HEADER = `-- The schema of a freshly migrated database, to read and to compare: a test fails when it differs from what the
-- migrations make. Written by \`node scripts/dump-schema.ts\`; edit the migrations, not this file.`;

export async function dumpSchema(client: pg.Client): Promise<string> {
  const parts = [HEADER];
  for (const table of await rowsOf(client, TABLES)) parts.push(await dumpTable(client, table));
  for (const { definition } of await rowsOf(client, OTHERS)) parts.push(definition!);
  return `${parts.join('\n\n')}\n`;
}

async function dumpTable(client: pg.Client, { oid, name, partitioned, options }: Row): Promise<string> {
  const columns = await rowsOf(client, COLUMNS, oid);
  const constraints = await rowsOf(client, CONSTRAINTS, oid);
  const width = Math.max(...columns.map((column) => column.name!.length));
  const lines = [
    ...columns.map((column) => columnLine(column, width)),
    ...constraints.map((row) => `  CONSTRAINT ${row.name} ${row.definition}`),
  ];
  const ending = `${partitioned ? ` PARTITION BY ${partitioned}` : ''}${options ? ` WITH (${options})` : ''}`;
  const indexes = await rowsOf(client, INDEXES, oid);
  return [
    `CREATE TABLE ${name} (\n${lines.join(',\n')}\n)${ending};`,
    ...indexes.map((row) => `${row.definition!.replaceAll('public.', '')};`),
  ].join('\n');
}

function columnLine(column: Row, width: number): string {
  const { name, type, required, fallback, identity, generated, storage } = column;
  const special = `${identity ? ` IDENTITY ${identity}` : ''}${generated ? ` GENERATED ${generated}` : ''}`;
  const stored = storage ? ` STORAGE ${STORAGE_WORDS[storage]}` : '';
  return `  ${name!.padEnd(width)} ${type}${required}${fallback ? ` DEFAULT ${fallback}` : ''}${special}${stored}`;
}

async function rowsOf(client: pg.Client, query: string, oid?: string | null): Promise<Row[]> {
  return (await client.query<Row>(query, oid === undefined ? [] : [oid])).rows;
}

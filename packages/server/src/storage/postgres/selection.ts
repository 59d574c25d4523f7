/**
 * What a statement reads, declared once: the select list and the value of each row follow from it. For reads on behalf of people;
 * hot paths map their rows by hand.
 */
import { type Session, type Statement, statement } from '../../postgres/database.ts';
import { msOf } from './fragments.sql.ts';

type Row = readonly unknown[];

export interface Selection<T> {
  /** The select list, and how many columns it has. */
  readonly sql: string;
  readonly length: number;
  /** The value from the columns of the row that begin at start. */
  readonly from: (row: Row, start: number) => T;
}

export interface Read<T> extends Statement {
  readonly row: Selection<T>;
}

/** A statement that selects `row`; the template is its text. */
export function read<T>(
  name: string,
  row: Selection<T>,
): (text: TemplateStringsArray, ...values: unknown[]) => Read<T> {
  return (text, ...values) => ({ ...statement(name)(text, ...values), row });
}

export async function readAll<T>(session: Session, read: Read<T>, values: readonly unknown[]): Promise<T[]> {
  const rows = await session.query<Row>(read, values);
  return rows.map((row) => read.row.from(row, 0));
}

export async function readFirst<T>(
  session: Session,
  read: Read<T>,
  values: readonly unknown[],
): Promise<T | undefined> {
  const [row] = await session.query<Row>(read, values);
  return row && read.row.from(row, 0);
}

/** One column, mapped; NULL is `none`. */
export function column<Stored, T>(sql: string, map: (stored: Stored) => T, none?: T): Selection<T> {
  const from = (row: Row, start: number) => (row[start] === null ? none : map(row[start] as Stored)) as T;
  return { sql, length: 1, from };
}

export function ms(timestamp: string): Selection<number> {
  return column(msOf(timestamp), Math.round);
}

/** An object: each property is a selection, or one column whose NULL is undefined. */
export function columns<T extends object>(
  properties: {
    readonly [Name in keyof T]-?: string | Selection<T[Name]>;
  },
): Selection<T> {
  let length = 0;
  const parts = Object.entries<string | Selection<unknown>>(properties).map(([name, given]) => {
    const part = typeof given === 'string' ? column(given, (stored) => stored) : given;
    const offset = length;
    length += part.length;
    return { name, offset, ...part };
  });
  const from = (row: Row, start: number) => {
    const value: Record<string, unknown> = {};
    for (const part of parts) value[part.name] = part.from(row, start + part.offset);
    return value as T;
  };
  return { sql: parts.map(({ sql }) => sql).join(', '), length, from };
}

/** Undefined where the first column is NULL. */
export function optional<T>(selection: Selection<T>): Selection<T | undefined> {
  const from = (row: Row, start: number) => (row[start] === null ? undefined : selection.from(row, start));
  return { ...selection, from };
}

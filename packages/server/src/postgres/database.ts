/**
 * The one way to PostgreSQL: a pool whose every call has a time limit and whose errors are translated at this border.
 * What certainly did not happen because of a conflict is tried again here; what may have happened is the caller's to judge.
 */
import pg from 'pg';
import { StorageTimeout, StorageUnavailable, StorageUnfit, TextUnstorable } from '../storage/storage.ts';
import { LOCK_HOLDERS } from './lock-holders.sql.ts';
import type { OutageWatch } from './outage-watch.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly connectionsMax: number;
  /** Longest a statement may run, in the server. */
  readonly statementTimeoutMs: number;
  /** Longest a statement may wait for one lock. Left out: as long as it may run. */
  readonly lockTimeoutMs?: number;
  /** Longest to wait for a connection. */
  readonly connectTimeoutMs: number;
  /** Hears of every answer and of every failure that is not the statement's own. */
  readonly watch?: OutageWatch | undefined;
}

/** A statement with a name is prepared once per connection; one whose name is empty, each time. Rows come as arrays, in the order of the select list. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** The statement whose text is the template. */
export function statement(name: string): (text: TemplateStringsArray, ...values: unknown[]) => Statement {
  return (text, ...values) => ({ name, text: String.raw({ raw: text }, ...values) });
}

export interface Session {
  query<R extends readonly unknown[]>(statement: Statement, values: readonly unknown[]): Promise<R[]>;
}

/**
 * Every hot statement is a lookup by key; a plan made while a table was empty must not scan it when it is full. Nor must a lane
 * be gathered and sorted entirely because a range of it seems small to a plan that knows no values.
 */
export const SESSION_OPTIONS =
  '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off -c jit=off -c TimeZone=UTC';

const CONFLICT_TRIES = 5;
const NAME_LENGTH_MAX = 63;
const INT8 = 20;
const NUMERIC_TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8
      ? Number
      : pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
};

export class Database implements Session {
  readonly #pool: pg.Pool;
  readonly #watch: OutageWatch | undefined;

  constructor(options: DatabaseOptions) {
    this.#watch = options.watch;
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.connectionsMax,
      connectionTimeoutMillis: options.connectTimeoutMs,
      statement_timeout: options.statementTimeoutMs,
      ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
      // The server's own limit comes first; this one is for a server that does not answer at all.
      query_timeout: options.statementTimeoutMs + 2_000,
      idle_in_transaction_session_timeout: options.statementTimeoutMs,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      application_name: 'carillon',
      types: NUMERIC_TYPES,
      options: SESSION_OPTIONS,
    });
    // A connection that breaks is replaced by the pool, and the query on it fails with the reason. It also reports the break
    // as an event, at any moment of its life, between two owners too, and one nobody listens to would end the process.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  query<R extends readonly unknown[]>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
    return retryConflicts(() => this.#run<R>(this.#pool, statement, values));
  }

  /** One transaction; rolled back when work throws. Conflicts run it again from the start. */
  async transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    try {
      return await retryConflicts(() => this.#transact(work));
    } catch (error) {
      if (error instanceof RollBack) return error.answer as T;
      throw error;
    }
  }

  /**
   * One connection without a transaction, for statements that may not be in one; nothing is tried again. Settings and advisory
   * locks of the session end with the work.
   */
  async session<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let broken: Error | undefined;
    try {
      return await work({ query: (statement, values) => this.#run(client, statement, values) });
    } finally {
      await client.query('RESET ALL; SELECT pg_advisory_unlock_all()').catch((failure: unknown) => {
        broken = failure as Error;
      });
      client.release(broken);
    }
  }

  /** For people: connections there are, those without work, and queries that wait for one. */
  get connections(): { open: number; idle: number; queued: number } {
    const { totalCount: open, idleCount: idle, waitingCount: queued } = this.#pool;
    return { open, idle, queued };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw this.#heard(translate(error));
    }
  }

  async #run<R extends readonly unknown[]>(
    on: pg.Pool | pg.PoolClient,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<R[]> {
    try {
      const rows = await run<R>(on, statement, values);
      this.#watch?.answered();
      return rows;
    } catch (error) {
      throw this.#heard(error);
    }
  }

  #heard(error: unknown): unknown {
    if (error instanceof StorageUnavailable) this.#watch?.failed(error);
    return error;
  }

  async #transact<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let broken: Error | undefined;
    try {
      await client.query('BEGIN');
      const result = await work({ query: (statement, values) => this.#run(client, statement, values) });
      await client.query('COMMIT');
      return result;
    } catch (error) {
      const translated = translate(error);
      await client.query('ROLLBACK').catch((failure: unknown) => {
        broken = failure as Error;
      });
      if (translated instanceof StorageUnavailable) broken ??= translated;
      throw translated;
    } finally {
      client.release(broken);
    }
  }
}

/** Thrown inside a transaction: undoes it, and makes this its answer. */
export class RollBack extends Error {
  readonly answer: unknown;

  constructor(answer: unknown) {
    super('rolled back on purpose');
    this.answer = answer;
  }
}

async function run<R extends readonly unknown[]>(
  on: pg.Pool | pg.PoolClient,
  statement: Statement,
  values: readonly unknown[],
): Promise<R[]> {
  // PostgreSQL cuts longer names off without a word, and two statements would become one.
  if (statement.name.length > NAME_LENGTH_MAX) throw new Error(`too long for a name: ${statement.name}`);
  try {
    const result = await on.query({
      name: statement.name,
      text: statement.text,
      values: values as unknown[],
      rowMode: 'array',
    });
    return result.rows as unknown as R[];
  } catch (error) {
    throw translate(error);
  }
}

/** Serialization failure, deadlock: the transaction is gone, and certainly did nothing. */
class Conflict extends Error {}

async function retryConflicts<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      if (tries === CONFLICT_TRIES)
        throw new StorageUnavailable('transactions kept colliding', { cause: error });
    }
  }
}

/** Classes of SQLSTATE that tell of the world and not of the statement: connection, resources, operator, system. */
const UNAVAILABLE = /^(08|53|57|58|25006|25P03)/;

/**
 * A statement that was cancelled, or did not get its lock: its transaction certainly did nothing. By whom it was cancelled
 * (the time limit, nearly always, or a person) is said only in words, in the server's language, and is the same to callers.
 */
const TIMED_OUT = /^(57014|55P03)$/;

/** A text that is no UTF-8 or holds U+0000, as a value or escaped in JSON. */
const UNSTORABLE = /^(22021|22P05)$/;

/** Classes that tell of the values of a statement: cardinality, data, constraints, limits. */
const OF_VALUES = /^(21|22|23|54)/;

/** For callers who would otherwise blame their values: what the database refuses for other reasons becomes StorageUnfit. */
export async function blameValuesOnly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isUnfit = error instanceof pg.DatabaseError && !OF_VALUES.test(error.code ?? '');
    throw isUnfit
      ? new StorageUnfit(`the database refuses a statement: ${error.message}`, { cause: error })
      : error;
  }
}

function translate(error: unknown): unknown {
  if (
    error instanceof StorageUnavailable ||
    error instanceof StorageTimeout ||
    error instanceof Conflict ||
    error instanceof RollBack ||
    !(error instanceof Error)
  )
    return error;
  const code = (error as { code?: unknown }).code;
  if (code === '40001' || code === '40P01') return new Conflict(error.message, { cause: error });
  const isSqlState = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('E');
  if (isSqlState && TIMED_OUT.test(code))
    return new StorageTimeout(`the database took too long: ${error.message}`, {
      cause: error,
      look: LOCK_HOLDERS,
    });
  if (isSqlState && UNSTORABLE.test(code)) return new TextUnstorable(error.message, { cause: error });
  if (isSqlState && !UNAVAILABLE.test(code)) return error;
  if (isSqlState || isConnectionError(error, code)) {
    return new StorageUnavailable(`the database is not available: ${error.message}`, { cause: error });
  }
  return error;
}

function isConnectionError(error: Error, code: unknown): boolean {
  return (
    (typeof code === 'string' && code.startsWith('E')) ||
    /connection|timeout|terminated|client was closed|cannot use a pool/i.test(error.message)
  );
}

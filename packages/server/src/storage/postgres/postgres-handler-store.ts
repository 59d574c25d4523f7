/** What workers say of their handlers, on PostgreSQL. */
import type { HandlerDescription } from '@carillon/domain';
import type { Database } from '../../postgres/database.ts';
import { BOUND_SCHEMAS_MAX, type BoundSchema, type HandlerStore } from '../handler-store.ts';
import * as sql from './handler.sql.ts';
import { readAll } from './selection.ts';

export class PostgresHandlerStore implements HandlerStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async recordHandlers(
    handlers: readonly HandlerDescription[],
    { nowMs, forgetBeforeMs }: { nowMs: number; forgetBeforeMs: number },
  ): Promise<void> {
    // The last of two with one name: a statement cannot change a row twice.
    const said = [...new Map(handlers.map((handler) => [handler.name, handler])).values()];
    await this.#database.transaction(async (session) => {
      await session.query(sql.RECORD_HANDLERS, [
        said.map(({ name }) => name),
        said.map(({ description }) => description ?? null),
        said.map(({ parameters }) => parameters ?? null),
        said.map(({ origin }) => origin),
        nowMs,
      ]);
      await session.query(sql.FORGET_HANDLERS, [forgetBeforeMs]);
    });
  }

  async handlerNames({
    after = '',
    limit,
  }: {
    after?: string | undefined;
    limit: number;
  }): Promise<string[]> {
    const rows = await this.#database.query<[string]>(sql.HANDLER_NAMES, [after, limit]);
    return rows.map(([name]) => name);
  }

  describeHandlers(names: readonly string[]): Promise<HandlerDescription[]> {
    return readAll(this.#database, sql.DESCRIBE_HANDLERS, [names]);
  }

  async recordBound(
    schemas: readonly BoundSchema[],
    { nowMs, forgetBeforeMs }: { nowMs: number; forgetBeforeMs: number },
  ): Promise<void> {
    const said = [
      ...new Map(schemas.map((schema) => [`${schema.namespace} ${schema.name}`, schema])).values(),
    ];
    const namespaces = said.map(({ namespace }) => namespace);
    await this.#database.transaction(async (session) => {
      await session.query(sql.RECORD_BOUND, [
        namespaces,
        said.map(({ name }) => name),
        said.map(({ parameters }) => parameters),
        nowMs,
      ]);
      await session.query(sql.FORGET_BOUND, [forgetBeforeMs, [...new Set(namespaces)], BOUND_SCHEMAS_MAX]);
    });
  }

  boundSchemas(asked: readonly Pick<BoundSchema, 'namespace' | 'name'>[]): Promise<BoundSchema[]> {
    return readAll(this.#database, sql.BOUND_SCHEMAS, [
      asked.map(({ namespace }) => namespace),
      asked.map(({ name }) => name),
    ]);
  }
}

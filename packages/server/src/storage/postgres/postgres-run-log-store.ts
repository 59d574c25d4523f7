/** Which attempts have said something, on PostgreSQL. */
import type { NodeId, RunId } from '@carillon/domain';
import type { Database } from '../../postgres/database.ts';
import type { RunLogRecord, RunLogStore } from '../run-log-store.ts';
import { DROP_LOGS, LOGS_OF, OPEN_LOGS, RECORD_LOGS } from './run-log.sql.ts';
import { readAll } from './selection.ts';

export class PostgresRunLogStore implements RunLogStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async recordLogs(records: readonly RunLogRecord[]): Promise<void> {
    if (records.length === 0) return;
    await this.#database.query(RECORD_LOGS, [
      records.map(({ runId }) => runId),
      records.map(({ epoch }) => epoch),
      records.map(({ day }) => day),
      records.map(({ nodeId = null }) => nodeId),
      records.map(({ writer = null }) => writer),
      records.map(({ bytes }) => bytes),
      records.map(({ lines }) => lines),
      records.map(({ firstAtMs }) => firstAtMs),
      records.map(({ lastAtMs }) => lastAtMs),
      records.map(({ ended }) => ended),
      records.map(({ incomplete }) => incomplete),
    ]);
  }

  logsOf(runId: RunId): Promise<RunLogRecord[]> {
    return readAll(this.#database, LOGS_OF, [runId]);
  }

  openLogs({
    of,
    after,
    limit,
  }: {
    readonly of: NodeId;
    readonly after: RunId | undefined;
    readonly limit: number;
  }): Promise<RunLogRecord[]> {
    return readAll(this.#database, OPEN_LOGS, [of, after ?? null, limit]);
  }

  async dropLogs({ beforeDay }: { readonly beforeDay: string }): Promise<number> {
    const [row] = await this.#database.query<readonly [number]>(DROP_LOGS, [beforeDay]);
    return row![0];
  }
}

/** Counters shared through PostgreSQL: one statement for everything that is counted at once. */
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Session } from '../../postgres/database.ts';
import { type Count, type Counters, mergeCounts } from '../counters.ts';
import { ADD_COUNTS, FORGET_COUNTS } from './counters.sql.ts';

export class PostgresCounters implements Counters {
  readonly #database: Session;

  constructor(database: Session) {
    this.#database = database;
  }

  async add(counts: readonly Count[]): Promise<number[]> {
    if (counts.length === 0) return [];
    const { merged, indexes } = mergeCounts(counts);
    const rows = await this.#database.query<[number]>(ADD_COUNTS, [
      textArray(merged.map(({ name }) => name)),
      plainArray(merged.map(({ windowMs }) => windowMs)),
      plainArray(merged.map(({ startMs }) => startMs)),
      plainArray(merged.map(({ add }) => add)),
    ]);
    return indexes.map((index) => rows[index]![0]);
  }

  async forget(beforeMs: number): Promise<void> {
    await this.#database.query(FORGET_COUNTS, [beforeMs]);
  }
}

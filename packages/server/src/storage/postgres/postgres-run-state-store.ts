/** The run state store on PostgreSQL: one statement for all that is saved or told at a time. */
import type { RunId } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Database } from '../../postgres/database.ts';
import type { LeaseRef } from '../lease-store.ts';
import type { ProgressReport, RunStateStore, SavedCheckpoint, StoredCheckpoint } from '../run-state-store.ts';
import { CHECKPOINT_OF_RUN, SAVE_CHECKPOINTS, SHOW_PROGRESS } from './run-state.sql.ts';
import { readFirst } from './selection.ts';

export class PostgresRunStateStore implements RunStateStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async saveCheckpoints(saved: readonly SavedCheckpoint[], nowMs: number): Promise<boolean[]> {
    if (saved.length === 0) return [];
    const rows = await this.#database.query<readonly [number]>(SAVE_CHECKPOINTS, [
      ...refColumns(saved),
      textArray(saved.map(({ data }) => data)),
      plainArray(saved.map(({ sequence }) => sequence)),
      nowMs,
    ]);
    return isAmong(saved, rows);
  }

  checkpoint(runId: RunId): Promise<StoredCheckpoint | undefined> {
    return readFirst(this.#database, CHECKPOINT_OF_RUN, [runId]);
  }

  async showProgress(reports: readonly ProgressReport[], nowMs: number): Promise<boolean[]> {
    if (reports.length === 0) return [];
    const rows = await this.#database.query<readonly [number]>(SHOW_PROGRESS, [
      ...refColumns(reports),
      plainArray(reports.map(({ percent }) => percent)),
      textArray(reports.map(({ message }) => message)),
      nowMs,
    ]);
    return isAmong(reports, rows);
  }
}

function refColumns(refs: readonly LeaseRef[]): string[] {
  return [
    plainArray(refs.map(({ leaseId }) => leaseId)),
    plainArray(refs.map(({ position }) => position)),
    plainArray(refs.map(({ epoch }) => epoch)),
  ];
}

/** rows: numbers from 1. */
function isAmong(refs: readonly LeaseRef[], rows: readonly (readonly [number])[]): boolean[] {
  const done = new Set(rows.map(([ord]) => ord));
  return refs.map((_, i) => done.has(i + 1));
}

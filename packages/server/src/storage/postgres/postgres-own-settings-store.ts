/** What people keep for themselves, on PostgreSQL. */
import type { Preferences, SavedView } from '@carillon/domain';
import type { Database } from '../../postgres/database.ts';
import type { OwnSettingsStore } from '../own-settings-store.ts';
import * as sql from './own-settings.sql.ts';
import { readAll } from './selection.ts';

export class PostgresOwnSettingsStore implements OwnSettingsStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  views(userId: string): Promise<SavedView[]> {
    return readAll(this.#database, sql.VIEWS, [userId]);
  }

  putView(
    userId: string,
    { viewId, screen, name, query, updatedAtMs }: SavedView,
    { viewsMax }: { viewsMax: number },
  ): ReturnType<OwnSettingsStore['putView']> {
    return this.#database.transaction(async (session) => {
      if ((await session.query(sql.LOCK_OWN_SETTINGS, [userId])).length === 0) return 'no_user';
      const [row] = await session.query<[number, number, boolean]>(sql.OTHER_VIEWS, [
        ...[userId, viewId, screen, name],
      ]);
      const [others, namesakes, isThere] = row!;
      if (namesakes > 0) return 'name_taken';
      if (!isThere && others >= viewsMax) return 'full';
      await session.query(sql.PUT_VIEW, [userId, viewId, screen, name, JSON.stringify(query), updatedAtMs]);
      return 'put';
    });
  }

  async removeView(userId: string, viewId: string): Promise<boolean> {
    return (await this.#database.query(sql.REMOVE_VIEW, [userId, viewId])).length > 0;
  }

  async preferences(userId: string): Promise<Preferences> {
    const [row] = await this.#database.query<[string]>(sql.PREFERENCES, [userId]);
    return row ? (JSON.parse(row[0]) as Preferences) : {};
  }

  putPreferences(userId: string, preferences: Preferences): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      if ((await session.query(sql.LOCK_OWN_SETTINGS, [userId])).length === 0) return false;
      await session.query(sql.PUT_PREFERENCES, [userId, JSON.stringify(preferences)]);
      return true;
    });
  }
}

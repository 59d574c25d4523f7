/** Statements of what people keep for themselves. Instants go in and out as milliseconds. */
import type { SavedView } from '@carillon/domain';
import { statement } from '../../postgres/database.ts';
import { timestampOf } from './fragments.sql.ts';
import { column, columns, ms, read } from './selection.ts';

const VIEW = columns<SavedView>({
  viewId: 'view_id',
  screen: 'screen',
  name: 'name',
  query: column('query', (text: string) => JSON.parse(text) as SavedView['query']),
  updatedAtMs: ms('updated_at'),
});

export const VIEWS = read('views', VIEW)`
  SELECT ${VIEW.sql} FROM user_views WHERE user_id = $1 ORDER BY screen, name`;

/** Two who save a view of one user at the same moment do so one after the other. */
export const LOCK_OWN_SETTINGS = statement('lock_own_settings')`
  SELECT user_id FROM users WHERE user_id = $1 FOR NO KEY UPDATE`;

/** $1 user, $2 view, $3 screen, $4 name: how many other views there are, and how many of them have the name. */
export const OTHER_VIEWS = statement('other_views')`
  SELECT count(*)::int, (count(*) FILTER (WHERE screen = $3::text AND name = $4::text))::int,
    EXISTS (SELECT FROM user_views WHERE user_id = $1 AND view_id = $2)
  FROM user_views WHERE user_id = $1 AND view_id <> $2`;

/** $1 user, $2 view, $3 screen, $4 name, $5 query, $6 when. */
export const PUT_VIEW = statement('put_view')`
  INSERT INTO user_views (user_id, view_id, screen, name, query, updated_at)
  VALUES ($1, $2, $3, $4, $5, ${timestampOf('$6')})
  ON CONFLICT (user_id, view_id) DO UPDATE SET screen = excluded.screen, name = excluded.name, query = excluded.query,
    updated_at = excluded.updated_at`;

export const REMOVE_VIEW = statement('remove_view')`
  DELETE FROM user_views WHERE user_id = $1 AND view_id = $2 RETURNING view_id`;

export const PREFERENCES = statement('preferences')`
  SELECT preferences FROM user_preferences WHERE user_id = $1`;

export const PUT_PREFERENCES = statement('put_preferences')`
  INSERT INTO user_preferences (user_id, preferences) VALUES ($1, $2)
  ON CONFLICT (user_id) DO UPDATE SET preferences = excluded.preferences`;

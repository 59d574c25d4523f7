/** The storage on a database of a test. Its limits only end a hang: a busy machine may take its time (hazard 50). */
import {
  openPostgresStorage,
  type PostgresStorage,
  type PostgresStorageOptions,
} from '../../packages/server/src/storage/postgres/postgres-storage.ts';

export function openTestStorage(
  url: string,
  over: Partial<Omit<PostgresStorageOptions, 'url'>> = {},
): PostgresStorage {
  return openPostgresStorage({
    ...{ url, connectionsMax: 4, statementTimeoutMs: 60_000, connectTimeoutMs: 60_000 },
    ...over,
  });
}

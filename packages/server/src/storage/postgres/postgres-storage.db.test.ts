import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { describeStorage } from '../conformance/all.ts';
import { BASE_MS } from '../conformance/storage-under-test.ts';
import { openPostgresStorage, type PostgresStorage } from './postgres-storage.ts';

const EMPTY = `TRUNCATE jobs, due, leases, job_runs, dead_letters, nodes, workers;
  UPDATE shards SET node_id = NULL, epoch = 0, expires_at = 0`;

describeEachPostgres('the storage on PostgreSQL', (server) => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    storage = openPostgresStorage({
      url: database.url,
      connectionsMax: 8,
      statementTimeoutMs: 10_000,
      connectTimeoutMs: 5_000,
    });
    await storage.housekeeping.makePartitions({ nowMs: BASE_MS, aheadDays: 3 });
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await storage.close();
    await database.drop();
  });

  describeStorage('keeps every promise of its ports', async () => {
    await client.query(EMPTY);
    return { storage, close: async () => undefined };
  });
});

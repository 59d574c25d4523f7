import pg from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import {
  createTestDatabase,
  describeEachPostgres,
  type TestDatabase,
} from '../../../../../tests/support/postgres.ts';
import { Database } from '../../postgres/database.ts';
import { describeCounters } from '../conformance.ts';
import * as statements from './counters.sql.ts';
import { PostgresCounters } from './postgres-counters.ts';

describeEachPostgres('counters', (server) => {
  let database: TestDatabase;
  let client: pg.Client;
  const open: Database[] = [];
  const connect = () => {
    const options = { connectionsMax: 4, statementTimeoutMs: 60_000, connectTimeoutMs: 60_000 };
    const opened = new Database({ url: database.url, ...options });
    open.push(opened);
    return opened;
  };

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    for (const one of open) await one.close();
    await database.drop();
  });

  describe('the statements', () => {
    it.each(Object.values(statements))('$name can be prepared on the migrated schema', async (statement) => {
      await client.query(`PREPARE ${statement.name}_check AS ${statement.text}`);
    });
  });

  describeCounters('counters on PostgreSQL', async () => {
    await client.query('TRUNCATE counters');
    const [first = connect(), second = connect()] = open;
    return { here: new PostgresCounters(first), there: new PostgresCounters(second) };
  });
});

import pg from 'pg';
import { expect, it } from 'vitest';
import { createTestDatabase, describeEachPostgres } from './postgres.ts';

describeEachPostgres('a test database', (server) => {
  it('is of the version it claims, encoded in UTF8 and ordered by bytes', async () => {
    const database = await createTestDatabase(server.url);
    const client = new pg.Client(database.url);
    await client.connect();
    const { rows } = await client.query(
      `SELECT current_setting('server_version_num')::int / 10000 AS version, pg_encoding_to_char(encoding) AS encoding,
              datcollate AS collation FROM pg_database WHERE datname = current_database()`,
    );
    expect(rows).toEqual([{ version: server.version, encoding: 'UTF8', collation: 'C' }]);
    await client.end();
    await database.drop();
  });

  it('is a separate world from the next one, and gone after drop even while somebody is connected', async () => {
    const [one, other] = await Promise.all([createTestDatabase(server.url), createTestDatabase(server.url)]);
    const inOne = new pg.Client(one.url);
    inOne.on('error', () => {});
    await inOne.connect();
    await inOne.query('CREATE TABLE mine (x int)');
    const inOther = new pg.Client(other.url);
    await inOther.connect();
    expect((await inOther.query(`SELECT to_regclass('mine') AS found`)).rows).toEqual([{ found: null }]);
    await inOther.end();
    await Promise.all([one.drop(), other.drop()]);
    await expect(new pg.Client(one.url).connect()).rejects.toThrow(/does not exist/);
  });
});

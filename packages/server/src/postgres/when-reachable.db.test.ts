/** A start at a database that has no connection left: it is waited for, and then explained. */
import { randomBytes } from 'node:crypto';
import { type Log, silentLog } from '@carillon/foundation';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { describeEachPostgres } from '../../../../tests/support/postgres.ts';
import { StartFailure } from '../start-failure.ts';
import { Database } from './database.ts';
import { whenReachable } from './when-reachable.ts';

describeEachPostgres('a database that has no connection left', (server) => {
  let admin: pg.Client;
  let role: string;
  let url: string;
  let only: pg.Client;
  let said: string[];
  let log: Log;

  beforeEach(async () => {
    role = `limited_${randomBytes(8).toString('hex')}`;
    admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'limited' CONNECTION LIMIT 1`);
    const limited = new URL(server.url);
    limited.username = role;
    limited.password = 'limited';
    url = limited.href;
    only = new pg.Client({ connectionString: url });
    await only.connect();
    said = [];
    log = { ...silentLog, warn: (_, message) => void said.push(message) };
  });

  afterEach(async () => {
    await only.end();
    await eventually(() => admin.query(`DROP ROLE ${role}`), { withinMs: 60_000 });
    await admin.end();
  });

  async function askOnce(): Promise<number> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query('SELECT 7 AS seven')).rows[0].seven;
    } finally {
      await client.end();
    }
  }

  it('is waited for until it has one', async () => {
    const answer = whenReachable(url, { log, step: askOnce, connectionsMax: 10 });
    await eventually(() => expect(said).toHaveLength(1), { withinMs: 60_000 });
    expect(said[0]).toMatch(/no connection left/);
    await only.end();
    expect(await answer).toBe(7);
  });

  it('is explained when it gets none: max_connections, and how many a server needs', async () => {
    const pool = new Database({
      url,
      connectionsMax: 1,
      statementTimeoutMs: 60_000,
      connectTimeoutMs: 60_000,
    });
    const askPool = () => pool.query({ name: '', text: 'SELECT 7' }, []);
    try {
      for (const step of [askOnce, askPool]) {
        const waiting = whenReachable<unknown>(url, { log, step, connectionsMax: 12, patienceMs: 300 });
        const failure = await waiting.catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(StartFailure);
        const { message } = failure as Error;
        expect(message).toMatch(/^the database at \S+ has no connection left: /);
        expect(message).toContain('max_connections');
        expect(message).toContain('database.connections_max + 8, here 20');
        expect(message).not.toContain('password');
      }
    } finally {
      await pool.close();
    }
  });
});

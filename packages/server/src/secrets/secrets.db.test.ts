/**
 * Secrets over a whole engine on PostgreSQL: the handler gets the value, and nothing that is stored ever holds it: no table, event,
 * audit entry, dead letter, result or error, and no line of the log.
 */
import { randomBytes } from 'node:crypto';
import type { JobId } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import { HandlerError, type RunContext } from '@carillon/worker';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeOldestPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { type StartedEngine, startEngine } from '../start-engine.ts';

/** Without characters that the text of a row would double. */
const VALUE = 'correct-horse+battery/staple 42';
const FORMS = [
  VALUE,
  encodeURIComponent(VALUE),
  Buffer.from(VALUE).toString('base64').slice(0, -4),
  Buffer.from(VALUE).toString('hex'),
];
const SOON = { withinMs: 60_000 };

describeOldestPostgres('secrets', (server) => {
  let database: TestDatabase;
  let engine: StartedEngine;
  const logged: string[] = [];
  const given: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase(server.url);
    const write = (facts: object, message: string) => {
      const { err } = facts as { err?: Error };
      logged.push(`${JSON.stringify(facts)} ${err?.stack ?? ''} ${message}`);
    };
    const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };
    const token = (run: RunContext) => {
      given.push(String(run.payload.token));
      run.log.info(`using ${run.payload.token}`);
      run.progress(50, `half of ${run.payload.token}`);
      return run.payload.token;
    };
    engine = await startEngine({
      databaseUrl: database.url,
      secretsKey: randomBytes(32).toString('base64'),
      log,
      handlers: {
        answers: async (run) => ({ said: token(run), url: encodeURIComponent(String(run.payload.token)) }),
        fails: async (run) => {
          throw new HandlerError(`refused: ${token(run)}`, { retryable: false, result: [token(run)] });
        },
      },
    });
  });

  afterAll(async () => {
    await engine.stop();
    await database.drop();
  });

  const latest = async (jobId: JobId) => (await engine.operations.listRuns(jobId, { limit: 1 }))[0];
  const ended = async (jobId: JobId, status: string) => {
    await eventually(async () => expect((await latest(jobId))?.status).toBe(status), SOON);
    return (await latest(jobId))!;
  };
  const job = (handler: string, token: string) => ({
    name: handler,
    handler,
    payload: { token },
    maxRetries: 0,
  });

  /** Every column of every row, as text. */
  async function everything(): Promise<string> {
    const client = new pg.Client({ connectionString: database.url, connectionTimeoutMillis: 60_000 });
    await client.connect();
    try {
      const { rows: tables } = await client.query<{ name: string }>(
        `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
      );
      const texts: string[] = [];
      for (const { name } of tables) {
        const { rows } = await client.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
        texts.push(...rows.map(({ text }) => text));
      }
      return texts.join('\n');
    } finally {
      await client.end();
    }
  }

  it('reach the handler, and nothing that is stored or logged holds their value', async () => {
    await engine.operations.setSecret({ name: 'token' }, VALUE);
    const { jobId } = await engine.operations.createJob(job('answers', '{{secrets.token}}'));
    const run = await ended(jobId, 'SUCCESS');
    expect(given).toEqual([VALUE]);
    expect(JSON.parse(run.result!)).toEqual({ said: '***', url: '***' });

    const failing = await engine.operations.createJob(job('fails', 'Bearer {{secrets.token}}'));
    const failed = await ended(failing.jobId, 'FAILED');
    expect(failed.error).toBe('refused: Bearer ***');

    const { runId } = await engine.operations.runJobNow(jobId, { input: { token: 'x{{secrets.token}}x' } });
    await eventually(async () => expect((await latest(jobId))?.runId).toBe(runId), SOON);
    await ended(jobId, 'SUCCESS');
    expect(given.at(-1)).toBe(`x${VALUE}x`);
    await engine.operations.setSecret({ name: 'token' }, `${VALUE} anew`);
    const again = await engine.operations.createJob(job('answers', '{{secrets.token}}'));
    await ended(again.jobId, 'SUCCESS');
    expect(given.at(-1)).toBe(`${VALUE} anew`);

    const stored = await everything();
    // The dump holds what it should: references, masks and the sealed value.
    for (const text of ['{{secrets.token}}', '***', 'aes-256-gcm:', 'secrets.set'])
      expect(stored).toContain(text);
    for (const form of FORMS) {
      expect(stored).not.toContain(form);
      expect(logged.join('\n')).not.toContain(form);
    }
  });

  it('that are gone when the run starts end it with their name, without another try, and others go on', async () => {
    await engine.operations.setSecret({ name: 'brief' }, VALUE);
    const soon = new Date(Date.now() + 2_000).toISOString();
    const input = { ...job('answers', '{{secrets.brief}}'), maxRetries: 3, scheduleTime: soon };
    const { jobId } = await engine.operations.createJob(input);
    const other = await engine.operations.createJob({ ...job('answers', 'plain'), scheduleTime: soon });
    await engine.operations.deleteSecret({ name: 'brief' });
    const run = await ended(jobId, 'FAILED');
    expect(run).toMatchObject({ attempt: 1, error: 'there is no secret brief any more' });
    await ended(other.jobId, 'SUCCESS');
  });

  it('cannot be set without a key', async () => {
    const other = await createTestDatabase(server.url);
    const keyless = await startEngine({ databaseUrl: other.url, handlers: {} });
    try {
      await expect(keyless.operations.setSecret({ name: 'token' }, VALUE)).rejects.toMatchObject({
        code: 'secrets_unsealed',
      });
    } finally {
      await keyless.stop();
      await other.drop();
    }
  });
});

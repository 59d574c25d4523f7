/** From a handler that writes to the text that is read: through a whole server, its files, its database and a restart. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '@carillon/foundation';
import type { Handler } from '@carillon/worker';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Carillon, type LogMessage } from '../../../../packages/client/src/index.ts';
import { eventually } from '../../../../tests/support/eventually.ts';
import {
  createTestDatabase,
  describeOldestPostgres,
  type TestDatabase,
} from '../../../../tests/support/postgres.ts';
import { S3_BUCKET, S3_KEY, S3Server } from '../../../../tests/support/s3-server.ts';
import { configSchema } from '../config/config-schema.ts';
import { type StartedServer, startServer } from '../start-server.ts';

const SOON = { withinMs: 60_000 };
const S3_ENV: Record<string, string> = {
  ...{ AWS_ACCESS_KEY_ID: S3_KEY.accessKeyId, AWS_SECRET_ACCESS_KEY: S3_KEY.secretAccessKey },
};

describeOldestPostgres('the logs of runs', (postgres) => {
  let database: TestDatabase;
  let folder: string;
  const running: StartedServer[] = [];
  let release = () => {};
  const handlers = new Map<string, Handler>([
    [
      'steps',
      async (run) => {
        run.log.info(`begin of attempt ${run.attempt}`);
        run.log.error('careful \u001b[31mred');
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        run.log.info('done');
        if (run.payload.fail === run.attempt) throw new Error('failed on purpose');
        return { fine: true };
      },
    ],
    ['silent', () => undefined],
    ['large', ({ payload }) => ({ text: 'é"'.repeat(Number(payload.count)) })],
  ]);

  beforeAll(async () => {
    database = await createTestDatabase(postgres.url);
    folder = await mkdtemp(join(tmpdir(), 'carillon-run-logs-'));
  });
  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop();
  });
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(name = 'one', settings: object = {}, env = S3_ENV): Promise<Carillon> {
    const server = await startServer({
      config: configSchema.parse({
        ...{ port: 0, data: join(folder, name), database_url: database.url, ...settings },
      }),
      handlers,
      env,
      log: silentLog,
      onReplaced: () => expect.fail('another process has the identity of this server'),
    });
    running.push(server);
    const key = (await readFile(server.adminKeyFile, 'utf8')).trim();
    return new Carillon({ url: server.address, key });
  }

  async function begin(
    client: Carillon,
    payload: Record<string, number> = {},
    handler = 'steps',
  ): Promise<string> {
    const { job_id: jobId } = await client.jobs.create({
      ...{ name: 'steps', schedule_type: 'IMMEDIATE', handler, payload, max_retries: 1 },
      retry: { strategy: 'fixed', delay_seconds: 1 },
    });
    return jobId;
  }

  const ended = (client: Carillon, runId: string) =>
    eventually(async () => expect((await client.runs.get(runId)).status).toMatch(/SUCCESS|FAILED/), SOON);

  it('are followed while the run goes on, and read after a restart of the server', async () => {
    const client = await start();
    const runId = await begin(client);
    const messages: LogMessage[] = [];
    const following = (async () => {
      for await (const message of client.runs.tailLogs(runId)) messages.push(message);
    })();
    const said = () => messages.flatMap((message) => (message.kind === 'line' ? [message.text] : []));
    await eventually(() => expect(said()).toEqual(['begin of attempt 1', 'careful \u001b[31mred']), SOON);
    expect((await client.runs.get(runId)).status).toMatch(/CLAIMED|RUNNING/);
    expect(await client.runs.logText(runId, { stream: 'stdout' })).toMatch(/^\d{13} o begin of attempt 1\n$/);
    release();
    await following;
    expect(said().at(-1)).toBe('done');
    expect(messages.at(-1)).toEqual({ kind: 'end', status: 'SUCCESS' });

    await running.pop()!.stop();
    const again = await start();
    const text = await again.runs.logText(runId);
    expect(text).toMatch(
      /^# attempt 1, epoch 1, SUCCESS, .*\n\d+ o begin of attempt 1\n\d+ e careful .*\n\d+ o done\n$/,
    );
    expect(await again.runs.logText(runId, { search: 'careful', tail: 1 })).toContain('careful');
    expect((await again.runs.get(runId)).log_url).toBe(`/api/runs/${runId}/logs`);
    const [day] = await readdir(join(folder, 'one', 'logs'));
    expect(await readdir(join(folder, 'one', 'logs', day!, runId))).toEqual(['1.log']);
  });

  it('of attempts stay apart; a run that writes nothing leaves nothing', async () => {
    const client = await start();
    const runId = await begin(client, { fail: 1 });
    await eventually(
      async () => expect(await client.runs.logText(runId)).toContain('begin of attempt 1'),
      SOON,
    );
    release();
    await eventually(
      async () => expect(await client.runs.logText(runId)).toContain('begin of attempt 2'),
      SOON,
    );
    release();
    await ended(client, runId);
    expect(await client.runs.logText(runId, { attempt: 2 })).not.toContain('attempt 1');
    expect(await client.runs.logText(runId)).toMatch(
      /# attempt 1, .*FAILED.*\n\d+ o begin of attempt 1\n[^#]*# attempt 2, .*SUCCESS.*\n\d+ o begin of attempt 2\n/,
    );
    const silent = await begin(client, {}, 'silent');
    await ended(client, silent);
    expect(await client.runs.logText(silent)).toMatch(/^# attempt 1, [^\n]*\n$/);
    expect(await client.runs.logText(silent, { attempt: 1 })).toBe('');
  });

  it('are beside results that are too large for the database, which every server answers', async () => {
    const one = await start('results', { logs: { result_max_mb: 1 } });
    const other = await start('beside results', { roles: ['gateway'] });
    const runId = await begin(one, { count: 100_000 }, 'large');
    await ended(one, runId);
    const expected = { text: 'é"'.repeat(100_000) };
    const bytes = Buffer.byteLength(JSON.stringify(expected));
    const facts = { result: null, result_size: bytes, result_url: `/api/runs/${runId}/result` };
    expect(await other.runs.get(runId)).toMatchObject({ status: 'SUCCESS', ...facts });
    for (const client of [one, other]) expect(await client.runs.result(runId)).toEqual(expected);
    const [listed] = (await other.runs.list({ include: ['result'], limit: 1 }).page()).items;
    expect(listed).toMatchObject(facts);
    expect((await other.runs.list({ limit: 1 }).page()).items[0]).not.toHaveProperty('result_size');
    expect((await one.runs.logs(runId)).logs.at(-1)?.message).toBe(
      `result: ${bytes} bytes, read at /api/runs/${runId}/result`,
    );
    const [day] = await readdir(join(folder, 'results', 'logs'));
    expect(await readdir(join(folder, 'results', 'logs', day!, runId))).toEqual(['1.result']);

    const small = await begin(one, { count: 10 }, 'large');
    await ended(one, small);
    expect(await other.runs.get(small)).toMatchObject({ result_size: null, result_url: null });
    expect(await other.runs.result(small)).toEqual({ text: 'é"'.repeat(10) });
    const huge = await begin(one, { count: 1_000_000 }, 'large');
    await ended(one, huge);
    expect(await one.runs.result(huge)).toEqual({
      note: 'the result is larger than 1048576 bytes and was not kept',
    });
    const none = await begin(one, {}, 'silent');
    await ended(one, none);
    await expect(one.runs.result(none)).rejects.toMatchObject({ code: 'result_not_found', status: 404 });

    // Their files are gone, as after their retention.
    await rm(join(folder, 'results', 'logs', day!, runId), { recursive: true });
    await expect(other.runs.result(runId)).rejects.toMatchObject({ code: 'result_not_found' });
    await running.at(-2)!.stop();
    await eventually(
      () => expect(other.runs.result(runId)).rejects.toMatchObject({ code: 'log_elsewhere' }),
      SOON,
    );
    running.splice(-2, 1);
  });

  it('are beside files that scripts leave, which every server answers', async () => {
    const one = await start('files');
    const other = await start('beside files', { roles: ['gateway'] });
    const script =
      'cd "$CARILLON_ARTIFACTS"; head -c 600000 /dev/zero > large.bin; echo ok > "a b.txt"; ln -s /etc/passwd link; exit $1';
    const leave = async (code: string) => {
      const { job_id: runId } = await one.jobs.create({
        ...{ name: 'files', schedule_type: 'IMMEDIATE', handler: 'script', max_retries: 0 },
        payload: { interpreter: 'bash', script, args: [code] },
      });
      await ended(one, runId);
      return runId;
    };
    const textOf = async (client: Carillon, runId: string, name: string) =>
      new Response(await client.runs.artifact(runId, name)).text();
    const runId = await leave('0');
    for (const client of [one, other]) {
      expect(await client.runs.artifacts(runId)).toMatchObject([
        { name: 'a b.txt', bytes: 3, attempt: 1 },
        { name: 'large.bin', bytes: 600_000, attempt: 1 },
      ]);
      expect(await textOf(client, runId, 'a b.txt')).toBe('ok\n');
      expect((await textOf(client, runId, 'large.bin')) === '\0'.repeat(600_000)).toBe(true);
    }
    const text = await other.runs.logText(runId);
    expect(text).toMatch(/ s The files of this attempt are kept \(\d+ bytes\)\.\n/);
    expect(text).toContain(' s the file "link" is not kept: it is not a regular file\n');
    const [day] = await readdir(join(folder, 'files', 'logs'));
    expect((await readdir(join(folder, 'files', 'logs', day!, runId))).sort()).toEqual([
      '1.artifacts',
      '1.log',
    ]);
    const failed = await leave('3');
    expect(await other.runs.get(failed)).toMatchObject({ status: 'FAILED' });
    expect(await textOf(other, failed, 'a b.txt')).toBe('ok\n');

    // Their files are gone, as after their retention.
    await rm(join(folder, 'files', 'logs', day!, runId), { recursive: true });
    expect(await other.runs.artifacts(runId)).toEqual([]);
    await expect(other.runs.artifact(runId, 'a b.txt')).rejects.toMatchObject({ code: 'artifact_not_found' });
  });

  it('in a folder that cannot be made keep the server from starting, with a sentence', async () => {
    const taken = join(folder, 'taken');
    await writeFile(taken, '');
    await expect(start('three', { logs: { folder: taken } })).rejects.toThrow(
      `the folder for logs ${taken} cannot be used: `,
    );
  });

  it('in the folder of one server are read by another through it; a shared folder is read by both', async () => {
    const one = await start('here', { roles: ['gateway', 'engine'] });
    const other = await start('there', { roles: ['gateway'] });
    const runId = await begin(one);
    await eventually(async () => expect(await one.runs.logText(runId)).toContain('begin'), SOON);
    release();
    await ended(one, runId);
    const whole = await one.runs.logText(runId);
    expect(await other.runs.logText(runId)).toBe(whole);
    expect(await other.runs.logText(runId, { search: 'careful' })).toMatch(/^\d+ e careful .*\n$/);
    // One that has stopped has withdrawn its address.
    await running.shift()!.stop();
    await eventually(
      () => expect(other.runs.logText(runId)).rejects.toMatchObject({ code: 'log_elsewhere', status: 503 }),
      SOON,
    );
    for (const server of running.splice(0)) await server.stop();
    const logs = { folder: join(folder, 'shared') };
    const first = await start('here', { logs });
    const second = await start('there', { logs, roles: ['gateway'] });
    const shared = await begin(first);
    await eventually(async () => expect(await second.runs.logText(shared)).toContain('begin'), SOON);
    release();
    await ended(second, shared);
    expect(await second.runs.logText(shared)).toBe(await first.runs.logText(shared));
  });

  it('in a bucket are read by all servers; while it is away, jobs run and readers are told', async () => {
    const s3 = await S3Server.start();
    try {
      const logs = { s3: { bucket: S3_BUCKET, endpoint: s3.endpoint } };
      const one = await start('with bucket', { logs });
      const other = await start('beside it', { logs, roles: ['gateway'] });
      const runId = await begin(one);
      await eventually(async () => expect(await other.runs.logText(runId)).toContain('begin'), SOON);
      release();
      await ended(other, runId);
      expect(await other.runs.logText(runId)).toMatch(/ o done\n$/);
      await s3.pause();
      release = () => {};
      const unheard = await begin(one);
      await eventually(async () => {
        release();
        expect((await one.runs.get(unheard)).status).toBe('SUCCESS');
      }, SOON);
      await expect(other.runs.logText(runId)).rejects.toMatchObject({ code: 'logs_unavailable' });
      await s3.resume();
      await eventually(
        async () => expect(await other.runs.logText(unheard)).toMatch(/ s \d+ bytes of output are missing/),
        SOON,
      );
    } finally {
      for (const server of running.splice(0)) await server.stop();
      await s3.stop();
    }
  });

  it('in a bucket without a key keep the server from starting, with a sentence', async () => {
    const logs = { s3: { bucket: S3_BUCKET, endpoint: 'http://127.0.0.1:9' } };
    await expect(start('no key', { logs }, {})).rejects.toThrow('logs.s3.bucket needs a key: set AWS_');
    const file = join(folder, 'absent');
    const named = { s3: { ...logs.s3, access_key_id: 'id', secret_access_key_file: file } };
    await expect(start('no key', { logs: named })).rejects.toThrow(
      `${file} of --logs-s3-secret-access-key-file`,
    );
  });
});

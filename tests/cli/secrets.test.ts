/** Secrets from the command line, against a real server whose http jobs call a real receiver. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

const VALUE = 'correct-horse-battery-staple';
const SOON = { withinMs: 60_000 };
let one: OneServer;
let receiver: Server;
let address: string;
const received: (string | undefined)[] = [];

beforeAll(async () => {
  one = await startOneServer();
  receiver = createServer((request, response) => {
    received.push(request.headers.authorization);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ you_sent: request.headers.authorization }));
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
});

afterAll(async () => {
  await one?.stop();
  receiver?.close();
});

const { run, ok, json, createJob } = commandsIn(() => one.folder);

describe('carillon secrets', () => {
  test('sets a value from the standard input or a file, and shows it nowhere', async () => {
    expect((await run(['secrets', 'list'])).stderr).toContain('No secrets');
    expect(await ok(['secrets', 'set', 'token'], { input: 'first-value-of-it\n' })).toBe(
      'Set token, version 1\n',
    );
    await writeFile(join(one.folder, 'token.txt'), `${VALUE}\n`);
    const set = await ok(['secrets', 'set', 'token', '--from-file', 'token.txt']);
    expect(set).toBe('Set token, version 2\n');
    const listed = await ok(['secrets', 'list']);
    expect(listed).toMatch(/token +2 +yes/);
    expect(listed).not.toContain(VALUE);
  });

  test('says when a value is too short to be masked', async () => {
    const { code, stderr } = await run(['secrets', 'set', 'pin'], { input: '1234' });
    expect(code).toBe(0);
    expect(stderr).toContain('less than 8 characters');
  });

  test('a job sends the value, and its result has a mask in its place', async () => {
    const id = await createJob(
      'calls',
      '--http',
      address,
      '--header',
      'Authorization: Bearer {{secrets.token}}',
    );
    await eventually(() => expect(received).toEqual([`Bearer ${VALUE}`]), SOON);
    const shown = () => json<{ payload: object; status: string }>(['jobs', 'show', id]);
    await eventually(async () => expect((await shown()).status).toBe('COMPLETED'), SOON);
    const runs = await ok(['runs', 'list', id, '--json']);
    const [{ run_id: runId }] = JSON.parse(runs) as [{ run_id: string }];
    const details = await ok(['runs', 'show', runId, '--json']);
    expect(details).toContain('***');
    expect(await shown()).toMatchObject({
      payload: { headers: { Authorization: 'Bearer {{secrets.token}}' } },
    });
    const said = [
      details,
      await ok(['jobs', 'logs', id]),
      await ok(['audit', '--json']),
      await one.server.output(),
    ];
    for (const text of said) expect(text).not.toContain(VALUE);
  });

  test('refuses a job that names an unknown secret, and says what to do', async () => {
    const { code, stderr } = await run(['jobs', 'create', 'x', '--http', `${address}?t={{secrets.nothing}}`]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/no secret nothing in the namespace default.*carillon secrets set/s);
  });

  test('deletes only when told to', async () => {
    const asked = await run(['secrets', 'delete', 'pin']);
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('Delete this secret for good?')]);
    expect(await ok(['secrets', 'delete', 'pin', '--yes'])).toContain('Deleted pin');
    expect((await run(['secrets', 'delete', 'pin', '--yes'])).stderr).toContain('carillon secrets list');
  });

  test('the key of the embedded database lies in the data folder, for its owner alone', async () => {
    const file = join(one.folder, '.carillon', 'secrets.key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(Buffer.from(await readFile(file, 'utf8'), 'base64')).toHaveLength(32);
  });
});

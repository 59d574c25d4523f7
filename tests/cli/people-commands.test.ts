/** Users, keys, namespaces and the audit log from the command line, against a real server. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

let one: OneServer;
let alive = '';

beforeAll(async () => {
  one = await startOneServer();
  alive = `${one.server.address}/health/live`;
});

afterAll(() => one?.stop());

const { run, ok, json, createJob } = commandsIn(() => one.folder);

describe('people', () => {
  const password = 'correct horse battery staple';

  test('a user signs in, is somebody, and signs out again', async () => {
    await ok(['namespaces', 'create', 'billing', '--description', 'Invoices']);
    await ok(['users', 'create', 'ada', '--grant', 'editor@billing'], { input: `${password}\n` });
    const wrong = await run(['login', '--url', one.server.address, '--name', 'ada'], {
      input: 'no such password\n',
    });
    expect(wrong.code).toBe(4);
    const signedIn = await ok(['login', '--url', one.server.address, '--name', 'ada'], {
      input: `${password}\n`,
    });
    expect(signedIn).toContain('as ada');
    const file = join(one.folder, '.config/carillon/contexts.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await ok(['whoami'])).toContain('editor@billing');
    const id = await createJob('invoice', '--http', alive, '--every', '1d', '--namespace', 'billing');
    expect(await ok(['jobs', 'list'])).toContain(id);
    expect((await run(['users', 'list'])).code).toBe(4);
    await ok(['logout']);
    expect(await ok(['whoami'])).toContain('admin');
  });

  test('people change their own password with the one they have', async () => {
    const next = 'a phrase that is quite new';
    await ok(['users', 'create', 'carol', '--grant', 'viewer'], { input: `${password}\n` });
    // A home of her own: her login is nobody else's.
    const env = { HOME: join(one.folder, 'carol') };
    const change = ['password', '--name', 'carol'];
    expect((await run(change, { env, input: `no such password\n${next}\n` })).code).toBe(4);
    expect((await run(change, { env, input: `${password}\nshort\n` })).stderr).toContain('12');
    expect(await ok(change, { env, input: `${password}\n${next}\n` })).toContain('password of carol');
    const login = ['login', '--url', one.server.address, '--name', 'carol'];
    expect((await run(login, { env, input: `${password}\n` })).code).toBe(4);
    await ok(login, { env, input: `${next}\n` });
    // Signed in, the name is known.
    await ok(['password'], { env, input: `${next}\n${password}\n` });
    expect(await ok(['whoami'], { env })).toMatch(/signed in as\s+carol/);
  });

  test('a key is shown once, works where it may, and not after it was revoked', async () => {
    const made = await json<{ key: string; key_id: string }>([
      'keys',
      'create',
      'reader',
      '--role',
      'viewer',
    ]);
    const env = { CARILLON_KEY: made.key, CARILLON_URL: one.server.address };
    const id = await createJob('readable', '--http', alive, '--every', '1d');
    expect(await ok(['jobs', 'list', '-n', '1'], { env })).toContain(id);
    const refused = await run(['jobs', 'create', 'no', '--http', alive], { env });
    expect(refused.code).toBe(4);
    const here = await json<{ key: string }>(['keys', 'create', 'here', '--namespace', 'default']);
    const insider = { CARILLON_KEY: here.key, CARILLON_URL: one.server.address };
    expect(await ok(['status'], { env: insider })).toMatch(/workers\s+not visible to you/);
    expect(await json(['status'], { env: insider })).toMatchObject({ workers: null, running: null });
    expect(await ok(['keys', 'list'])).toContain('reader');
    expect(await ok(['keys', 'list'])).not.toContain(made.key);
    expect(await ok(['audit', '--actor', 'nobody at all'])).toBe('');
    expect((await run(['audit', '--actor', 'nobody at all'])).stderr).toContain('No changes match.');
    await ok(['keys', 'revoke', made.key_id]);
    expect((await run(['jobs', 'list'], { env })).code).toBe(4);
  });

  test('what users may is added, replaced and taken away; disabled ones stay out', async () => {
    await ok(['users', 'create', 'bob', '--grant', 'viewer'], { input: `${password}\n` });
    expect(await ok(['users', 'grant', 'bob', 'editor@default'])).toContain('viewer editor@default');
    expect(await ok(['users', 'grant', 'bob', 'editor@default', '--revoke'])).toMatch(/may: viewer\n/);
    expect(await ok(['users', 'grant', 'bob', 'operator', '--replace'])).toMatch(/may: operator\n/);
    await ok(['users', 'disable', 'bob']);
    const login = ['login', '--url', one.server.address, '--name', 'bob'];
    expect((await run(login, { input: `${password}\n` })).code).toBe(4);
    await ok(['users', 'update', 'bob', '--enable', '--display-name', 'Bob B.']);
    expect(await ok(['users', 'list'])).toContain('Bob B.');
    expect(await ok(['audit', '--actor', 'admin key', '-n', '200'])).toContain('users.');
  });
});

/** Users, keys, namespaces and the audit log from the command line, against a real server. */
import { readFile, stat } from 'node:fs/promises';
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
    const without = await run(['users', 'create', 'carol', '--grant', 'viewer'], { input: '' });
    expect([without.code, without.stderr]).toEqual([
      2,
      expect.stringMatching(/A password is needed, .*\n.*first line of the standard input/),
    ]);
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
    await ok(['keys', 'revoke', made.key_id, '--yes']);
    expect((await run(['jobs', 'list'], { env })).code).toBe(4);
  });

  test('a key that says no namespace works in that of the context, else where its maker may', async () => {
    await ok(['namespaces', 'create', 'sales']);
    await ok(['users', 'create', 'flo', '--grant', 'editor@sales'], { input: `${password}\n` });
    const env = { HOME: join(one.folder, 'flo') };
    const at = ['--url', one.server.address, '--name', 'flo'];
    await ok(['login', ...at], { env, input: `${password}\n` });
    const made = async (...flags: string[]) =>
      (await json<{ grants: { namespace: string; role: string }[] }>(['keys', 'create', ...flags], { env }))
        .grants;
    const viewing = { namespace: 'sales', role: 'viewer' };
    expect(await made('plain')).toMatchObject([viewing]);
    expect(await made('more', '--role', 'editor')).toMatchObject([{ namespace: 'sales', role: 'editor' }]);
    const { stderr } = await run(['keys', 'create', 'told'], { env });
    expect(stderr).toContain('It may: viewer@sales');
    const { context } = await json<{ context: string }>(['context', 'show'], { env });
    await ok(['context', 'add', context, '--namespace', 'sales'], { env });
    expect(await made('there', '--role', 'editor')).toEqual([
      { namespace: 'sales', role: 'editor', own_only: false },
    ]);
    expect(await made('granted', '--grant', 'viewer@sales')).toMatchObject([viewing]);
  });

  test('a login keeps all grants, or those asked for, and ends the one before', async () => {
    await ok(['namespaces', 'create', 'ops']);
    await ok(['users', 'create', 'dora', '--grant', 'viewer@ops', '--grant', 'editor@ops:own'], {
      input: `${password}\n`,
    });
    const env = { HOME: join(one.folder, 'dora') };
    const login = async (...flags: string[]) => {
      const at = ['--url', one.server.address, '--name', 'dora'];
      await ok(['login', ...at, ...flags], { env, input: `${password}\n` });
      const file = join(env.HOME, '.config/carillon/contexts.json');
      const { current, contexts } = JSON.parse(await readFile(file, 'utf8'));
      return contexts[current] as { key: string; keyId: string };
    };
    const first = await login();
    expect(await ok(['whoami'], { env })).toMatch(/may\s+viewer@ops editor@ops:own/);
    const id = await json<{ job_id: string }>(
      ['jobs', 'create', 'hers', '--http', alive, '--every', '1d', '--namespace', 'ops'],
      { env },
    );
    expect(id.job_id).toBeDefined();
    await login('--role', 'viewer');
    expect((await run(['whoami', '--key', first.key, '--url', one.server.address], { env })).code).toBe(4);
    expect(await ok(['whoami'], { env })).toMatch(/may\s+viewer@ops\n/);
    const keys = await json<{ key_id: string }[]>(['keys', 'list', '--user', 'dora']);
    expect(keys).toHaveLength(1);
    expect(keys[0]!.key_id).not.toBe(first.keyId);
    const nowhere = await run(
      ['login', '--url', one.server.address, '--name', 'dora', '--namespace', 'default'],
      {
        env,
        input: `${password}\n`,
      },
    );
    expect(nowhere.stderr).toContain('dora may do nothing in default.');
    expect(await ok(['whoami'], { env })).toContain('dora');
    await ok(['logout'], { env });
    expect(await json(['keys', 'list', '--user', 'dora'])).toEqual([]);
  });

  test('whoever is signed in makes, renames, rotates and revokes keys of their own', async () => {
    await ok(['users', 'create', 'emil', '--grant', 'viewer@default'], { input: `${password}\n` });
    const env = { HOME: join(one.folder, 'emil') };
    await ok(['login', '--url', one.server.address, '--name', 'emil'], { env, input: `${password}\n` });
    const made = await json<{ key: string; user_name: string; expires_at: string | null }>(
      ['keys', 'create', 'script', '--namespace', 'default'],
      { env },
    );
    // Without a terminal nobody is asked for the password: it ends with the login.
    expect(made).toMatchObject({ user_name: 'emil', expires_at: expect.stringMatching(/Z$/) });
    const use = (key: string) => run(['jobs', 'list', '--url', one.server.address, '--key', key], { env });
    expect((await use(made.key)).code).toBe(0);
    const refused = await run(['keys', 'create', 'more', '--role', 'editor', '--namespace', 'default'], {
      env,
    });
    expect(refused.code).toBe(4);
    expect(await ok(['keys', 'rename', 'script', 'night script'], { env })).toContain('night script');
    const rotated = await json<{ key: string }>(['keys', 'rotate', 'night script', '--overlap', '1h'], {
      env,
    });
    for (const { key } of [made, rotated]) expect((await use(key)).code).toBe(0);
    const last = await json<{ key: string }>(['keys', 'rotate', 'night script', '--overlap', '0', '--yes'], {
      env,
    });
    expect((await use(rotated.key)).code).toBe(4);
    expect(await ok(['keys', 'list'], { env })).toMatch(/night script\s+emil/);
    await ok(['keys', 'revoke', 'night script', '--yes'], { env });
    expect((await use(last.key)).code).toBe(4);
  });

  test('who did it is the person, also after they signed out', async () => {
    await ok(['users', 'create', 'finn', '--grant', 'editor@default'], { input: `${password}\n` });
    const env = { HOME: join(one.folder, 'finn') };
    await ok(['login', '--url', one.server.address, '--name', 'finn'], { env, input: `${password}\n` });
    const { job_id: id } = await json<{ job_id: string }>(
      ['jobs', 'create', 'his', '--http', alive, '--every', '1d', '--namespace', 'default'],
      { env },
    );
    await ok(['logout'], { env });
    const entries = await json<{ action: string; subject: { id: string }; actor: { name: string } }[]>([
      'audit',
      '--actor',
      'finn',
    ]);
    expect(entries.find(({ action }) => action === 'jobs.create')).toMatchObject({
      subject: { id },
      actor: {
        kind: 'user',
        name: 'finn',
        via: { kind: 'key', name: expect.stringContaining('carillon login') },
      },
    });
    expect(await ok(['audit', '--actor', 'finn'])).toMatch(/finn\s+carillon login on .*jobs\.create/);
  });

  test('sessions are listed and ended, and users removed, by name', async () => {
    await ok(['users', 'create', 'gina', '--grant', 'viewer@default'], { input: `${password}\n` });
    const answer = await fetch(`${one.server.address}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'a browser' },
      body: JSON.stringify({ name: 'gina', password }),
    });
    expect(answer.status).toBe(201);
    const cookie = answer.headers.getSetCookie()[0]!.split(';', 1)[0]!;
    const listed = await json<{ session_id: string; user_name: string; user_agent: string }[]>([
      ...['sessions', 'list', '--user', 'gina'],
    ]);
    expect(listed).toMatchObject([{ user_name: 'gina', user_agent: 'a browser' }]);
    expect(await ok(['sessions', 'list', '--all'])).toMatch(/gina.*a browser/);
    const opened = await fetch(`${one.server.address}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'a browser of nobody' },
      body: JSON.stringify({ key: await one.server.adminKey() }),
    });
    expect(opened.status).toBe(201);
    expect(await ok(['sessions', 'list', '--all'])).toMatch(/admin key .*a browser of nobody/);
    // Far enough to tell it from others that began in the same minute.
    await ok(['sessions', 'end', listed[0]!.session_id.slice(0, 30), '--yes']);
    const gone = await run(['sessions', 'end', listed[0]!.session_id.slice(0, 30), '--yes']);
    expect(gone).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('There is no session with the beginning'),
    });
    const after = await fetch(`${one.server.address}/api/session`, { headers: { cookie } });
    expect(after.status).toBe(401);
    expect((await run(['users', 'delete', 'gina'])).code).toBe(2);
    expect(await ok(['users', 'delete', 'gina', '--yes'])).toContain('Removed gina');
    expect((await run(['users', 'delete', 'gina', '--yes'])).stderr).toContain('There is no user gina.');
  });

  test('the last administrator is not removed', async () => {
    await ok(['users', 'create', 'root', '--grant', 'admin'], { input: `${password}\n` });
    const refused = await run(['users', 'delete', 'root', '--yes']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('root is the last administrator');
    expect(refused.stderr).toContain('carillon users grant');
    expect((await run(['users', 'grant', 'root', 'viewer', '--replace'])).stderr).toContain(
      'last administrator',
    );
  });

  test('an administrator who has signed in shows their password to add, promote, enable, take over or remove a user', async () => {
    await ok(['users', 'create', 'ines', '--grant', 'admin'], { input: `${password}\n` });
    const env = { HOME: join(one.folder, 'ines') };
    await ok(['login', '--url', one.server.address, '--name', 'ines'], { env, input: `${password}\n` });
    const create = ['users', 'create', 'jo', '--grant', 'viewer'];
    const refused = await run(create, { env, input: 'a phrase of jo\n' });
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('your password');
    // Without a terminal, the password of the caller is the line after that of the user.
    await ok(create, { env, input: `a phrase of jo\n${password}\n` });
    const grant = ['users', 'grant', 'jo', 'editor@default'];
    expect((await run(grant, { env, input: '' })).code).toBe(4);
    expect(await ok(grant, { env, input: `${password}\n` })).toContain('editor@default');
    const update = ['users', 'update', 'jo', '--enable', '--password'];
    await ok(['users', 'disable', 'jo'], { env });
    expect((await run(update, { env, input: 'another phrase of jo\n' })).code).toBe(4);
    await ok(update, { env, input: `another phrase of jo\n${password}\n` });
    const login = ['login', '--url', one.server.address, '--name', 'jo'];
    await ok(login, { env: { HOME: join(one.folder, 'jo') }, input: 'another phrase of jo\n' });
    const remove = ['users', 'delete', 'jo', '--yes'];
    expect((await run(remove, { env, input: '' })).code).toBe(4);
    expect(await ok(remove, { env, input: `${password}\n` })).toContain('Removed jo');
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

/** Servers by name: what a context says is what the commands use. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { commandsIn } from './commands-in.ts';
import { type OneServer, startOneServer } from './one-server.ts';

/** Some of them wait for runs. */
const MANY_COMMANDS = { timeout: 600_000 };

let one: OneServer;
let home = '';
const { run, ok, json } = commandsIn(() => home);

beforeAll(async () => {
  one = await startOneServer();
  home = await mkdtemp(join(tmpdir(), 'carillon-contexts-'));
  const env = { CARILLON_KEY: await one.server.adminKey() };
  await ok(['context', 'add', 'here', '--url', one.server.address], { env });
});

afterAll(async () => {
  await one?.stop();
  await rm(home, { recursive: true, force: true });
});

test(
  'a context is added, shown, used and removed, and its file is the owner’s alone',
  MANY_COMMANDS,
  async () => {
    expect((await stat(join(home, '.config/carillon/contexts.json'))).mode & 0o777).toBe(0o600);
    expect(await ok(['status'])).toMatch(/found through\s+the context here/);
    expect(await json(['status'])).toMatchObject({
      url: one.server.address,
      context: 'here',
      namespace: null,
    });
    await ok(['context', 'add', 'there', '--url', 'https://carillon.example.org', '--namespace', 'ops']);
    expect(await json(['context', 'list'])).toMatchObject([
      { context: 'here', current: true, has_key: true },
      { context: 'there', current: false, has_key: false, namespace: 'ops' },
    ]);
    expect(await ok(['context', 'show', 'there'])).toMatch(/server\s+https:\/\/carillon\.example\.org/);
    expect(await ok(['context', 'list'])).not.toContain('ck_');
    await ok(['context', 'use', 'there']);
    expect(await json(['context', 'show'])).toMatchObject({ context: 'there', current: true });
    expect(await json(['status', '--context', 'here'])).toMatchObject({ ready: true });
    expect((await run(['status'], { env: { CARILLON_CONTEXT: 'nope' } })).stderr).toContain(
      'no context nope',
    );
    expect((await run(['context', 'remove', 'there'])).code).toBe(2);
    await ok(['context', 'remove', 'there', '--yes']);
    expect((await run(['context', 'use', 'there'])).stderr).toContain('carillon context list');
    await ok(['context', 'use', 'here']);
  },
);

test('another address forgets the key that was kept for the first', async () => {
  await ok(['context', 'add', 'moved', '--url', one.server.address, '--key', 'ck_kept']);
  await ok(['context', 'add', 'moved', '--namespace', 'ops']);
  expect(await json(['context', 'show', 'moved'])).toMatchObject({ has_key: true, namespace: 'ops' });
  await ok(['context', 'add', 'moved', '--url', 'http://127.0.0.1:1']);
  expect(await json(['context', 'show', 'moved'])).toMatchObject({ has_key: false, namespace: 'ops' });
});

test(
  'its namespace is that of commands which list or create, unless they say otherwise',
  MANY_COMMANDS,
  async () => {
    await ok(['namespaces', 'create', 'billing']);
    const make = async (name: string, ...more: string[]) =>
      json<{ job_id: string }>([
        'jobs',
        'create',
        name,
        '--every',
        '1d',
        '--http',
        one.server.address,
        ...more,
      ]);
    await make('outside');
    await ok(['context', 'add', 'here', '--namespace', 'billing']);
    const { job_id } = await make('inside');
    await make('named', '--namespace', 'default');
    expect(await json(['jobs', 'show', job_id])).toMatchObject({ namespace: 'billing' });
    const payload = { url: one.server.address };
    const input = JSON.stringify([
      { name: 'filed', interval: '1d', payload },
      { name: 'placed', interval: '1d', payload, namespace: 'default' },
    ]);
    await ok(['jobs', 'create', '--file', '-'], { input });
    const names = async (...more: string[]) =>
      (await json<{ name: string }[]>(['jobs', 'list', ...more])).map(({ name }) => name).sort();
    expect(await names()).toEqual(['filed', 'inside']);
    expect(await names('--all-namespaces')).toEqual(['filed', 'inside', 'named', 'outside', 'placed']);
    expect(await names('--namespace', 'default')).toEqual(['named', 'outside', 'placed']);
    expect(await json(['status'])).toMatchObject({ context: 'here', namespace: 'billing' });
    const none = await run(['jobs', 'list', '--status', 'failed']);
    expect(none.stderr).toContain('--all-namespaces');
    await ok(['context', 'add', 'here', '--namespace', '']);
    expect(await names()).toHaveLength(5);
  },
);

test('a server that cannot be reached is told with what named it', async () => {
  await ok(['context', 'add', 'gone', '--url', 'http://127.0.0.1:1']);
  const { code, stderr } = await run(['jobs', 'list', '--context', 'gone']);
  expect(code).toBe(5);
  expect(stderr).toContain('The address comes from the context gone.');
});

test('a redirect takes the key nowhere', async () => {
  const asked: (string | undefined)[] = [];
  const listen = async (server: Server): Promise<number> => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  };
  const elsewhere = await listen(
    createServer((request, response) => {
      asked.push(request.headers.authorization);
      response.end('[]');
    }),
  );
  const location = `http://127.0.0.1:${elsewhere}/`;
  const port = await listen(createServer((_, response) => void response.writeHead(307, { location }).end()));
  const { code, stderr } = await run(['jobs', 'list', '--url', `http://127.0.0.1:${port}`, '--key', 'ck_1']);
  expect(code).toBe(5);
  expect(stderr).toContain('sends callers on to another address');
  expect(asked).toEqual([]);
});

test('the address is shown before a password is asked for', async () => {
  const { stderr } = await run(['login', '--name', 'ada'], { input: 'a wrong password\n' });
  expect(stderr).toMatch(new RegExp(`^Server: ${one.server.address}\n`));
});

test('what is in a folder decides over no key and no password of others', async () => {
  const env = { CARILLON_KEY: 'ck_secret', XDG_CONFIG_HOME: join(home, 'none') };
  const here = { cwd: one.folder, env };
  const listed = await run(['jobs', 'list'], here);
  expect(listed).toMatchObject({ code: 0, stderr: expect.stringContaining('CARILLON_KEY is not used') });
  const login = await run(['login'], here);
  expect(login).toMatchObject({ code: 2, stderr: expect.stringContaining('Which server is the key for?') });
});

test('a folder that --data names is meant, whatever context is stored for its address', async () => {
  const url = one.server.address;
  const env = { XDG_CONFIG_HOME: join(home, 'keyless') };
  await ok(['context', 'add', 'local', '--url', url], { env });
  const named = ['--data', join(one.folder, '.carillon'), '--url', url];
  await ok(['jobs', 'list', ...named], { env });
  await ok(['context', 'add', 'local', '--key', 'ck_of_somebody'], { env });
  const who = await json<{ kind: string; key_from: string }>(['whoami', ...named], { env });
  expect(who.key_from).toBe(`the folder ${named[1]}`);
  expect(await ok(['whoami', ...named], { env })).toMatch(/key from\s+the folder /);
  const none = await run(['whoami', '--data', join(home, 'nowhere'), '--url', url], { env });
  expect(none).toMatchObject({ code: 4, stderr: expect.stringContaining('no server runs in') });
});

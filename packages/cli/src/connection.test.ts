import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findConnection, loginFile, readLogin, removeLogin, writeLogin } from './connection.ts';

let folder = '';
let env: Record<string, string> = {};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-cli-'));
  env = { XDG_CONFIG_HOME: join(folder, 'config') };
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const find = (flags = {}) => findConnection({ flags, env, cwd: folder });
const login = () => writeLogin(env, { url: 'http://login:1', key: 'ck_login' });

async function local(): Promise<void> {
  await mkdir(join(folder, '.carillon'));
  await writeFile(join(folder, '.carillon/server.lock'), '{"pid": 1, "address": "http://0.0.0.0:7420"}');
  await writeFile(join(folder, '.carillon/admin.key'), 'ck_admin\n');
}

test('flags win over the environment, the environment over the login, the login over the folder', async () => {
  await local();
  expect(await find()).toMatchObject({ url: 'http://127.0.0.1:7420', key: 'ck_admin' });
  await login();
  expect(await find()).toMatchObject({ url: 'http://login:1', key: 'ck_login' });
  env = { ...env, CARILLON_URL: 'http://env:1', CARILLON_KEY: 'ck_env' };
  expect(await find()).toMatchObject({ url: 'http://env:1', key: 'ck_env' });
  expect(await find({ url: 'http://flag:1', key: 'ck_flag' })).toMatchObject({
    url: 'http://flag:1',
    key: 'ck_flag',
  });
});

test('a key that was found is not sent to another address', async () => {
  await local();
  await login();
  expect(await find({ url: 'http://other:1' })).toMatchObject({ key: undefined });
  expect(await find({ url: 'http://login:1/' })).toMatchObject({ key: 'ck_login' });
  expect(await find({ url: 'http://127.0.0.1:7420' })).toMatchObject({ key: 'ck_admin' });
});

test('a folder that is named is meant, whoever is signed in', async () => {
  await local();
  await login();
  expect(await find({ data: '.carillon' })).toMatchObject({ key: 'ck_admin' });
});

test('without any server it says how to get one', async () => {
  await expect(find()).rejects.toMatchObject({
    code: 'no_server',
    fix: expect.stringContaining('carillon start'),
  });
});

test('a login is readable by its owner alone, and gone after logout', async () => {
  await login();
  expect((await stat(loginFile(env))).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, 'config/carillon'))).mode & 0o777).toBe(0o700);
  await removeLogin(env);
  expect(await readLogin(env)).toBeUndefined();
});

test('a damaged login is told, not taken for none', async () => {
  await login();
  await writeFile(loginFile(env), '{');
  await expect(find()).rejects.toThrow(/holds no login/);
});

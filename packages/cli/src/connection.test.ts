import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { birthRecord } from '@carillon/foundation';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findConnection, loginFile, readLogin, removeLogin, writeLogin } from './connection.ts';
import { readContexts, writeContexts } from './contexts.ts';
import { findLocalServer } from './local-server.ts';

let folder = '';
let env: Record<string, string> = {};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-cli-'));
  env = { XDG_CONFIG_HOME: join(folder, 'config') };
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const find = (flags = {}) => findConnection({ flags, env, cwd: folder });
const login = () => writeLogin(env, { url: 'http://login:1', key: 'ck_login' });

async function local(address = 'http://0.0.0.0:7420'): Promise<void> {
  await mkdir(join(folder, '.carillon'));
  await writeFile(join(folder, '.carillon/server.lock'), JSON.stringify({ pid: 1, address }));
  await writeFile(join(folder, '.carillon/admin.key'), 'ck_admin\n', { mode: 0o600 });
  await recordMadeHere(join(folder, '.carillon'));
}

/** As the first start of a server does. */
async function recordMadeHere(path: string): Promise<void> {
  await writeFile(join(path, 'made-here'), birthRecord(await stat(path, { bigint: true })), { mode: 0o600 });
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
  const named = { url: 'http://127.0.0.1:7420', data: '.carillon' };
  expect(await find(named)).toMatchObject({ key: 'ck_admin' });
  expect(await find({ ...named, url: 'http://127.0.0.1:7421' })).toMatchObject({ key: undefined });
});

test('an address that was named gets the key of a folder only when the folder was named too', async () => {
  await local();
  const url = 'http://127.0.0.1:7420';
  expect(await find({ url })).toMatchObject({ key: undefined });
  env = { ...env, CARILLON_URL: url };
  expect(await find()).toMatchObject({ url, key: undefined });
  env = { ...env, CARILLON_DATA: '.carillon' };
  expect(await find()).toMatchObject({ url, key: 'ck_admin' });
  expect(await find({ url })).toMatchObject({ key: 'ck_admin' });
});

test('a folder that is named is meant, whoever is signed in', async () => {
  await local();
  await login();
  expect(await find({ data: '.carillon' })).toMatchObject({ key: 'ck_admin' });
});

describe('a folder that --data names wins over what is stored for its address', () => {
  const url = 'http://127.0.0.1:7420';
  const store = (key?: string) =>
    writeContexts(env, { current: 'here', all: { here: { url, ...(key !== undefined && { key }) } } });

  test.each([undefined, 'ck_ada'])('whether the context has a key or not (%s)', async (key) => {
    await local(url);
    await store(key);
    const found = await find({ url, data: '.carillon' });
    expect(found).toMatchObject({ url, key: 'ck_admin', keyFrom: 'the folder .carillon' });
    expect(found.keyFolder).toMatchObject({ announced: url });
  });

  test('and over the key of the environment, which goes where --data does not lead', async () => {
    await local(url);
    await store('ck_ada');
    env = { ...env, CARILLON_KEY: 'ck_env' };
    expect(await find({ url, data: '.carillon' })).toMatchObject({ key: 'ck_admin' });
    expect(await find({ url, data: '.carillon', key: 'ck_flag' })).toMatchObject({
      key: 'ck_flag',
      keyFrom: '--key',
    });
    expect(await find({ url })).toMatchObject({ key: 'ck_env', keyFrom: 'CARILLON_KEY' });
    const elsewhere = { url: 'http://127.0.0.1:7421', data: '.carillon' };
    expect(await find(elsewhere)).toMatchObject({ key: 'ck_env' });
  });

  test('and is told of where its key is of no use', async () => {
    await local(url);
    await store('ck_ada');
    const fromOf = async (flags: object) => (await find({ url, ...flags })).from;
    expect(await fromOf({ data: '.carillon', url: 'http://127.0.0.1:1' })).toBe(
      '--url (the folder .carillon is that of http://127.0.0.1:7420)',
    );
    expect(await fromOf({ data: 'nowhere' })).toBe('--url (no server runs in nowhere)');
    await rm(join(folder, '.carillon/admin.key'));
    expect(await fromOf({ data: '.carillon' })).toBe('--url (you may not read the key in .carillon)');
  });

  test('also where its server listens for other machines', async () => {
    const address = 'http://10.77.0.1:7420';
    await local(address);
    await writeContexts(env, { all: { far: { url: address, key: 'ck_ada' } }, current: 'far' });
    expect(await find({ url: address, data: '.carillon' })).toMatchObject({ key: 'ck_admin' });
  });

  test('a folder of the environment gives its key where the context has none, as contexts come first', async () => {
    await local(url);
    await store();
    env = { ...env, CARILLON_DATA: '.carillon' };
    expect(await find({ url })).toMatchObject({ key: 'ck_admin' });
    await store('ck_ada');
    expect(await find({ url })).toMatchObject({ key: 'ck_ada', keyFrom: 'the context here' });
  });

  test('a folder that was only found gives no key to an address that was named', async () => {
    await local(url);
    await store();
    expect(await find({ url })).toMatchObject({ key: undefined });
  });
});

test('without any server it says how to get one', async () => {
  await expect(find()).rejects.toMatchObject({
    code: 'no_server',
    fix: expect.stringMatching(/`carillon start` \(in a clone: `npm start`\)/),
  });
});

describe('a folder of the current directory may be planted', () => {
  test.each(['http://evil.example:7420', 'http://127.0.0.1.evil.example', 'http://127.0.0.1@evil.example'])(
    'its address %s is not used, for it is not on this machine',
    async (address) => {
      await local(address);
      const refused = { message: expect.stringContaining('nothing is sent there') };
      await expect(find()).rejects.toMatchObject(refused);
      await expect(find({ data: '.carillon' })).rejects.toMatchObject(refused);
    },
  );

  test.each([
    'http://127.0.0.1:1',
    'http://127.8.0.1:1',
    'https://[::1]:1',
    'http://localhost:1',
    'http://[::]:1',
  ])('its address %s is on this machine', async (address) => {
    await local(address);
    expect(await find()).toMatchObject({ key: 'ck_admin' });
  });

  test('an address that was named may be elsewhere, and gets the key that the folder has for it', async () => {
    await local('http://10.0.0.5:7420');
    const fix = '--url http://10.0.0.5:7420 --data .carillon';
    await expect(find()).rejects.toMatchObject({ fix: expect.stringContaining(fix) });
    const named = { url: 'http://10.0.0.5:7420', data: '.carillon' };
    expect(await find(named)).toMatchObject({ key: 'ck_admin' });
  });

  test('the key of the environment is never sent to its address, nor is that of a flag', async () => {
    await local();
    env = { ...env, CARILLON_KEY: 'ck_env' };
    expect(await find()).toMatchObject({ url: 'http://127.0.0.1:7420', key: 'ck_admin', isOfFolder: true });
    expect(await find({ data: '.carillon' })).toMatchObject({ key: 'ck_admin' });
    await expect(find({ key: 'ck_flag' })).rejects.toThrow(/--key is not sent/);
    await rm(join(folder, '.carillon/admin.key'));
    expect(await find()).toMatchObject({ key: undefined });
  });

  test.each(['server.lock', 'admin.key'])('a link named %s is refused', async (name) => {
    await local();
    const file = join(folder, '.carillon', name);
    await rename(file, join(folder, 'elsewhere'));
    await symlink(join(folder, 'elsewhere'), file);
    await expect(find()).rejects.toThrow(/is a link/);
    await expect(find({ data: '.carillon' })).rejects.toThrow(/is a link/);
  });

  test('a link in place of the folder is refused, unless the folder was named', async () => {
    await local();
    await rename(join(folder, '.carillon'), join(folder, 'real'));
    await symlink(join(folder, 'real'), join(folder, '.carillon'));
    await expect(find()).rejects.toThrow(/is a link/);
    expect(await find({ data: '.carillon' })).toMatchObject({ key: 'ck_admin' });
  });

  test.each(['644', '640', '620', '602'])(
    'a key of mode %s, as a cloned repository has it, is refused with the command that corrects it',
    async (mode) => {
      await local();
      const file = join(folder, '.carillon/admin.key');
      await chmod(file, Number.parseInt(mode, 8));
      const refused = {
        message: expect.stringContaining(`${file} can be read or changed by others`),
        fix: expect.stringContaining(`chmod 600 ${file}`),
      };
      await expect(find()).rejects.toMatchObject(refused);
      await expect(find({ data: '.carillon' })).rejects.toMatchObject(refused);
      const named = { url: 'http://127.0.0.1:7420', data: '.carillon' };
      await expect(find(named)).rejects.toMatchObject(refused);
      await chmod(file, 0o600);
      expect(await find()).toMatchObject({ key: 'ck_admin' });
    },
  );

  test.each([
    ['a copy of one', 'with the record of where that was made'],
    ['one from elsewhere', 'without a record'],
  ])('%s, %s, counts only when it is named or trusted, whatever its modes', async (_, record) => {
    await local();
    const made = join(folder, '.carillon');
    await rename(made, join(folder, 'original'));
    await cp(join(folder, 'original'), made, { recursive: true, preserveTimestamps: true });
    if (record === 'without a record') await rm(join(made, 'made-here'));
    await expect(find()).rejects.toMatchObject({
      message: expect.stringMatching(/The folder \.carillon was not made by a server in this place/),
      fix: expect.stringMatching(/--data \.carillon .*--trust-folder/),
    });
    expect(await find({ data: '.carillon' })).toMatchObject({ key: 'ck_admin' });
    env = { ...env, CARILLON_DATA: '.carillon' };
    expect(await find()).toMatchObject({ key: 'ck_admin' });
    delete env.CARILLON_DATA;
    await recordMadeHere(made);
    expect(await find()).toMatchObject({ key: 'ck_admin' });
  });

  test('a folder from elsewhere that names no server is none', async () => {
    await local();
    await rm(join(folder, '.carillon/made-here'));
    await rm(join(folder, '.carillon/server.lock'));
    await expect(find()).rejects.toThrow('none runs in .carillon');
  });

  test('a folder that everybody can write to is refused', async () => {
    await local();
    await chmod(join(folder, '.carillon'), 0o757);
    await expect(find()).rejects.toMatchObject({
      message: expect.stringContaining('.carillon can be written to by everybody'),
      fix: expect.stringContaining(`chmod o-w ${join(folder, '.carillon')}`),
    });
  });

  test('a folder of another user is refused', async () => {
    await local();
    const of = (uid: number, isNamed = false) =>
      findLocalServer({ path: '.carillon', cwd: folder, isNamed, uid });
    const { uid: owner } = await stat(folder);
    expect(await of(owner)).toMatchObject({ key: 'ck_admin' });
    if (owner !== 0) {
      await expect(of(owner + 1)).rejects.toThrow(/belongs to another user/);
      await expect(of(owner + 1, true)).rejects.toThrow(/belongs to another user/);
      await expect(of(0)).rejects.toThrow(/belongs to another user/);
      expect(await of(0, true)).toMatchObject({ key: 'ck_admin' });
    }
  });

  test.skipIf(process.geteuid?.() !== 0)(
    'root uses the folder of another user only when it is named',
    async () => {
      await local();
      for (const name of ['', 'server.lock', 'admin.key', 'made-here'])
        await chown(join(folder, '.carillon', name), 12_345, 12_345);
      await expect(find()).rejects.toThrow(/belongs to another user/);
      expect(await find({ data: '.carillon' })).toMatchObject({ key: 'ck_admin' });
      await chown(join(folder, '.carillon'), 0, 0);
      await expect(find()).rejects.toThrow(/server\.lock belongs to another user/);
    },
  );
});

describe('contexts', () => {
  const prod = { url: 'https://prod.example', key: 'ck_prod', namespace: 'billing', added: true };

  test('the current one is used, another one where it is named', async () => {
    await local();
    const stage = { url: 'https://stage.example', key: 'ck_stage' };
    await writeContexts(env, { current: 'prod', all: { prod, stage } });
    const { added: _, ...used } = prod;
    expect(await find()).toMatchObject({ ...used, context: 'prod', from: 'the context prod' });
    expect(await find({ context: 'stage' })).toMatchObject({ ...stage, namespace: undefined });
    env = { ...env, CARILLON_CONTEXT: 'stage' };
    expect(await find()).toMatchObject(stage);
    expect(await find({ context: 'prod' })).toMatchObject(used);
    expect(await find({ data: '.carillon' })).toMatchObject({ key: 'ck_admin' });
    await expect(find({ context: 'nope' })).rejects.toThrow(/There is no context nope/);
    await expect(find({ context: 'prod', url: 'http://x' })).rejects.toThrow(/--url and --context both/);
  });

  test('a key of the environment may be used with a context', async () => {
    await writeContexts(env, { current: 'prod', all: { prod } });
    env = { ...env, CARILLON_KEY: 'ck_env' };
    expect(await find()).toMatchObject({ url: prod.url, key: 'ck_env' });
  });

  test('a context whose name is that of a property of every object is none', async () => {
    await expect(find({ context: 'constructor' })).rejects.toThrow(/There is no context constructor/);
  });

  test('the login from before there were contexts goes on working, and becomes one', async () => {
    const former = join(folder, 'config/carillon/login.json');
    await mkdir(join(folder, 'config/carillon'), { recursive: true });
    await writeFile(former, JSON.stringify({ url: 'http://old:1', key: 'ck_old', keyId: 'k', name: 'ada' }));
    expect(await find()).toMatchObject({ url: 'http://old:1', key: 'ck_old', context: 'old-1' });
    expect(await readLogin(env)).toEqual({ url: 'http://old:1', key: 'ck_old', keyId: 'k', name: 'ada' });
    await writeLogin(env, { url: 'http://old:1', key: 'ck_new' });
    await expect(readFile(former)).rejects.toThrow(/ENOENT/);
    expect(await readContexts(env)).toEqual({
      current: 'old-1',
      all: { 'old-1': { url: 'http://old:1', key: 'ck_new' } },
    });
  });

  test('a login at the address of a context is kept in it, and logout leaves what was added', async () => {
    const { key: _, ...keyless } = prod;
    await writeContexts(env, { current: 'prod', all: { prod: keyless } });
    expect(await readLogin(env)).toBeUndefined();
    await writeLogin(env, { url: 'https://prod.example', key: 'ck_1' });
    expect(await find()).toMatchObject({ key: 'ck_1', namespace: 'billing', context: 'prod' });
    await removeLogin(env);
    expect(await readContexts(env)).toEqual({ current: 'prod', all: { prod: keyless } });
  });

  test('a login elsewhere makes a context of its own, and takes no other one over', async () => {
    await writeContexts(env, { current: 'prod', all: { prod } });
    await writeLogin(env, { url: 'http://127.0.0.1:7420', key: 'ck_1' });
    expect(await find()).toMatchObject({ context: '127.0.0.1-7420', key: 'ck_1' });
    expect(await find({ context: 'prod' })).toMatchObject({ key: 'ck_prod' });
    await removeLogin(env);
    expect(await readContexts(env)).toEqual({ all: { prod } });
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

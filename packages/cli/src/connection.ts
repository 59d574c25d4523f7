/**
 * Which server a command talks to, and with which key: flags, then the environment, then the stored login, then the server
 * of the local data folder. A key that was found is only sent to the address it was found with.
 */
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { CarillonError } from '@carillon/client';
import { UsageError } from './errors.ts';
import type { GlobalOptions } from './flags.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface Connection {
  readonly url: string;
  readonly key: string | undefined;
  /** In words, for `status` and messages. */
  readonly from: string;
}

const DATA_FOLDER = '.carillon';

export async function findConnection(sources: {
  flags: GlobalOptions;
  env: Env;
  cwd: string;
}): Promise<Connection> {
  const { flags, env, cwd } = sources;
  const key = flags.key ?? (env.CARILLON_KEY || undefined);
  const named = flags.url ?? (env.CARILLON_URL || undefined);
  const folder = flags.data ?? (env.CARILLON_DATA || DATA_FOLDER);
  if (named !== undefined) {
    const from = flags.url === undefined ? 'CARILLON_URL' : '--url';
    return { url: named, key: key ?? (await keyFor(named, { env, folder, cwd })), from };
  }
  // A folder that was named wins over the stored login.
  const login = flags.data === undefined ? await readLogin(env) : undefined;
  if (login) return { url: login.url, key: key ?? login.key, from: 'the stored login' };
  const local = await findLocalServer(folder, cwd);
  if (local) return { url: local.url, key: key ?? local.key, from: `the folder ${folder}` };
  throw new CarillonError({
    code: 'no_server',
    message: `There is no server to talk to: no login is stored, and none runs in ${folder}.`,
    fix: 'Start one with `carillon start`, name its folder with --data (or CARILLON_DATA) or its address with --url (or CARILLON_URL), or sign in with `carillon login`.',
  });
}

async function keyFor(
  url: string,
  { env, folder, cwd }: { env: Env; folder: string; cwd: string },
): Promise<string | undefined> {
  const login = await readLogin(env);
  if (login && sameServer(login.url, url)) return login.key;
  const local = await findLocalServer(folder, cwd);
  return local && sameServer(local.url, url) ? local.key : undefined;
}

function sameServer(a: string, b: string): boolean {
  const [one, other] = [a, b].map((url) => URL.parse(url)?.href.replace(/\/+$/, ''));
  return one !== undefined && one === other;
}

/** The server that runs in a data folder on this machine. The key is undefined when this user may not read it. */
async function findLocalServer(
  folder: string,
  cwd: string,
): Promise<{ url: string; key: string | undefined } | undefined> {
  const read = (file: string) => readUnless(['ENOENT', 'EACCES', 'ENOTDIR'], resolve(cwd, folder, file));
  const lock = await read('server.lock');
  const url = lock === undefined ? undefined : addressIn(lock);
  return url === undefined ? undefined : { url, key: (await read('admin.key'))?.trim() };
}

/** The lock of a killed server stays behind: the first request finds out that nobody answers there. */
function addressIn(lock: string): string | undefined {
  try {
    const { address } = JSON.parse(lock) as { address?: string };
    // Listening on all addresses is not an address to call.
    return address?.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//127.0.0.1');
  } catch {
    // The server is writing it at this moment: treated as absent.
    return undefined;
  }
}

/** The login that is kept between commands, in a file that only its owner can read. */
export interface StoredLogin {
  readonly url: string;
  readonly key: string;
  /** Set when `login` made the key itself: `logout` then revokes it. */
  readonly keyId?: string;
  /** Who it is, for people. */
  readonly name?: string;
}

export function loginFile(env: Env): string {
  const home = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(home, 'carillon', 'login.json');
}

export async function readLogin(env: Env): Promise<StoredLogin | undefined> {
  const path = loginFile(env);
  const text = await readUnless(['ENOENT'], path);
  if (text === undefined) return undefined;
  try {
    const login = JSON.parse(text) as StoredLogin;
    if (typeof login.url === 'string' && typeof login.key === 'string') return login;
  } catch {
    // Not JSON: reported below, like any other file that holds no login.
  }
  throw new UsageError(`${path} holds no login.`, 'Remove it and sign in again with `carillon login`.');
}

/** Written to another file and renamed: readers never see half a login, and others cannot read it at any moment. */
export async function writeLogin(env: Env, login: StoredLogin): Promise<string> {
  const path = loginFile(env);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const scratch = `${path}.${process.pid}`;
  await writeFile(scratch, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 });
  await chmod(scratch, 0o600);
  await rename(scratch, path);
  return path;
}

export async function removeLogin(env: Env): Promise<void> {
  await rm(loginFile(env), { force: true });
}

/** Undefined when the file cannot be read for one of these reasons. */
async function readUnless(codes: readonly string[], path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (codes.includes(error.code ?? '')) return undefined;
    throw error;
  });
}

/** The login that is kept between commands: an address and a key, in a file only its owner can read. */
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { UsageError } from '../program/usage-error.ts';

export interface StoredLogin {
  readonly url: string;
  readonly key: string;
  /** Set when `login` made the key itself: `logout` then revokes it. */
  readonly keyId?: string;
  /** Who it is, for people. */
  readonly name?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

export function loginFile(env: Env): string {
  const home = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(home, 'carillon', 'login.json');
}

export async function readLogin(env: Env): Promise<StoredLogin | undefined> {
  const path = loginFile(env);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const login = JSON.parse(text) as StoredLogin;
    if (typeof login.url === 'string' && typeof login.key === 'string') return login;
  } catch {
    // Not JSON: told below, like any other file that holds no login.
  }
  throw new UsageError(`${path} holds no login.`, 'Remove it and sign in again with `carillon login`.');
}

/** Written aside and renamed: a login is whole or not there, and never readable by others, not for a moment. */
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

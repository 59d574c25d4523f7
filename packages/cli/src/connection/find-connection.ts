/**
 * Which server a command talks to, and as whom: flags, then the environment, then the stored login, then the server of the
 * local data folder. A key that was found is only ever sent to the address it was found with.
 */
import { CarillonError } from '@carillon/client';
import type { GlobalOptions } from '../cli.ts';
import { findLocalServer } from './local-server.ts';
import { readLogin } from './stored-login.ts';

export interface Connection {
  readonly url: string;
  readonly key: string | undefined;
  /** In words, for `status` and messages. */
  readonly from: string;
}

export interface ConnectionSources {
  readonly flags: GlobalOptions;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

const DATA_FOLDER = '.carillon';

export async function findConnection({ flags, env, cwd }: ConnectionSources): Promise<Connection> {
  const key = flags.key ?? (env.CARILLON_KEY || undefined);
  const named = flags.url ?? (env.CARILLON_URL || undefined);
  const folder = flags.data ?? (env.CARILLON_DATA || DATA_FOLDER);
  if (named !== undefined) {
    const from = flags.url === undefined ? 'CARILLON_URL' : '--url';
    return { url: named, key: key ?? (await keyFor(named, { env, folder, cwd })), from };
  }
  // A folder that was named is meant, whoever is signed in elsewhere.
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
  { env, folder, cwd }: { env: ConnectionSources['env']; folder: string; cwd: string },
): Promise<string | undefined> {
  const login = await readLogin(env);
  if (login && sameServer(login.url, url)) return login.key;
  const local = await findLocalServer(folder, cwd);
  return local && sameServer(local.url, url) ? local.key : undefined;
}

function sameServer(a: string, b: string): boolean {
  const [one, other] = [URL.parse(a), URL.parse(b)];
  return one !== null && one.href.replace(/\/+$/, '') === other?.href.replace(/\/+$/, '');
}

/**
 * Which server a command talks to, and with which key: flags, then the environment, then the context in use, then the server
 * of the local data folder. A key that was found is only sent to the address it was found with; one that was given goes to an
 * address that was given or to a context, and never to the address that a folder names. The key of a folder that --data names
 * comes before every key that no flag gives.
 */
import { CarillonError } from '@carillon/client';
import { type ChosenContext, chosenContext, type Env, sameServer } from './contexts.ts';
import { CommandFailure, UsageError } from './errors.ts';
import type { GlobalOptions } from './flags.ts';
import { findLocalServer, isLoopback, type LocalFolder, type LocalServer } from './local-server.ts';

export { loginFile, readLogin, removeLogin, type StoredLogin, writeLogin } from './contexts.ts';

export interface Connection {
  readonly url: string;
  readonly key: string | undefined;
  /** In words, for `status` and messages. */
  readonly from: string;
  /** Where the key was given or found, in words; undefined where there is none. */
  readonly keyFrom?: string | undefined;
  readonly context?: string;
  /** Of the context: what commands mean where no --namespace is given. */
  readonly namespace?: string | undefined;
  /** The address was found in a data folder: nobody named it, and no key but that folder's is sent there. */
  readonly isOfFolder?: boolean;
  /** The key is that of a data folder: the server has to prove first that it knows it. */
  readonly keyFolder?: KeyFolder | undefined;
}

export interface KeyFolder {
  readonly path: string;
  /** What its server announced as its address. */
  readonly announced: string;
}

const DATA_FOLDER = '.carillon';

export interface ConnectionSources {
  readonly flags: GlobalOptions;
  readonly env: Env;
  readonly cwd: string;
}

export async function findConnection({ flags, env: world, cwd }: ConnectionSources): Promise<Connection> {
  const env = flags.context === undefined ? world : { ...world, CARILLON_CONTEXT: flags.context };
  const given = givenKey(flags, env);
  const folder = folderOf({ flags, env, cwd });
  // With --url, the folder of --data is only looked at for the key.
  const other = flags.url === undefined ? flags.data && 'data' : 'url';
  if (flags.context !== undefined && other)
    throw new UsageError(`--${other} and --context both name a server: give one of them.`);
  const isPlain = flags.context === undefined && flags.data === undefined;
  const url = flags.url ?? (isPlain ? env.CARILLON_URL || undefined : undefined);
  if (url !== undefined) {
    const from = flags.url === undefined ? 'CARILLON_URL' : '--url';
    return { url, from, ...(await keyFor(url, { flags, env, folder })) };
  }
  // A folder that was named wins over the context in use.
  const chosen = flags.data === undefined ? await chosenContext(env) : undefined;
  if (chosen) {
    const { name, context } = chosen;
    const from = `the context ${name}`;
    const { url, namespace } = context;
    return { url, from, context: name, namespace, ...(given ?? keyOf(chosen)) };
  }
  return localConnection(folder, flags);
}

function folderOf({ flags, env, cwd }: ConnectionSources): LocalFolder {
  const named = flags.data ?? (env.CARILLON_DATA || undefined);
  return { path: named ?? DATA_FOLDER, cwd, isNamed: named !== undefined };
}

async function localConnection(folder: LocalFolder, flags: GlobalOptions): Promise<Connection> {
  const { path } = folder;
  const local = await findLocalServer(folder);
  if (!local)
    throw new CarillonError({
      code: 'no_server',
      message: `There is no server to talk to: no login is stored, and none runs in ${path}.`,
      fix: 'Start one with `carillon start` (in a clone: `npm start`), name its folder with --data (or CARILLON_DATA) or its address with --url (or CARILLON_URL), or sign in with `carillon login`.',
    });
  if (!isLoopback(local.url))
    throw new CommandFailure(
      `The folder ${path} names the server ${local.url}, which is not an address of this machine alone: nothing is sent there.`,
      `If that is your server, say so: --url ${local.url} --data ${path}`,
    );
  if (flags.key !== undefined)
    throw new UsageError(
      `--key is not sent to a server that only the folder ${path} names.`,
      `Name the server as well: --url ${local.url}`,
    );
  const { url, key, announced } = local;
  const from = `the folder ${path}`;
  const keyFrom = key === undefined ? undefined : from;
  return { url, key, from, keyFrom, isOfFolder: true, keyFolder: { path, announced } };
}

type Key = Pick<Connection, 'key' | 'keyFrom' | 'keyFolder'>;

function givenKey(flags: GlobalOptions, env: Env): Key | undefined {
  if (flags.key !== undefined) return { key: flags.key, keyFrom: '--key' };
  return env.CARILLON_KEY ? { key: env.CARILLON_KEY, keyFrom: 'CARILLON_KEY' } : undefined;
}

function keyOf({ name, context: { key } }: ChosenContext): Key {
  return key === undefined ? { key } : { key, keyFrom: `the context ${name}` };
}

/** For an address that was named. What a flag names comes first, then the environment, then what is stored. */
async function keyFor(
  url: string,
  { flags, env, folder }: { flags: GlobalOptions; env: Env; folder: LocalFolder },
): Promise<Key & { readonly from?: string }> {
  const given = givenKey(flags, env);
  if (given && (flags.key !== undefined || flags.data === undefined)) return given;
  if (flags.data !== undefined) {
    const local = await findLocalServer(folder);
    const key = keyOfFolder(url, folder, local) ?? given;
    return key ?? { key: undefined, from: `--url (${whyNoKey(url, folder, local)})` };
  }
  const chosen = await chosenContext(env);
  if (chosen?.context.key !== undefined && sameServer(chosen.context.url, url)) return keyOf(chosen);
  // One that just lies where the command runs may be planted, with a key that somebody else waits for.
  return (folder.isNamed && keyOfFolder(url, folder, await findLocalServer(folder))) || NO_KEY;
}

const NO_KEY = { key: undefined };

function keyOfFolder(url: string, { path }: LocalFolder, local: LocalServer | undefined): Key | undefined {
  if (!local || local.key === undefined || !sameServer(local.url, url)) return undefined;
  const { key, announced } = local;
  return { key, keyFrom: `the folder ${path}`, keyFolder: { path, announced } };
}

function whyNoKey(url: string, { path }: LocalFolder, local: LocalServer | undefined): string {
  if (!local) return `no server runs in ${path}`;
  if (sameServer(local.url, url)) return `you may not read the key in ${path}`;
  return `the folder ${path} is that of ${local.url}`;
}

/**
 * Which server a command talks to, and with which key: flags, then the environment, then the context in use, then the server
 * of the local data folder. A key that was found is only sent to the address it was found with; one that was given goes to an
 * address that was given or to a context, and never to the address that a folder names.
 */
import { CarillonError } from '@carillon/client';
import { chosenContext, type Env, sameServer } from './contexts.ts';
import { CommandFailure, UsageError } from './errors.ts';
import type { GlobalOptions } from './flags.ts';
import { findLocalServer, isLoopback, type LocalFolder } from './local-server.ts';

export { loginFile, readLogin, removeLogin, type StoredLogin, writeLogin } from './contexts.ts';

export interface Connection {
  readonly url: string;
  readonly key: string | undefined;
  /** In words, for `status` and messages. */
  readonly from: string;
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

export async function findConnection({ flags, env: given, cwd }: ConnectionSources): Promise<Connection> {
  const env = flags.context === undefined ? given : { ...given, CARILLON_CONTEXT: flags.context };
  const key = flags.key ?? (env.CARILLON_KEY || undefined);
  const folder = folderOf({ flags, env, cwd });
  // With --url, the folder of --data is only looked at for the key.
  const other = flags.url === undefined ? flags.data && 'data' : 'url';
  if (flags.context !== undefined && other)
    throw new UsageError(`--${other} and --context both name a server: give one of them.`);
  const isPlain = flags.context === undefined && flags.data === undefined;
  const url = flags.url ?? (isPlain ? env.CARILLON_URL || undefined : undefined);
  if (url !== undefined) {
    const from = flags.url === undefined ? 'CARILLON_URL' : '--url';
    return key === undefined ? { url, from, ...(await keyFor(url, env, folder)) } : { url, key, from };
  }
  // A folder that was named wins over the context in use.
  const chosen = flags.data === undefined ? await chosenContext(env) : undefined;
  if (chosen) {
    const { name, context } = chosen;
    const from = `the context ${name}`;
    return { url: context.url, key: key ?? context.key, from, context: name, namespace: context.namespace };
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
      fix: 'Start one with `carillon start`, name its folder with --data (or CARILLON_DATA) or its address with --url (or CARILLON_URL), or sign in with `carillon login`.',
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
  return { url, key, from: `the folder ${path}`, isOfFolder: true, keyFolder: { path, announced } };
}

async function keyFor(
  url: string,
  env: Env,
  folder: LocalFolder,
): Promise<Pick<Connection, 'key' | 'keyFolder'>> {
  const chosen = await chosenContext(env);
  if (chosen && sameServer(chosen.context.url, url)) return { key: chosen.context.key };
  // One that just lies where the command runs may be planted, with a key that somebody else waits for.
  const local = folder.isNamed ? await findLocalServer(folder) : undefined;
  if (!local || !sameServer(local.url, url)) return { key: undefined };
  const { key, announced } = local;
  return { key, keyFolder: { path: folder.path, announced } };
}

/**
 * The server that runs in a data folder on this machine. Whoever can write to the folder one is in could plant one, to receive
 * what commands send: only a folder of this user (or of root) counts, links in it are not followed, its address counts only
 * where it is on this machine, and its key only when nobody else can read it. A cloned repository or an archive may bring all
 * of that along: a folder that nobody named counts only where a server has made it, by the same record that servers go by.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CommandFailure } from './errors.ts';

export interface LocalServer {
  readonly url: string;
  /** As the server wrote it, which is what it proves its key for. */
  readonly announced: string;
  /** Undefined when this user may not read it. */
  readonly key: string | undefined;
}

export interface LocalFolder {
  readonly path: string;
  readonly cwd: string;
  /** With --data or CARILLON_DATA, and not just found where the command runs: then it may be a link, and root trusts its owner. */
  readonly isNamed: boolean;
  /** Who runs the command; undefined where the system has no such numbers. */
  readonly uid?: number | undefined;
}

const NOT_THERE = ['ENOENT', 'EACCES', 'ENOTDIR'];
const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export async function findLocalServer(folder: LocalFolder): Promise<LocalServer | undefined> {
  const path = resolve(folder.cwd, folder.path);
  const uid = 'uid' in folder ? folder.uid : process.geteuid?.();
  const isTrusted = (owner: number) =>
    uid === undefined || owner === uid || owner === 0 || (uid === 0 && folder.isNamed);
  const read = async (name: string, isSecret = false) => {
    const file = join(path, name);
    const handle = await opened(file, FILE_FLAGS);
    return handle && readTrusted(handle, { file, isTrusted, isSecret });
  };
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const handle = await opened(path, O_RDONLY | O_DIRECTORY | (folder.isNamed ? 0 : O_NOFOLLOW));
  if (!handle) return undefined;
  const found = await handle.stat({ bigint: true }).finally(() => handle.close());
  if (!isTrusted(Number(found.uid))) throw ofAnother(path);
  if (found.mode & 0o002n)
    throw new CommandFailure(
      `${path} can be written to by everybody, who could receive what this command sends: it is not used.`,
      `Forbid it: chmod o-w ${path}`,
    );
  const lock = await read('server.lock');
  const announced = lock === undefined ? undefined : addressIn(lock);
  if (announced === undefined) return undefined;
  if (!folder.isNamed) {
    // Loaded here: with a login or an address, no folder is looked into.
    const { agreesWithBirth, BIRTH_RECORD } = await import('@carillon/foundation');
    if (!agreesWithBirth(await read(BIRTH_RECORD), found)) throw fromElsewhere(folder.path);
  }
  // Listening on all addresses is not an address to call.
  const url = announced.replace(/\/\/(0\.0\.0\.0|\[::\])(?=[:/]|$)/, '//127.0.0.1');
  return { url, announced, key: (await read('admin.key', true))?.trim() };
}

/** Undefined where nothing is there, or it may not be read. */
async function opened(path: string, flags: number): Promise<FileHandle | undefined> {
  try {
    return await open(path, flags);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if ((await lstat(path).catch(() => undefined))?.isSymbolicLink() && code !== 'ENOENT') throw isLink(path);
    if (NOT_THERE.includes(code)) return undefined;
    throw error;
  }
}

async function readTrusted(
  handle: FileHandle,
  { file, isTrusted, isSecret }: { file: string; isTrusted: (owner: number) => boolean; isSecret: boolean },
): Promise<string> {
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new CommandFailure(`${file} is not a file.`, NAME_THE_SERVER);
    if (!isTrusted(found.uid)) throw ofAnother(file);
    if (isSecret && found.mode & 0o077)
      throw new CommandFailure(
        `${file} can be read or changed by others, who may know the key: it is not used.`,
        `If you have not made it, remove it: the next start of the server makes a new one. Otherwise: chmod 600 ${file}`,
      );
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

const NAME_THE_SERVER =
  'Name the server with --url (or CARILLON_URL), with --context, or its folder with --data.';

function ofAnother(path: string): CommandFailure {
  return new CommandFailure(
    `${path} belongs to another user, who could receive what this command sends: it is not used.`,
    NAME_THE_SERVER,
  );
}

function fromElsewhere(path: string): CommandFailure {
  return new CommandFailure(
    `The folder ${path} was not made by a server in this place: it was cloned, copied or restored, or comes from an earlier version. Whoever made it may know its key, and could receive what this command sends: it is not used.`,
    `If it is yours, name it with --data ${path} (or CARILLON_DATA), or start its server once with --trust-folder. Otherwise remove it, and name the server with --url (or CARILLON_URL), or sign in with \`carillon login --url …\`.`,
  );
}

function isLink(path: string): CommandFailure {
  return new CommandFailure(
    `${path} is a link, and links are not followed to find a server.`,
    NAME_THE_SERVER,
  );
}

/** The lock of a killed server stays behind: the proof of the key finds out who answers there. */
function addressIn(lock: string): string | undefined {
  try {
    return (JSON.parse(lock) as { address?: string }).address;
  } catch {
    // The server is writing it at this moment: treated as absent.
    return undefined;
  }
}

export function isLoopback(url: string): boolean {
  const { hostname, username } = URL.parse(url) ?? {};
  return username === '' && /^(127(\.\d{1,3}){3}|\[::1\]|localhost)$/.test(hostname ?? '');
}

/**
 * The folder one server keeps for itself: its lock, admin key, identity and incarnation. At most one living server holds
 * it, and a server that dies in any way, even by kill -9 or power loss, never blocks the next one.
 *
 * The lock is an operating-system lock on a file, taken through the SQLite that is part of Node: the kernel drops it with
 * its process, so there is no stale pid to judge, on Linux and macOS, without a dependency or a helper process. (A
 * listening unix socket has path-length limits and leaves files behind; a pid file alone is fooled by reused pids.)
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { lockIdentity, recordBoot } from './boot-record.ts';
import { recordMadeHere, requireMadeHere } from './made-here.ts';
import { OpenFolder } from './open-folder.ts';

const LOCK_FILE = 'server.lock.db';
const HOLDER_FILE = 'server.lock';

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const RETRY_MS = 25;
// A server that is just being killed may hold its lock a moment longer than its parent lives.
const RUNNING_HOLDER_WAIT_MS = 1_500;
const LEAVING_HOLDER_WAIT_MS = 30_000;

const ADMIN_KEY = /^ck_admin_[A-Za-z0-9_-]{43}$/;
/** Perhaps several, on a line each: the first encrypts. */
const SECRETS_KEYS = /^[A-Za-z0-9+/_-]{43}=?(\s+[A-Za-z0-9+/_-]{43}=?)*$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

// A lock nobody refers to would be collected as garbage, and with it the file closed and the lock gone: a server that
// only ever opens its folder and never closes it would lose it within milliseconds.
const held = new Set<Lock>();

type Lock = { readonly database: DatabaseSync; readonly folder: OpenFolder };

type Holder = {
  readonly pid: number;
  readonly startedAt: string;
  readonly address?: string;
  readonly leaving?: boolean;
};

/** Another living server holds the folder. */
export class DataDirectoryInUse extends Error {
  readonly path: string;
  readonly pid: number | undefined;
  readonly address: string | undefined;

  constructor(path: string, holder: Holder | undefined) {
    const who = holder ? `the server with process id ${holder.pid}` : 'another server';
    const where = holder?.address ? ` at ${holder.address}` : '';
    super(`${path} is in use by ${who}${where}. Stop that server, or choose another folder with --data.`);
    this.name = 'DataDirectoryInUse';
    this.path = path;
    this.pid = holder?.pid;
    this.address = holder?.address;
  }
}

/** Its owner could exchange everything in it: the key that callers send, and the database. */
export class FolderOfAnotherUser extends Error {
  constructor(path: string, uid: number) {
    super(
      `${path} belongs to user ${uid}, who could change what this server does. Give it to the user that starts the server (chown), or choose another folder with --data.`,
    );
    this.name = 'FolderOfAnotherUser';
  }
}

export type DataDirectory = {
  readonly path: string;
  /** Records where this server answers, for the message another start on the same folder shows. */
  announce(address: string): Promise<void>;
  /** Records that this server is stopping: another start on the same folder then waits instead of giving up. */
  announceLeaving(): Promise<void>;
  adminKey(): Promise<string>;
  /** 32 bytes in base64 that encrypt secrets in the database of this folder. */
  secretsKey(): Promise<string>;
  nodeId(): Promise<string>;
  /** A new node id, for this folder from now on: the one it has is another server's. */
  renewNodeId(): Promise<string>;
  /** How many times a server started on this folder, this one included; never given out twice. */
  incarnation(): Promise<number>;
  /** A random id of this very process, and those of earlier ones on this folder that certainly have ended. */
  boot(): Promise<{ readonly bootId: string; readonly ended: readonly string[] }>;
  close(): Promise<void>;
};

/**
 * isTrusted: the operator says that what is in the folder is theirs, wherever it came from. onWait: called once when the server that holds
 * the folder is stopping, with its process id.
 */
export async function openDataDirectory(
  path: string,
  {
    isTrusted = false,
    onWait = () => undefined,
  }: { readonly isTrusted?: boolean; readonly onWait?: (pid: number) => void } = {},
): Promise<DataDirectory> {
  const directory = resolve(path);
  const lock = await takeLock(await openOwn(directory, { isTrusted }), onWait);
  const { folder } = lock;
  let holder: Holder = {
    pid: process.pid,
    startedAt: new Date(Date.now() - process.uptime() * 1000).toISOString(),
  };
  const record = async (change: Partial<Holder>): Promise<void> => {
    holder = { ...holder, ...change };
    await folder.write(HOLDER_FILE, `${JSON.stringify(holder)}\n`);
  };
  let incarnation: Promise<number> | undefined;
  let boot: ReturnType<DataDirectory['boot']> | undefined;
  try {
    await folder.removeScratchFiles();
    await recordMadeHere(folder);
    await record({});
  } catch (error) {
    await release(lock);
    throw error;
  }

  return {
    path: directory,
    announce: (address) => record({ address }),
    announceLeaving: () => record({ leaving: true }),
    adminKey: () =>
      kept(folder, {
        name: 'admin.key',
        isSecret: true,
        shape: ADMIN_KEY,
        make: () => `ck_admin_${randomBytes(32).toString('base64url')}`,
      }),
    secretsKey: () =>
      kept(folder, {
        name: 'secrets.key',
        isSecret: true,
        shape: SECRETS_KEYS,
        make: () => randomBytes(32).toString('base64'),
      }),
    nodeId: () => kept(folder, { name: 'node.id', shape: UUID, make: randomUUID }),
    renewNodeId: async () => {
      const made = randomUUID();
      await folder.write('node.id', `${made}\n`);
      return made;
    },
    incarnation: () => {
      incarnation ??= nextIncarnation(folder);
      return incarnation;
    },
    boot: () => {
      boot ??= nextBoot(folder);
      return boot;
    },
    close: async () => {
      if (!held.has(lock)) return;
      await folder.remove(HOLDER_FILE);
      await release(lock);
    },
  };
}

/** Root may start on the folder of another user: what concerns it is then done with the rights of that user. */
async function openOwn(path: string, { isTrusted }: { isTrusted: boolean }): Promise<OpenFolder> {
  const folder = await OpenFolder.make(path, { mode: 0o700 });
  const { uid } = await folder.owner();
  const self = process.geteuid?.() ?? uid;
  try {
    if (self !== 0 && uid !== self && uid !== 0) throw new FolderOfAnotherUser(path, uid);
    await folder.requireNotOpenToAll();
    await requireMadeHere(folder, { isTrusted });
    return folder;
  } catch (error) {
    await folder.close();
    throw error;
  }
}

/** Keeps `folder` open as long as the lock is held, and closes it when it cannot be had. */
async function takeLock(folder: OpenFolder, onWait: (pid: number) => void): Promise<Lock> {
  const askedAt = performance.now();
  let isLeaving = false;
  try {
    for (;;) {
      const database = tryLock(folder);
      if (database) {
        const lock = { database, folder };
        held.add(lock);
        return lock;
      }
      const holder = await readHolder(folder);
      // A server that leaves removes its record first, and its lock a moment later.
      if (holder?.leaving && !isLeaving) onWait(holder.pid);
      if (holder) isLeaving = holder.leaving === true;
      const patienceMs = isLeaving ? LEAVING_HOLDER_WAIT_MS : RUNNING_HOLDER_WAIT_MS;
      if (performance.now() - askedAt > patienceMs) throw new DataDirectoryInUse(folder.path, holder);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  } catch (error) {
    await folder.close();
    throw error;
  }
}

/**
 * The file stays empty: the open transaction is only a way to hold the kernel's lock. Nothing else may ever open it, for
 * closing any other descriptor of a file drops the locks its process has on it; hence no pause between the steps here.
 *
 * SQLite follows links, and does what a journal beside the file says: it gets the rights of the folder's owner, and makes no
 * file. What remains is a user, not root, who starts on a folder of somebody else that puts a link there in the instant
 * between the look and the opening: a database that the link points to is locked then, and not written.
 */
function tryLock(folder: OpenFolder): DatabaseSync | undefined {
  const path = join(folder.path, LOCK_FILE);
  folder.touchSync(LOCK_FILE);
  const address = pathToFileURL(path);
  address.searchParams.set('mode', 'rw');
  return folder.asOwner(() => {
    const database = new DatabaseSync(address, { timeout: 0 });
    try {
      // A file that may only be read would be locked for reading, beside others; the change, never committed, finds out.
      database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1');
      return database;
    } catch (error) {
      database.close();
      const { errcode } = error as { errcode?: number };
      if (errcode === SQLITE_BUSY) return undefined;
      if (errcode !== SQLITE_READONLY) throw error;
      throw new Error(
        `${path} cannot be written. Give it to the owner of its folder (chown), with mode 600.`,
      );
    }
  });
}

async function release(lock: Lock): Promise<void> {
  held.delete(lock);
  lock.folder.asOwner(() => lock.database.close());
  await lock.folder.close();
}

async function readHolder(folder: OpenFolder): Promise<Holder | undefined> {
  try {
    return JSON.parse((await folder.read(HOLDER_FILE)) ?? '') as Holder;
  } catch {
    // The holder has the lock but not yet written who it is, or is about to release it.
    return undefined;
  }
}

interface KeptLine {
  readonly name: string;
  readonly shape: RegExp;
  readonly make: () => string;
  readonly isSecret?: boolean;
}

/** The one line in a file, made at first use. A damaged file is reported: replacing it would lock its users out. */
async function kept(folder: OpenFolder, { name, shape, make, isSecret = false }: KeptLine): Promise<string> {
  const present = await folder.read(name, { isSecret });
  if (present === undefined) {
    const made = make();
    await folder.write(name, `${made}\n`);
    return made;
  }
  const line = present.trim();
  if (!shape.test(line))
    throw new Error(
      `${join(folder.path, name)} is damaged. Restore it from a backup, or remove it to have a new one made.`,
    );
  return line;
}

async function nextIncarnation(folder: OpenFolder): Promise<number> {
  const text = ((await folder.read('incarnation')) ?? '0').trim();
  const last = Number(text);
  if (text === '' || !Number.isSafeInteger(last) || last < 0)
    throw new Error(`${join(folder.path, 'incarnation')} is damaged: it must hold one whole number.`);
  await folder.write('incarnation', `${last + 1}\n`);
  return last + 1;
}

/** Written before anybody can hear of the new id: a process that was ever heard of is on record. */
async function nextBoot(folder: OpenFolder): ReturnType<DataDirectory['boot']> {
  const bootId = randomUUID();
  const place = await lockIdentity(folder.at(LOCK_FILE));
  const { ended, record } = recordBoot(bootId, { former: await folder.read('boots'), place });
  await folder.write('boots', `${record}\n`);
  return { bootId, ended };
}

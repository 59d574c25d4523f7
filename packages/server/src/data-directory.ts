/**
 * The folder one server keeps for itself: its lock, admin key, identity and incarnation. At most one living server holds
 * it, and a server that dies in any way, even by kill -9 or power loss, never blocks the next one.
 *
 * The lock is an operating-system lock on a file, taken through the SQLite that is part of Node: the kernel drops it with
 * its process, so there is no stale pid to judge, on Linux and macOS, without a dependency or a helper process. (A
 * listening unix socket has path-length limits and leaves files behind; a pid file alone is fooled by reused pids.)
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, chown, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { lockPlace, recordBoot } from './boot-record.ts';
import { makeFolder } from './make-folder.ts';

const SQLITE_BUSY = 5;
const RETRY_MS = 25;
// A server that is just being killed may hold its lock a moment longer than its parent lives.
const RUNNING_HOLDER_WAIT_MS = 1_500;
const LEAVING_HOLDER_WAIT_MS = 30_000;

const ADMIN_KEY = /^ck_admin_[A-Za-z0-9_-]{43}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

// A lock nobody refers to would be collected as garbage, and with it the file closed and the lock gone: a server that
// only ever opens its folder and never closes it would lose it within milliseconds.
const held = new Set<DatabaseSync>();

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

export type DataDirectory = {
  readonly path: string;
  /** Records where this server answers, for the message another start on the same folder shows. */
  announce(address: string): Promise<void>;
  /** Records that this server is stopping: another start on the same folder then waits instead of giving up. */
  announceLeaving(): Promise<void>;
  adminKey(): Promise<string>;
  nodeId(): Promise<string>;
  /** A new node id, for this folder from now on: the one it has is another server's. */
  renewNodeId(): Promise<string>;
  /** How many times a server started on this folder, this one included; never given out twice. */
  incarnation(): Promise<number>;
  /** A random id of this very process, and those of earlier ones on this folder that certainly have ended. */
  boot(): Promise<{ readonly bootId: string; readonly ended: readonly string[] }>;
  close(): Promise<void>;
};

export async function openDataDirectory(path: string): Promise<DataDirectory> {
  const directory = resolve(path);
  await makeFolder(directory, { mode: 0o700 });
  const lock = await takeLock(directory);
  const lockFile = join(directory, 'server.lock');
  let holder: Holder = {
    pid: process.pid,
    startedAt: new Date(Date.now() - process.uptime() * 1000).toISOString(),
  };
  const record = async (change: Partial<Holder>): Promise<void> => {
    holder = { ...holder, ...change };
    await writeDurably(lockFile, `${JSON.stringify(holder)}\n`);
  };
  let incarnation: Promise<number> | undefined;
  let boot: ReturnType<DataDirectory['boot']> | undefined;
  const nodeIdFile = join(directory, 'node.id');
  try {
    await record({});
  } catch (error) {
    release(lock);
    throw error;
  }

  return {
    path: directory,
    announce: (address) => record({ address }),
    announceLeaving: () => record({ leaving: true }),
    adminKey: () =>
      kept(
        join(directory, 'admin.key'),
        ADMIN_KEY,
        () => `ck_admin_${randomBytes(32).toString('base64url')}`,
      ),
    nodeId: () => kept(nodeIdFile, UUID, randomUUID),
    renewNodeId: async () => {
      const made = randomUUID();
      await writeDurably(nodeIdFile, `${made}\n`);
      return made;
    },
    incarnation: () => {
      incarnation ??= nextIncarnation(join(directory, 'incarnation'));
      return incarnation;
    },
    boot: () => {
      boot ??= nextBoot(directory);
      return boot;
    },
    close: async () => {
      if (!lock.isOpen) return;
      await rm(lockFile, { force: true });
      release(lock);
    },
  };
}

async function takeLock(directory: string): Promise<DatabaseSync> {
  const askedAt = performance.now();
  for (;;) {
    const lock = tryLock(join(directory, 'server.lock.db'));
    if (lock) {
      await leaveToFolderOwner(join(directory, 'server.lock.db'));
      return lock;
    }
    const holder = await readHolder(join(directory, 'server.lock'));
    const patienceMs = holder?.leaving ? LEAVING_HOLDER_WAIT_MS : RUNNING_HOLDER_WAIT_MS;
    if (performance.now() - askedAt > patienceMs) throw new DataDirectoryInUse(directory, holder);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

// The file stays empty: the open transaction is only a way to hold the kernel's lock. Nothing else may ever open it, for
// closing any other descriptor of a file drops the locks its process has on it.
function tryLock(path: string): DatabaseSync | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    held.add(database);
    return database;
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
}

function release(lock: DatabaseSync): void {
  held.delete(lock);
  lock.close();
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch {
    // The holder has the lock but not yet written who it is, or is about to release it.
    return undefined;
  }
}

/** The one line in `path`, made at first use. A damaged file is reported: replacing it would lock its users out. */
async function kept(path: string, shape: RegExp, make: () => string): Promise<string> {
  const present = await readOptional(path);
  if (present === undefined) {
    const made = make();
    await writeDurably(path, `${made}\n`);
    return made;
  }
  const line = present.trim();
  if (!shape.test(line))
    throw new Error(`${path} is damaged. Restore it from a backup, or remove it to have a new one made.`);
  await chmod(path, 0o600);
  return line;
}

async function nextIncarnation(path: string): Promise<number> {
  const text = ((await readOptional(path)) ?? '0').trim();
  const last = Number(text);
  if (text === '' || !Number.isSafeInteger(last) || last < 0)
    throw new Error(`${path} is damaged: it must hold one whole number.`);
  await writeDurably(path, `${last + 1}\n`);
  return last + 1;
}

/** Written before anybody can hear of the new id: a process that was ever heard of is on record. */
async function nextBoot(directory: string): ReturnType<DataDirectory['boot']> {
  const path = join(directory, 'boots');
  const bootId = randomUUID();
  const place = await lockPlace(join(directory, 'server.lock.db'));
  const { ended, record } = recordBoot(bootId, { former: await readOptional(path), place });
  await writeDurably(path, `${record}\n`);
  return { bootId, ended };
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

// Either the old or the new content survives a power loss, never a mixture: the name changes only after the bytes are down.
async function writeDurably(path: string, content: string): Promise<void> {
  const scratch = `${path}.incoming`;
  const file = await open(scratch, 'w', 0o600);
  try {
    await file.writeFile(content);
    await leaveToFolderOwner(scratch);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(scratch, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

// After one start as root the owner of the folder must still be able to start.
async function leaveToFolderOwner(path: string): Promise<void> {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = await stat(dirname(path));
  await chown(path, uid, gid);
}

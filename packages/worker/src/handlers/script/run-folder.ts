/**
 * The folder of one run, removed when the run has ended. Scripts of one user must not find each other's: the folder lies, under a name
 * that cannot be guessed, within one of the worker's own that can be entered and not listed. The worker writes there only before it
 * gives the folder away, since from then on any name in it may be a link that the script made. The name of the outer folder says which
 * process made it, so that the next worker on the machine removes what one that was killed left behind.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, fchownSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  opendir,
  readdir,
  realpath,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SCRIPT_ERRORS } from '@carillon/domain';
import { HandlerError } from '../../handler.ts';
import { scriptLauncher } from './script-launcher.ts';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

const PREFIX = 'carillon-run-';
const UNKNOWN = '0';
const NAME = new RegExp(`^${PREFIX}(\\d+)-(\\d+)-(\\d+)-`);
/** Short: sockets in the folder have a limit on the length of their paths. */
const SECRET_BYTES = 12;
const [STICKY, GROUP_WRITES, OTHERS_WRITE] = [0o1000, 0o020, 0o002];
const REMOVE_TIMEOUT_MS = 30_000;
/** More are removed by a program. */
const FILES_MAX = 32;

export class RunFolder {
  readonly path: string;
  readonly #outer: string;
  readonly #owner: UserIds | undefined;

  private constructor(outer: string, path: string, owner: UserIds | undefined) {
    this.#outer = outer;
    this.path = path;
    this.#owner = owner;
  }

  /** The worker's own until it is given away. */
  static async make(parent: string, owner: UserIds | undefined): Promise<RunFolder> {
    if (owner) await refuseChangeable(parent, owner);
    const outer = await mkdtemp(join(parent, `${PREFIX}${identityOfThisProcess()}-`));
    if (owner) await chmod(outer, 0o711);
    const path = join(outer, randomBytes(SECRET_BYTES).toString('base64url'));
    await mkdir(path, { mode: 0o700 });
    return new RunFolder(outer, path, owner);
  }

  /** For the user of the run alone. Only before the folder is given away. */
  async write(name: string, content: string | Uint8Array, mode = 0o600): Promise<string> {
    const path = join(this.path, name);
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    try {
      await file.writeFile(content);
      if (this.#owner) await file.chown(this.#owner.uid, this.#owner.gid);
    } finally {
      await file.close();
    }
    return path;
  }

  /** An empty one within it, for the user of the run alone. Only before the folder is given away. */
  async makeFolder(name: string): Promise<string> {
    const path = join(this.path, name);
    await mkdir(path, { mode: 0o700 });
    if (this.#owner) await lchown(path, this.#owner.uid, this.#owner.gid);
    return path;
  }

  /** The last step before the script starts: what it needs is there, and the worker opens nothing in the folder by its name any more. */
  giveAway(): void {
    if (!this.#owner) return;
    const folder = openSync(this.path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      fchownSync(folder, this.#owner.uid, this.#owner.gid);
    } finally {
      closeSync(folder);
    }
  }

  async remove(): Promise<void> {
    await removeOuter(this.#outer);
  }
}

/** Who can rename what lies on the way to a folder can put another in its place. */
async function refuseChangeable(parent: string, user: UserIds): Promise<void> {
  for (let at = await realpath(parent), last = ''; at !== last; last = at, at = dirname(at)) {
    const { uid, gid, mode } = await stat(at);
    const isWritable = (mode & OTHERS_WRITE) !== 0 || (gid === user.gid && (mode & GROUP_WRITES) !== 0);
    if (uid !== user.uid && (!isWritable || (mode & STICKY) !== 0)) continue;
    const what = 'set script.work_folder to a folder that only the user of the worker can write to';
    const message = `${SCRIPT_ERRORS.notStarted}: the user of scripts can rename what is in ${at}: ${what}`;
    throw new HandlerError(message, { retryable: false });
  }
}

/** Nobody else can change names in the outer folder; within that of a run, its owner can, so its owner removes what is there. */
async function removeOuter(outer: string): Promise<void> {
  for (const name of await readdir(outer)) {
    const path = join(outer, name);
    if (await removeFiles(path)) continue;
    const { uid, gid } = await lstat(path);
    await removeAs(path, uid === process.geteuid?.() ? undefined : { uid, gid });
  }
  await rmdir(outer);
}

/** What most scripts leave, without a process. No name in such a folder leads elsewhere as long as nothing in it is entered. */
async function removeFiles(path: string): Promise<boolean> {
  const names: string[] = [];
  for await (const name of namesIn(path)) if (names.push(name) > FILES_MAX) return false;
  await Promise.all(
    names.map((name) =>
      unlink(join(path, name))
        .catch(() => rmdir(join(path, name)))
        .catch(() => undefined),
    ),
  );
  return isRemoved(path);
}

async function removeAs(path: string, owner: UserIds | undefined): Promise<void> {
  await runAs(owner, ['rm', '-rf', '--', path]);
  if (await isRemoved(path)) return;
  // A script may take its own rights away from folders.
  await runAs(owner, ['chmod', '-R', 'u+rwx', '--', path]);
  await runAs(owner, ['rm', '-rf', '--', path]);
  if (!(await isRemoved(path))) throw new Error('something is left in it');
}

/** One after the other: a folder that others write to may have more names than fit into memory. None where it cannot be read. */
async function* namesIn(path: string): AsyncGenerator<string> {
  const folder = await opendir(path).catch(() => undefined);
  if (folder) for await (const { name } of folder) yield name;
}

/** Another user cannot remove the folder itself, only empty it. */
async function isRemoved(path: string): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Whether it did all that it was told is seen by what is left. */
async function runAs(user: UserIds | undefined, command: readonly string[]): Promise<void> {
  const env = { PATH: '/usr/bin:/bin' };
  const order = { command, cwd: '/', env, user, timeoutMs: REMOVE_TIMEOUT_MS };
  await scriptLauncher.run(order).catch(() => undefined);
}

/** Removes the folders of processes of this machine that have ended. Only what it can tell for certain: its own user made them. */
export async function removeLeftFolders(parent: string): Promise<number> {
  let removed = 0;
  const { mode } = await stat(parent).catch(() => ({ mode: OTHERS_WRITE }));
  // Without the sticky bit a name may be another folder by the time it is removed.
  if ((mode & (OTHERS_WRITE | GROUP_WRITES)) !== 0 && (mode & STICKY) === 0) return removed;
  for await (const name of namesIn(parent)) {
    const [, space, pid, startedAt] = NAME.exec(name) ?? [];
    if (pid === undefined || space === UNKNOWN || space !== pidSpace()) continue;
    if (startOf(pid) === startedAt) continue;
    const path = join(parent, name);
    const found = await lstat(path).catch(() => undefined);
    if (!found?.isDirectory() || found.uid !== process.geteuid?.()) continue;
    await removeOuter(path).then(
      () => (removed += 1),
      () => undefined,
    );
  }
  return removed;
}

let knownIdentity: string | undefined;

function identityOfThisProcess(): string {
  knownIdentity ??= `${pidSpace()}-${process.pid}-${startOf(String(process.pid)) ?? 0}`;
  return knownIdentity;
}

/** Processes in containers have numbers of their own; the same number there is another process. */
function pidSpace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

/** When the process started, in ticks since the machine did; undefined when there is no such process. */
function startOf(pid: string): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

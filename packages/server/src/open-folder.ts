/**
 * A folder that somebody else may write to, kept open: what is done in it by name happens in this very folder, whatever its
 * path leads to by then, and no link in it is followed. All that a server reads or writes in its data folder goes through here,
 * for a start as root on a folder of another user would otherwise read, overwrite and give away what they point to.
 *
 * Node has no openat(2); on Linux a name below /proc/self/fd/N is the same. Elsewhere names are resolved from the path: a link
 * at the end of it is still refused, but not a folder further up that is replaced by a link between two calls.
 */
import { randomBytes } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fchownSync,
  fstatSync,
  lstatSync,
  openSync,
  type Stats,
  statSync,
} from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { join } from 'node:path';
import { asUser } from './as-user.ts';
import { makeFolder, makeUnlessThere } from './make-folder.ts';
import { requireSafe, UnsafeWay, type Way, wayTo } from './way-to-folder.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const SCRATCH = /\.[0-9a-f]{16}\.incoming$/;

type Owner = { readonly uid: number; readonly gid: number };

export class LinkRefused extends Error {
  constructor(path: string, kind: 'link' | 'hard link' = 'link') {
    super(
      `${path} is a ${kind}, and Carillon uses none inside its data folder. Put the file or folder itself there, or remove the ${kind}.`,
    );
    this.name = 'LinkRefused';
  }
}

/** A key that others know, or have made: it came with a copied folder or a cloned repository, say. */
export class NotPrivate extends Error {
  constructor(path: string, { fault, remedy }: { fault: string; remedy: string }) {
    super(
      `${path} ${fault}, who may know it. If it is not yours, or others may have read it, remove it: the next start makes a new one. Otherwise: ${remedy} ${path}`,
    );
    this.name = 'NotPrivate';
  }
}

/** In the folder of a user, root touches only what is theirs: they may have moved it there to have it removed or given to them. */
export class ForeignFolder extends Error {
  constructor(path: string, { uid, ownerUid }: { uid: number; ownerUid: number }) {
    super(
      `${path} belongs to user ${uid}, and the folder it is in to user ${ownerUid}. Move it elsewhere, or give it to the latter (chown -R ${ownerUid} ${path}) if it is theirs.`,
    );
    this.name = 'ForeignFolder';
  }
}

export class OpenFolder implements AsyncDisposable {
  /** For messages and other programs; never for the files in it. */
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #base: string;

  private constructor(path: string, { handle, base }: { handle: FileHandle; base: string }) {
    this.path = path;
    this.#handle = handle;
    this.#base = base;
  }

  /**
   * The folder that `path` leads to, made where it is missing. The way there may lead through links: it is the operator's. Root
   * goes it only where nobody else can change it. What is missing below a folder of another user is made by that user.
   */
  static async make(path: string, { mode }: { readonly mode: number }): Promise<OpenFolder> {
    if (!isRoot()) {
      makeFolder(path, { mode });
      return OpenFolder.open(path);
    }
    const way = await wayTo(path);
    if (!way.isWhole) {
      requireSafe(way, way.ownerUid);
      asUserIfOther(way.ownerUid, () => makeFolder(path, { mode }));
    }
    return OpenFolder.open(path);
  }

  static async open(path: string): Promise<OpenFolder> {
    const handle = await open(path, O_RDONLY | O_DIRECTORY);
    try {
      if (isRoot()) await requireSafelyOpened(handle, await wayTo(path));
      return await OpenFolder.#from(path, handle);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  static async #from(path: string, handle: FileHandle): Promise<OpenFolder> {
    const anchor = `/proc/self/fd/${handle.fd}`;
    const own = await handle.stat();
    const isAnchored = await stat(anchor).then(
      ({ dev, ino }) => dev === own.dev && ino === own.ino,
      () => false,
    );
    return new OpenFolder(path, { handle, base: isAnchored ? anchor : path });
  }

  /** Where `name` is now, for calls of this process that must stay in this folder; they must not follow a link there. */
  at(name: string): string {
    return `${this.#base}/${name}`;
  }

  /** The content of a small file; undefined where there is none. A secret must be its owner's alone, and they one to trust. */
  async read(name: string, { isSecret = false } = {}): Promise<string | undefined> {
    return this.#named(name, async (path) => {
      await using file = await openIfThere(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      if (file === undefined) return undefined;
      const found = await file.stat();
      if (!found.isFile()) throw new Error(`${join(this.path, name)} is not a file.`);
      if (isSecret) await this.#requirePrivate(name, found);
      return file.readFile('utf8');
    });
  }

  /**
   * Either the old or the new content survives a power loss, never a mixture: the name changes only after the bytes are down.
   * The file is its owner's alone, who is the owner of the folder also when root writes it.
   */
  async write(name: string, content: string): Promise<void> {
    const scratch = `${name}.${randomBytes(8).toString('hex')}.incoming`;
    await this.#named(scratch, async (path) => {
      const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        await file.writeFile(content);
        await file.chmod(0o600);
        if (isRoot()) {
          const { uid, gid } = await this.owner();
          await file.chown(uid, gid);
        }
        await file.sync();
        await rename(path, this.at(name));
      } catch (error) {
        await unlink(path).catch(() => {});
        throw error;
      } finally {
        await file.close();
      }
    });
    await this.#handle.sync();
  }

  /** An empty file of the folder's owner, unless something is there already. Synchronous: see `asOwner`. */
  touchSync(name: string): void {
    try {
      const file = openSync(this.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        const { uid, gid } = fstatSync(this.#handle.fd);
        if (isRoot()) fchownSync(file, uid, gid);
      } finally {
        closeSync(file);
      }
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw this.#inWords(error);
      if (lstatSync(this.at(name), { throwIfNoEntry: false })?.isSymbolicLink())
        throw new LinkRefused(join(this.path, name));
    }
  }

  /** Gives a folder its final name, and opens it. */
  async rename(from: string, to: string): Promise<OpenFolder> {
    await this.#named(from, (path) => rename(path, this.at(to)));
    return this.#present(to);
  }

  /**
   * Removes a file, a link or a folder with all in it, and nothing that a link points to. Nor does root remove for another user
   * what they could not remove themselves: a folder of somebody else that they moved here. Another process may remove the same meanwhile.
   */
  async remove(name: string): Promise<void> {
    await this.#named(name, async (path) => {
      const found = await lstat(path).catch(ignoring('ENOENT'));
      if (!found?.isDirectory()) return unlink(path).catch(ignoring('ENOENT'));
      {
        await using inner = await this.folder(name);
        if (inner === undefined) return;
        await this.#requireSameOwner(inner);
        // A folder that may only be read cannot be emptied; where it is another user's, this fails and the next may not.
        await inner.#handle.chmod(0o700).catch(ignoring('EPERM'));
        const entries = await inner.entries().catch(ignoring('ENOENT'));
        for (const entry of entries ?? []) await inner.remove(entry.name);
      }
      await rmdir(path).catch(ignoring('ENOENT'));
    });
  }

  /** Removes what a writer that was killed left. */
  async removeScratchFiles(): Promise<void> {
    for (const { name } of await this.entries()) if (SCRATCH.test(name)) await this.remove(name);
  }

  async entries(): Promise<Dirent[]> {
    return readdir(this.#base, { withFileTypes: true });
  }

  /** A folder in this one, or undefined where nothing is. */
  async folder(name: string): Promise<OpenFolder | undefined> {
    return this.#named(name, async (path) => {
      const handle = await openIfThere(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      return handle && OpenFolder.#from(join(this.path, name), handle);
    });
  }

  /** It belongs to the owner of this folder also when root makes it; one that is there already may be anybody's. */
  async makeFolder(name: string, { mode }: { readonly mode: number }): Promise<OpenFolder> {
    const { uid } = await this.owner();
    await this.#named(name, async (path) => asUserIfOther(uid, () => makeUnlessThere(path, { mode })));
    return this.#present(name);
  }

  /** One that is certainly ours, whoever may write to this folder: nobody else can prepare anything in it. */
  async makeOwnFolder(name: string, { mode }: { readonly mode: number }): Promise<OpenFolder> {
    await this.#named(name, (path) => mkdir(path, { mode }));
    const folder = await this.#present(name);
    const isEmpty = (await folder.entries()).length === 0;
    if (isEmpty && (await folder.owner()).uid === process.geteuid?.()) return folder;
    await folder.close();
    throw new Error(`${join(this.path, name)} was replaced while it was made. Start again.`);
  }

  async owner(): Promise<Owner> {
    const { uid, gid } = await this.#handle.stat();
    return { uid, gid };
  }

  /** Its number, and when it was made and changed last, in nanoseconds. */
  async birth(): Promise<Pick<BigIntStats, 'ino' | 'birthtimeNs' | 'ctimeNs'>> {
    return this.#handle.stat({ bigint: true });
  }

  async giveTo({ uid, gid }: Owner): Promise<void> {
    await this.#handle.chown(uid, gid);
  }

  /**
   * Gives away the folder with all in it, itself last: its owner tells that all of it was done. Links are left alone. A file that
   * has a second name may be anybody's, put here under a name of its own.
   */
  async giveAllTo(owner: Owner): Promise<void> {
    for (const entry of await this.entries()) {
      if (entry.isDirectory()) {
        await using inner = await this.folder(entry.name);
        await inner?.giveAllTo(owner);
      } else if (entry.isFile()) {
        await this.#named(entry.name, async (path) => {
          await using file = await openIfThere(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
          if (((await file?.stat())?.nlink ?? 1) > 1)
            throw new LinkRefused(join(this.path, entry.name), 'hard link');
          await file?.chown(owner.uid, owner.gid);
        });
      }
    }
    await this.giveTo(owner);
  }

  /** Others may pass through, which shows them nothing. */
  async letPass(): Promise<void> {
    await this.#handle.chmod(((await this.#handle.stat()).mode & 0o777) | 0o011);
  }

  /**
   * Does `work` with the rights of the folder's owner where root runs on a folder of another user: for what opens files by
   * their path and have no option to follow no link. Where the owner cannot reach the folder by its path (it is in root's
   * home), `work` has root's rights: it could not be done otherwise, and who cannot reach a folder plants nothing in it, but
   * for somebody who has it open from before or, around a container, by another path.
   */
  asOwner<T>(work: () => T): T {
    const { uid } = fstatSync(this.#handle.fd);
    if (!isRoot() || uid === 0 || !asUser(uid, () => canReach(this.path))) return work();
    return asUser(uid, work);
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #present(name: string): Promise<OpenFolder> {
    const folder = await this.folder(name);
    if (folder === undefined) throw new Error(`${join(this.path, name)} was removed while it was used.`);
    return folder;
  }

  async #requirePrivate(name: string, { uid, mode, nlink }: Stats): Promise<void> {
    const path = join(this.path, name);
    if (nlink > 1) throw new LinkRefused(path, 'hard link');
    const { uid: owner } = await this.owner();
    if (![0, process.geteuid?.() ?? uid, owner].includes(uid))
      throw new NotPrivate(path, { fault: `belongs to user ${uid}`, remedy: `chown ${owner}` });
    if (mode & 0o077)
      throw new NotPrivate(path, { fault: 'can be read or changed by others', remedy: 'chmod 600' });
  }

  /** Refuses a folder in which everybody could replace what is kept there; what its group may do is for its owner to decide. */
  async requireNotOpenToAll(): Promise<void> {
    if (((await this.#handle.stat()).mode & 0o002) === 0) return;
    throw new UnsafeWay(
      `${this.path} can be written to by everybody, who could exchange what the server keeps there`,
      `Forbid it (chmod o-w ${this.path}), or choose another folder with --data, such as ${join(this.path, 'carillon')}.`,
    );
  }

  async #requireSameOwner(inner: OpenFolder): Promise<void> {
    const [own, { uid }] = [await this.owner(), await inner.owner()];
    if (!isRoot() || own.uid === 0 || uid === own.uid) return;
    throw new ForeignFolder(inner.path, { uid, ownerUid: own.uid });
  }

  async #named<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    try {
      return await work(this.at(name));
    } catch (error) {
      // What a system says of a link where none may be differs; what is there is asked only to word the refusal.
      const isLink =
        ['ELOOP', 'ENOTDIR', 'EMLINK'].includes(codeOf(error) ?? '') &&
        (await lstat(this.at(name)).catch(ignoring('ENOENT')))?.isSymbolicLink();
      throw isLink ? new LinkRefused(join(this.path, name), 'link') : this.#inWords(error);
    }
  }

  /** With the path that the operator knows. */
  #inWords(error: unknown): unknown {
    if (!(error instanceof Error) || this.#base === this.path) return error;
    error.message = error.message.replaceAll(this.#base, this.path);
    error.stack = error.stack?.replaceAll(this.#base, this.path) ?? '';
    return error;
  }
}

/** Against a way that changes between opening the folder and judging how it was reached. */
async function requireSafelyOpened(handle: FileHandle, way: Way): Promise<void> {
  const { path } = way;
  const [opened, walked] = [await handle.stat(), await lstat(path)];
  requireSafe(way, opened.uid);
  // Where the system tells it: the path of the very folder that is open.
  const openPath = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => path);
  if (opened.dev !== walked.dev || opened.ino !== walked.ino || openPath !== path)
    throw new Error(`${path} was replaced while it was opened. Start again.`);
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

function asUserIfOther<T>(uid: number, work: () => T): T {
  return isRoot() && uid !== 0 ? asUser(uid, work) : work();
}

function canReach(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch {
    return false;
  }
}

async function openIfThere(path: string, flags: number): Promise<FileHandle | undefined> {
  return open(path, flags).catch(ignoring('ENOENT'));
}

function ignoring(code: string): (error: unknown) => undefined {
  return (error) => {
    if (codeOf(error) !== code) throw error;
  };
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/**
 * The folder of one run: fresh, for its user alone, removed when the run has ended. Its name says which process made it, so that the
 * next worker on the machine removes what one that was killed left behind.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { chmod, chown, lstat, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

const PREFIX = 'carillon-run-';
const UNKNOWN = '0';
const NAME = new RegExp(`^${PREFIX}(\\d+)-(\\d+)-(\\d+)-`);

export class RunFolder {
  readonly path: string;
  readonly #owner: UserIds | undefined;

  private constructor(path: string, owner: UserIds | undefined) {
    this.path = path;
    this.#owner = owner;
  }

  static async make(parent: string, owner: UserIds | undefined): Promise<RunFolder> {
    const path = await mkdtemp(join(parent, `${PREFIX}${identityOfThisProcess()}-`));
    const folder = new RunFolder(path, owner);
    await folder.#give(path);
    return folder;
  }

  /** For the user of the run alone. */
  async write(name: string, content: string | Uint8Array, mode = 0o600): Promise<string> {
    const path = join(this.path, name);
    await writeFile(path, content, { mode, flag: 'wx' });
    await this.#give(path);
    return path;
  }

  async remove(): Promise<void> {
    await removeAll(this.path);
  }

  async #give(path: string): Promise<void> {
    if (this.#owner) await chown(path, this.#owner.uid, this.#owner.gid);
  }
}

/** A script may take its own rights away from folders. */
async function removeAll(path: string): Promise<void> {
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
  try {
    await remove();
  } catch {
    await openFolders(path);
    await remove();
  }
}

async function openFolders(path: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await openFolders(join(path, entry.name));
}

/** Removes the folders of processes of this machine that have ended. Only what it can tell for certain. */
export async function removeLeftFolders(parent: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(parent).catch(() => [])) {
    const [, space, pid, startedAt] = NAME.exec(name) ?? [];
    if (pid === undefined || space === UNKNOWN || space !== pidSpace()) continue;
    if (startOf(pid) === startedAt) continue;
    const path = join(parent, name);
    const found = await lstat(path).catch(() => undefined);
    if (!found?.isDirectory()) continue;
    await removeAll(path).then(
      () => (removed += 1),
      () => undefined,
    );
  }
  return removed;
}

function identityOfThisProcess(): string {
  return `${pidSpace()}-${process.pid}-${startOf(String(process.pid)) ?? 0}`;
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

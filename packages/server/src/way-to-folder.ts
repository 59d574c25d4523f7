/**
 * The way to a folder, as root goes it. Whoever can write to a folder on the way can put another folder or a link in the place of
 * the next one, between a look at it and its use, and PostgreSQL gets paths. So everything on the way belongs to root or to the
 * owner of the folder at its end, and nobody else may write there: what OpenSSH demands of a home folder (StrictModes).
 */
import type { Stats } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';

const LINKS_MAX = 40;
const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/** Root does not go this way; the message says why and what to do. */
export class UnsafeWay extends Error {
  constructor(reason: string, advice: string) {
    super(`${reason}. ${advice}`);
    this.name = 'UnsafeWay';
  }
}

/** A folder that is passed through, or a link that is followed. */
interface Step {
  readonly path: string;
  readonly found: Stats;
}

export interface Way {
  /** The path without links, as far as it exists. */
  readonly path: string;
  readonly steps: readonly Step[];
  /** Of the last folder that exists. */
  readonly ownerUid: number;
  /** The whole of it exists. */
  readonly isWhole: boolean;
}

/** Links are read one by one: the system, asked where they lead, could answer differently each time. */
export async function wayTo(path: string): Promise<Way> {
  const rest = namesOf(resolve(path));
  const steps: Step[] = [{ path: '/', found: await lstat('/') }];
  let last = steps[0]!;
  let links = 0;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const here = name === '..' ? dirname(last.path) : join(last.path, name);
    const found = await lstatIfThere(here);
    if (found === undefined) return { path: last.path, steps, ownerUid: last.found.uid, isWhole: false };
    const step = { path: here, found };
    steps.push(step);
    if (!found.isSymbolicLink()) {
      if (!found.isDirectory() && rest.length > 0)
        throw Object.assign(new Error(`${here} is not a folder.`), { code: 'ENOTDIR' });
      last = step;
      continue;
    }
    links += 1;
    const target = await readlink(here);
    const after = await lstat(here);
    if (links > LINKS_MAX || after.ino !== found.ino || after.ctimeMs !== found.ctimeMs)
      throw new Error(`${here} is a link that leads nowhere, or was replaced while it was read.`);
    if (isAbsolute(target)) last = steps[0]!;
    rest.unshift(...namesOf(target));
  }
  return { path: last.path, steps, ownerUid: last.found.uid, isWhole: true };
}

/** `ownerUid` is that of the folder at the end, as it was opened: all that is done there is done for them. */
export function requireSafe({ path, steps, isWhole }: Way, ownerUid: number): void {
  const isTrusted = ({ found: { uid } }: Step) => uid === 0 || uid === ownerUid;
  const link = steps.find((step) => step.found.isSymbolicLink() && !isTrusted(step));
  if (link)
    throw new UnsafeWay(
      `${link.path} is a link of user ${link.found.uid} and leads to ${path}, which is not theirs`,
      'Root does not follow it: name the folder itself with --data.',
    );
  for (const step of steps) {
    if (step.found.isSymbolicLink()) continue;
    const { uid, mode } = step.found;
    if (!isTrusted(step))
      throw new UnsafeWay(
        `${step.path} belongs to user ${uid}, who could put another folder in the place of ${path}`,
        `Start the server as that user, give them what is below it (chown -R ${uid} ${path}), or choose a folder with --data that lies in folders of root, such as /var/lib/carillon.`,
      );
    // In a sticky folder others can rename only what is theirs. Of the folder at the end they could still take unused names.
    const isKept = (mode & STICKY) !== 0 && !(isWhole && step.path === path);
    if (isKept || !othersMayWrite(step.found)) continue;
    throw new UnsafeWay(
      `${step.path} can be written to by others (mode ${(mode & 0o7777).toString(8).padStart(5, '0')}), who could exchange what the server keeps in ${path}`,
      `Forbid it (chmod go-w ${step.path}), or choose another folder with --data, such as /var/lib/carillon.`,
    );
  }
}

/** The group of root is root's. What another user allows their own group in their own folder is for them to decide. */
function othersMayWrite({ uid, gid, mode }: Stats): boolean {
  return (mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITES) !== 0 && uid === 0 && gid !== 0);
}

async function lstatIfThere(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    return undefined;
  });
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

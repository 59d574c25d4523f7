/**
 * The way to a folder, as root goes it. Whoever owns a folder on the way can put a link there: root follows it only to what is
 * theirs as well, so that nobody sends a start as root into a folder that is not their own.
 */
import type { Stats } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';

const LINKS_MAX = 40;

export class LinkOfAnotherUser extends Error {
  constructor(link: string, { uid, leadsTo }: { uid: number; leadsTo: string }) {
    super(
      `${link} is a link of user ${uid} and leads to ${leadsTo}, which is not theirs. Root does not follow it: name the folder itself with --data.`,
    );
    this.name = 'LinkOfAnotherUser';
  }
}

/** A link that is not root's, and how many names of the path come after what it says. */
interface ForeignLink {
  readonly path: string;
  readonly uid: number;
  readonly namesAfter: number;
}

/**
 * Answers the path without links, as far as it exists. Links are read one by one: the system, asked where they lead, could
 * answer differently each time.
 */
export async function requireSafeWay(path: string): Promise<string> {
  const rest = namesOf(resolve(path));
  let open: ForeignLink[] = [];
  let real = '/';
  let links = 0;
  for (;;) {
    const reached = open.filter(({ namesAfter }) => namesAfter >= rest.length);
    if (reached.length > 0) await requireOwner(real, reached);
    open = open.filter((link) => !reached.includes(link));
    const name = rest.shift();
    if (name === undefined) return real;
    const here = name === '..' ? dirname(real) : join(real, name);
    const found = await lstatIfThere(here);
    if (found === undefined) {
      await requireOwner(real, open);
      return real;
    }
    if (!found.isSymbolicLink()) {
      real = here;
      continue;
    }
    links += 1;
    const target = await readlink(here);
    const after = await lstat(here);
    if (links > LINKS_MAX || after.ino !== found.ino || after.ctimeMs !== found.ctimeMs)
      throw new Error(`${here} is a link that leads nowhere, or was replaced while it was read.`);
    if (found.uid !== 0) open.push({ path: here, uid: found.uid, namesAfter: rest.length });
    if (isAbsolute(target)) real = '/';
    rest.unshift(...namesOf(target));
  }
}

async function requireOwner(folder: string, links: readonly ForeignLink[]): Promise<void> {
  const { uid: owner } = await lstat(folder);
  const refused = links.find(({ uid }) => uid !== owner);
  if (refused) throw new LinkOfAnotherUser(refused.path, { uid: refused.uid, leadsTo: folder });
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

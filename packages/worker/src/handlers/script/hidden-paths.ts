/**
 * The folders and files that scripts must not see, by what they are and not by their names alone: a script of the worker's own user may
 * rename a folder above them, and the next script would find them under another name while an empty folder is covered. A folder that is not
 * the one that it was keeps scripts from starting, until it is back.
 */
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { UserIds } from './run-folder.ts';

export interface HiddenPath {
  /** Device and inode of `folder`. '-': the user of scripts cannot enter it, so its name is all there is to cover. */
  readonly folderIs: string;
  readonly folder: string;
  /** Within the folder. */
  readonly name: string;
  /** Device and inode of a folder that is hidden. Empty: a file, which may be replaced by another, or what is not there yet. */
  readonly itselfIs: string;
}

export const UNREACHABLE = '-';

/** As they are before the first script runs. `user`: who runs scripts, where that is not the worker's own user. */
export async function locateHidden(
  paths: readonly string[],
  user: UserIds | undefined,
): Promise<HiddenPath[]> {
  const located: HiddenPath[] = [];
  for (const path of new Set(paths.map((each) => resolve(each)))) {
    const itselfIs = await folderIdentity(path);
    const folder = itselfIs === undefined ? await nearestFolder(path) : dirname(path);
    const folderIs = (await canEnter(folder, user)) ? await folderIdentity(folder) : undefined;
    const name = itselfIs === undefined ? relative(folder, path) : basename(path);
    located.push({ folderIs: folderIs ?? UNREACHABLE, folder, name, itselfIs: itselfIs ?? '' });
  }
  return located.filter((one) => !located.some((other) => isWithin(one, other)));
}

export function asWords({ folderIs, folder, name, itselfIs }: HiddenPath): string[] {
  return [folderIs, folder, name, itselfIs];
}

/** Undefined: no folder. */
async function folderIdentity(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found?.isDirectory() ? `${found.dev}:${found.ino}` : undefined;
}

async function nearestFolder(path: string): Promise<string> {
  const above = dirname(path);
  return (await folderIdentity(above)) === undefined && above !== path ? nearestFolder(above) : above;
}

function canEnter(folder: string, user: UserIds | undefined): Promise<boolean> {
  if (!user) return Promise.resolve(true);
  return new Promise((done) => {
    execFile('/usr/bin/test', ['-x', folder], { ...user, cwd: '/', env: {} }, (error) => done(!error));
  });
}

/** What lies in a covered folder is covered with it, and cannot be found in it any more. */
function isWithin(one: HiddenPath, outer: HiddenPath): boolean {
  if (outer.itselfIs === '') return false;
  const way = relative(join(outer.folder, outer.name), join(one.folder, one.name));
  return way !== '' && way !== '..' && !way.startsWith('../');
}

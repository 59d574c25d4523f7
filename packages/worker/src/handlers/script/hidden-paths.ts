/**
 * The folders and files that scripts must not see, by what they are and not by their names alone: a script of the worker's own user may
 * rename a folder above them, and the next script would find them under another name while an empty folder is covered. A folder that is not
 * the one that it was keeps scripts from starting, until it is back.
 */
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { UserIds } from './run-folder.ts';

export interface HiddenPath {
  /** Device and inode of `folder`. '-': the user of scripts cannot reach it, so its name is all there is to cover. */
  readonly identity: string;
  readonly folder: string;
  /** Within the folder; empty: the folder itself. */
  readonly name: string;
}

export const UNREACHABLE = '-';

/** As they are before the first script runs. `user`: who runs scripts, where that is not the worker's own user. */
export async function locateHidden(
  paths: readonly string[],
  user: UserIds | undefined,
): Promise<HiddenPath[]> {
  const located: HiddenPath[] = [];
  for (const path of paths.map((each) => resolve(each))) {
    const folder = await nearestFolder(path);
    const identity = (await canReach(folder, user)) ? await identityOf(folder) : UNREACHABLE;
    located.push({ identity, folder, name: relative(folder, path) });
  }
  return located.filter((one) => !located.some((other) => other !== one && isWithin(one, other)));
}

/** Itself, or the nearest one above it: a file may be replaced by another, and what is missing may be made. */
async function nearestFolder(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const found = await stat(at).catch(() => undefined);
    if (found?.isDirectory() || at === dirname(at)) return at;
  }
}

async function identityOf(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

function canReach(folder: string, user: UserIds | undefined): Promise<boolean> {
  if (!user) return Promise.resolve(true);
  return new Promise((done) => {
    execFile('/usr/bin/test', ['-e', folder], { ...user, cwd: '/', env: {} }, (error) => done(!error));
  });
}

/** What lies in a covered folder is covered with it, and cannot be found in it any more. */
function isWithin({ folder, name }: HiddenPath, outer: HiddenPath): boolean {
  if (outer.name !== '') return false;
  const way = relative(outer.folder, join(folder, name));
  return way !== '' && way !== '..' && !way.startsWith('../');
}

/**
 * Whether a data folder was made by a server in this very place. One that was cloned, unpacked or copied may bring an admin key that
 * somebody else knows and a database whose settings run programs, whatever its owner and modes are. So the first start records
 * when the folder was made; a folder that is moved, or whose disk or volume is attached elsewhere, stays the same. The command
 * judges the folders that it finds by the same record.
 */
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { agreesWithBirth, BIRTH_RECORD, birthRecord } from '@carillon/foundation';
import type { OpenFolder } from './open-folder.ts';

/**
 * What must come from nobody else: the key, the database with its password and programs, and journals, by which SQLite changes
 * and removes files. A link in the place of the former is refused by name when it is used.
 */
function isOwn(entry: Dirent): boolean {
  if (entry.name.startsWith('server.lock.db-')) return true;
  return ['admin.key', 'postgres'].includes(entry.name) && !entry.isSymbolicLink();
}

export class FolderFromElsewhere extends Error {
  constructor(paths: readonly string[]) {
    super(
      `${paths.join(' and ')} was not made by a server in this place: the folder was cloned, copied or restored, or comes from an earlier version. Whoever made it may know the admin key, and decides what the database runs. If it is yours, start once with --trust-folder (or CARILLON_TRUST_FOLDER=true); otherwise remove it, or choose another folder with --data.`,
    );
    this.name = 'FolderFromElsewhere';
  }
}

/** Before anything in the folder is used. */
export async function requireMadeHere(
  folder: OpenFolder,
  { isTrusted }: { isTrusted: boolean },
): Promise<void> {
  if (isTrusted || (await isMadeHere(folder))) return;
  const brought = (await folder.entries()).filter(isOwn).map(({ name }) => join(folder.path, name));
  if (brought.length > 0) throw new FolderFromElsewhere(brought.toSorted());
}

/** Before anything is made in the folder. */
export async function recordMadeHere(folder: OpenFolder): Promise<void> {
  if (await isMadeHere(folder)) return;
  await folder.write(BIRTH_RECORD, birthRecord(await folder.birth()));
}

async function isMadeHere(folder: OpenFolder): Promise<boolean> {
  return agreesWithBirth(await folder.read(BIRTH_RECORD), await folder.birth());
}

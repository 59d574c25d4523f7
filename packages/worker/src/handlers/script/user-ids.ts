/** Who runs scripts, by name. */
import { readFile } from 'node:fs/promises';
import type { UserIds } from './run-folder.ts';

/** A name in the list of users, or numbers as uid or uid:gid; undefined: there is no such user. */
export async function findUserIds(given: string): Promise<UserIds | undefined> {
  const [, uid, gid = uid] = /^(\d+)(?::(\d+))?$/.exec(given) ?? [];
  if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  for (const line of users.split('\n')) {
    const [name, , userId, groupId] = line.split(':');
    // Apple's nobody is -2, which no process can be started with.
    if (name === given && Number(userId) >= 0) return { uid: Number(userId), gid: Number(groupId) };
  }
  return undefined;
}

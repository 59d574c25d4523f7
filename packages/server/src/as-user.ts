/**
 * Does something as root with the rights of another user and of their groups, and no others. Synchronous, since the identity is
 * that of the whole process; what runs beside it in the thread pool has it too for that moment.
 */
import { userInfo } from 'node:os';

/** For users that the system does not know. Never the group of a folder, which may be root's or one they do not belong to. */
export const NO_GROUP = 65_534;

/** The types of Node leave `initgroups` out. */
type UserCalls = NodeJS.Process & {
  initgroups?: (user: number | string, extraGroup: number | string) => void;
};

export function asUser<T>(uid: number, work: () => T): T {
  const { geteuid, getegid, getgroups, seteuid, setegid, setgroups, initgroups }: UserCalls = process;
  if (!geteuid || !getegid || !getgroups || !seteuid || !setegid || !setgroups || !initgroups)
    throw new Error('This system has no users to act for.');
  const own = { uid: geteuid(), gid: getegid(), groups: getgroups() };
  try {
    seteuid(uid);
    const gid = groupOfThisUser();
    seteuid(own.uid);
    try {
      initgroups(uid, gid);
    } catch {
      // Not in the list of users: they are in no group of it either.
      setgroups([gid]);
    }
    setegid(gid);
    seteuid(uid);
    return work();
  } finally {
    seteuid(own.uid);
    setegid(own.gid);
    setgroups(own.groups);
  }
}

function groupOfThisUser(): number {
  try {
    return userInfo().gid;
  } catch {
    return NO_GROUP;
  }
}

/**
 * PostgreSQL refuses to run as root. An ordinary user runs it as itself; root runs it in a user namespace, where the same
 * files stay root's own, or where namespaces are forbidden (most containers) or cannot reach the folder, as an unprivileged
 * system user; in a data folder of another user as that user.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { NO_GROUP } from '../../as-user.ts';

const run = promisify(execFile);

type Ids = { readonly uid: number; readonly gid: number };

export type UnprivilegedUser = {
  readonly kind: 'self' | 'namespace' | 'system_user';
  readonly name: string;
  /** Words put before a command line. */
  readonly prefix: readonly string[];
  /** The owner its files must have. */
  readonly owner: Ids;
  /** The identity to spawn with when it is not our own. */
  readonly spawnAs: Ids | Record<string, never>;
};

const NAMESPACE = ['unshare', '--user', '--map-user=65534', '--map-group=65534'];
const SYSTEM_USERS = ['postgres', '_postgres', 'nobody'];

/**
 * Who may run PostgreSQL in a folder, best first; `only` narrows the choice for a test. Where the folder above it belongs to an
 * ordinary user it is that one alone: they can exchange the database and its settings, which name programs to run, and must
 * gain nobody else's rights by it. Root in a namespace still owns root's files; so whoever ran it last, `ownerUid`, goes first.
 */
export async function unprivilegedUsers({
  ownerAboveUid,
  ownerUid,
  only,
}: {
  ownerAboveUid: number;
  ownerUid: number;
  only: UnprivilegedUser['kind'] | undefined;
}): Promise<UnprivilegedUser[]> {
  const self = { uid: process.geteuid?.() ?? -1, gid: process.getegid?.() ?? -1 };
  if (self.uid !== 0)
    return [{ kind: 'self', name: `user ${self.uid}`, prefix: [], owner: self, spawnAs: {} }];

  const known = await knownUsers();
  if (ownerAboveUid !== 0) return [userOf(ownerAboveUid, known)];

  const users: UnprivilegedUser[] = [];
  if (await namespacesWork()) {
    users.push({
      kind: 'namespace',
      name: 'root in a user namespace',
      prefix: NAMESPACE,
      owner: self,
      spawnAs: {},
    });
  }
  for (const name of SYSTEM_USERS) {
    const ids = known.get(name);
    if (ids) users.push(systemUser(name, ids));
  }
  if (only !== undefined) return users.filter(({ kind }) => kind === only);
  const isLast = ({ owner }: UnprivilegedUser) => ownerUid !== 0 && owner.uid === ownerUid;
  return [...users.filter(isLast), ...users.filter((user) => !isLast(user))];
}

function userOf(uid: number, known: ReadonlyMap<string, Ids>): UnprivilegedUser {
  const ids = [...known.values()].find((user) => user.uid === uid) ?? { uid, gid: NO_GROUP };
  return systemUser(`user ${uid}`, ids);
}

function systemUser(name: string, ids: Ids): UnprivilegedUser {
  return { kind: 'system_user', name, prefix: [], owner: ids, spawnAs: ids };
}

async function namespacesWork(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const [command = '', ...args] = NAMESPACE;
  return await run(command, [...args, 'true']).then(
    () => true,
    () => false,
  );
}

async function knownUsers(): Promise<Map<string, Ids>> {
  const users = new Map<string, Ids>();
  for (const line of (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')) {
    const [name, , uid, gid] = line.split(':');
    // Apple's nobody is -2, which no process can be started with.
    if (name && Number(uid) > 0 && Number(gid) > 0) users.set(name, { uid: Number(uid), gid: Number(gid) });
  }
  return users;
}

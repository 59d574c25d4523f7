/**
 * PostgreSQL refuses to run as root. An ordinary user runs it as itself; root runs it in a user namespace, where the same
 * files stay root's own, or where namespaces are forbidden (most containers) or cannot reach the folder (somebody's
 * home), as the owner of that folder or an unprivileged system user.
 */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

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

/** Who may run PostgreSQL on `dataDir`, best first; `only` narrows the choice for a test. */
export async function unprivilegedUsers(
  dataDir: string,
  only?: UnprivilegedUser['kind'],
): Promise<UnprivilegedUser[]> {
  const self = { uid: process.geteuid?.() ?? -1, gid: process.getegid?.() ?? -1 };
  if (self.uid !== 0)
    return [{ kind: 'self', name: `user ${self.uid}`, prefix: [], owner: self, spawnAs: {} }];

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
  const folderOwner = await ordinaryOwnerAbove(dataDir);
  if (folderOwner) users.push(systemUser(`user ${folderOwner.uid}`, folderOwner));
  const known = await knownUsers();
  for (const name of SYSTEM_USERS) {
    const ids = known.get(name);
    if (ids) users.push(systemUser(name, ids));
  }
  return only === undefined ? users : users.filter(({ kind }) => kind === only);
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

async function ordinaryOwnerAbove(path: string): Promise<Ids | undefined> {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const { uid, gid } = await stat(folder);
    if (uid !== 0) return { uid, gid };
  }
  return undefined;
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

/**
 * Brings the folder of the embedded database into the state PostgreSQL demands before it starts: reachable and owned by
 * the user it runs as, made by the same major version, and without a postmaster or sockets left by a killed server.
 */
import { basename, dirname, join } from 'node:path';
import { ForeignFolder, OpenFolder } from '../../open-folder.ts';
import { adviceFor, EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { forgetStrangersPid, livePostmaster } from './postmaster-file.ts';
import { runProgram } from './run-program.ts';
import { signalAs } from './signal-as.ts';
import { type UnprivilegedUser, unprivilegedUsers } from './unprivileged-user.ts';

/** What Carillon makes in the folder of the database. */
const OWN_NAMES = /^(cluster|binaries|socket|password)(\..*)?$/;

const LEFTOVER_CHECK_MS = 10;
const LEFTOVER_FAST_STOP_MS_MAX = 30_000;
const LEFTOVER_STOP_MS_MAX = 40_000;

/** The folder `path`, made where it is missing, with who runs PostgreSQL in it. */
export async function makeDatabaseDirectory(
  path: string,
  runAs?: UnprivilegedUser['kind'],
): Promise<{ readonly folder: OpenFolder; readonly user: UnprivilegedUser; readonly ownerAboveUid: number }> {
  await using above = await OpenFolder.make(dirname(path), { mode: 0o700 });
  const folder = await above.makeFolder(basename(path), { mode: 0o700 });
  try {
    const user = await giveToFirstWhoReaches(folder, { above, runAs });
    return { folder, user, ownerAboveUid: (await above.owner()).uid };
  } catch (error) {
    await folder.close();
    throw error;
  }
}

async function giveToFirstWhoReaches(
  folder: OpenFolder,
  { above, runAs }: { above: OpenFolder; runAs: UnprivilegedUser['kind'] | undefined },
): Promise<UnprivilegedUser> {
  const dataDir = folder.path;
  const [{ uid: ownerAboveUid }, { uid: ownerUid }] = [await above.owner(), await folder.owner()];
  const users = await unprivilegedUsers({ ownerAboveUid, ownerUid, only: runAs });
  for (const user of users) {
    if (user.kind === 'self') return user;
    if (ownerAboveUid !== 0) requireOwner(folder, { uid: ownerUid, ownerUid: ownerAboveUid });
    else await giveFolder(folder, user);
    if (await reaches(user, dataDir)) return user;
    if (user.kind === 'namespace') continue;
    // The folder above is Carillon's own.
    await above.letPass();
    if (await reaches(user, dataDir)) return user;
  }
  const tried = users.map(({ name }) => name).join(', ') || 'nobody was found';
  throw new EmbeddedPostgresError(
    'no_permission',
    `PostgreSQL does not run as root, and no other user can reach ${dataDir} (tried: ${tried}). Choose a folder with --data that others can pass through (such as /var/lib/carillon), start the server as an ordinary user, or use --database-url.`,
  );
}

/** Whoever owns the folder above can give any folder in it this name, also one of somebody else: nothing there is given to them. */
function requireOwner(folder: OpenFolder, owners: { uid: number; ownerUid: number }): void {
  if (owners.uid !== owners.ownerUid) throw new ForeignFolder(folder.path, owners);
}

async function giveFolder(folder: OpenFolder, { owner }: UnprivilegedUser): Promise<void> {
  if ((await folder.owner()).uid === owner.uid) return;
  await requireNothingElse(folder);
  await removeSocket(folder);
  await folder.remove('cluster.incoming');
  await folder.giveTo(owner);
}

/** Before a folder changes its owner: root may have made it for other things. */
async function requireNothingElse(folder: OpenFolder): Promise<void> {
  const other = (await folder.entries()).find(({ name }) => !OWN_NAMES.test(name));
  if (other)
    throw new EmbeddedPostgresError(
      'no_permission',
      `${folder.path} holds ${other.name}, which is no part of the database of Carillon, so it is not given to another user. Move what is in it elsewhere, or choose another folder with --data.`,
    );
}

/** Refuses files of another major version, or a folder that is no database, before PostgreSQL touches them. */
export async function checkCluster(cluster: OpenFolder, version: string): Promise<void> {
  const made = await cluster.read('PG_VERSION');
  if (made === undefined)
    throw new EmbeddedPostgresError('data_corrupt', adviceFor('data_corrupt', cluster.path));
  const [major = ''] = version.split('.');
  if (made.trim() !== major) {
    throw new EmbeddedPostgresError(
      'other_version',
      `${adviceFor('other_version', cluster.path)} They are of version ${made.trim()}; this is ${major}.`,
    );
  }
}

/**
 * Gives the files to the user PostgreSQL runs as; only root can, and only root changes who that is between starts. In a data
 * folder of another user there is nothing to give.
 */
export async function takeOwnership(
  cluster: OpenFolder,
  { user, ownerAboveUid }: { user: UnprivilegedUser; ownerAboveUid: number },
): Promise<void> {
  const { uid } = await cluster.owner();
  if (user.kind === 'self' || uid === user.owner.uid) return;
  if (ownerAboveUid !== 0) requireOwner(cluster, { uid, ownerUid: ownerAboveUid });
  await cluster.giveAllTo(user.owner);
}

/**
 * Stops a postmaster that a killed server left behind. It is not adopted: it would have nobody to guard it, and it runs
 * with the settings of its time. Its own guardian is stopping it already, so this is mostly waiting.
 */
export async function endLeftover(
  cluster: OpenFolder,
  { user, onFound }: { user: UnprivilegedUser; onFound: (pid: number) => void },
): Promise<void> {
  const pid = await livePostmaster(cluster);
  if (pid !== undefined) {
    onFound(pid);
    await stopLeftover(cluster, { user, pid });
  }
  await forgetStrangersPid(cluster);
}

/** A socket folder emptied of what earlier runs left; undefined when the path is too long for a socket. */
export async function freshSocketDirectory(folder: OpenFolder): Promise<string | undefined> {
  // The system allows about 104 bytes for a socket's path; the file name takes 16 of them.
  const path = join(folder.path, 'socket');
  if (Buffer.byteLength(path) > 85) return undefined;
  await removeSocket(folder);
  await (await folder.makeFolder('socket', { mode: 0o700 })).close();
  return path;
}

async function removeSocket(folder: OpenFolder): Promise<void> {
  // Opened first, since a link there is refused, not replaced: somebody may have put it there for a reason.
  await (await folder.folder('socket'))?.close();
  await folder.remove('socket');
}

async function stopLeftover(
  cluster: OpenFolder,
  { user, pid }: { user: UnprivilegedUser; pid: number },
): Promise<void> {
  const stillRunning = () =>
    new EmbeddedPostgresError(
      'still_running',
      `${adviceFor('still_running', cluster.path)} (process ${pid})`,
    );
  const startedAt = performance.now();
  let sent: NodeJS.Signals | undefined;
  while ((await livePostmaster(cluster)) === pid) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > LEFTOVER_STOP_MS_MAX) throw stillRunning();
    const wanted = waitedMs > LEFTOVER_FAST_STOP_MS_MAX ? 'SIGQUIT' : 'SIGINT';
    if (sent !== wanted) {
      sent = wanted;
      // Whoever owns the files chose the pid: one that they may not stop is not stopped for them.
      const isSent = await signalAs(user, pid, wanted);
      if (!isSent && (await livePostmaster(cluster)) === pid) throw stillRunning();
    }
    await new Promise((resolve) => setTimeout(resolve, LEFTOVER_CHECK_MS));
  }
}

async function reaches(user: UnprivilegedUser, path: string): Promise<boolean> {
  return (await runProgram(user, ['test', '-x', path])).code === 0;
}

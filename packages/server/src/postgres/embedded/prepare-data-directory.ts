/**
 * Brings the folder of the embedded database into the state PostgreSQL demands before it starts: reachable and owned by
 * the user it runs as, made by the same major version, and without a postmaster or sockets left by a killed server.
 */
import { basename, dirname, join } from 'node:path';
import { OpenFolder } from '../../open-folder.ts';
import { adviceFor, EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { forgetStrangersPid, livePostmaster } from './postmaster-file.ts';
import { runProgram } from './run-program.ts';
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
): Promise<{ readonly folder: OpenFolder; readonly user: UnprivilegedUser }> {
  await using above = await OpenFolder.make(dirname(path), { mode: 0o700 });
  const folder = await above.makeFolder(basename(path), { mode: 0o700 });
  try {
    return { folder, user: await giveToFirstWhoReaches(folder, { above, runAs }) };
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
  const users = await unprivilegedUsers(dataDir, {
    ownerAboveUid: (await above.owner()).uid,
    only: runAs,
  });
  for (const user of users) {
    if (user.kind === 'self') return user;
    if ((await folder.owner()).uid !== user.owner.uid) await requireNothingElse(folder);
    await folder.giveTo(user.owner);
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

/**
 * Before a folder changes its owner: who owns the one above can give any folder in it this name, also one that root once made
 * there for other things.
 */
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

/** Gives the files to the user PostgreSQL runs as; only root can, and only root changes who that is between starts. */
export async function takeOwnership(cluster: OpenFolder, user: UnprivilegedUser): Promise<void> {
  if (user.kind === 'self' || (await cluster.owner()).uid === user.owner.uid) return;
  await cluster.giveAllTo(user.owner);
}

/**
 * Stops a postmaster that a killed server left behind. It is not adopted: it would have nobody to guard it, and it runs
 * with the settings of its time. Its own guardian is stopping it already, so this is mostly waiting.
 */
export async function endLeftover(cluster: OpenFolder, onFound: (pid: number) => void): Promise<void> {
  const pid = await livePostmaster(cluster);
  if (pid !== undefined) {
    onFound(pid);
    await stopLeftover(cluster, pid);
  }
  await forgetStrangersPid(cluster);
}

/** A socket folder emptied of what earlier runs left; undefined when the path is too long for a socket. */
export async function freshSocketDirectory(
  folder: OpenFolder,
  user: UnprivilegedUser,
): Promise<string | undefined> {
  // The system allows about 104 bytes for a socket's path; the file name takes 16 of them.
  const path = join(folder.path, 'socket');
  if (Buffer.byteLength(path) > 85) return undefined;
  // Opened first, since a link there is refused, not replaced: somebody may have put it there for a reason.
  await (await folder.folder('socket'))?.close();
  await folder.remove('socket');
  await using made = await folder.makeFolder('socket', { mode: 0o700 });
  if (user.kind !== 'self') await made.giveTo(user.owner);
  return path;
}

async function stopLeftover(cluster: OpenFolder, pid: number): Promise<void> {
  const startedAt = performance.now();
  let sent: NodeJS.Signals | undefined;
  while ((await livePostmaster(cluster)) === pid) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > LEFTOVER_STOP_MS_MAX) {
      throw new EmbeddedPostgresError(
        'still_running',
        `${adviceFor('still_running', cluster.path)} (process ${pid})`,
      );
    }
    const wanted = waitedMs > LEFTOVER_FAST_STOP_MS_MAX ? 'SIGQUIT' : 'SIGINT';
    if (sent !== wanted) {
      sent = wanted;
      process.kill(pid, wanted);
    }
    await new Promise((resolve) => setTimeout(resolve, LEFTOVER_CHECK_MS));
  }
}

async function reaches(user: UnprivilegedUser, path: string): Promise<boolean> {
  return (await runProgram(user, ['test', '-x', path])).code === 0;
}

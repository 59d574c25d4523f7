/**
 * Brings the folder of the embedded database into the state PostgreSQL demands before it starts: reachable and owned by
 * the user it runs as, made by the same major version, and without a postmaster or sockets left by a killed server.
 */
import { chmod, chown, lchown, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../make-folder.ts';
import { adviceFor, EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { forgetStrangersPid, livePostmaster } from './postmaster-file.ts';
import { runProgram } from './run-program.ts';
import { type UnprivilegedUser, unprivilegedUsers } from './unprivileged-user.ts';

const LEFTOVER_CHECK_MS = 10;
const LEFTOVER_FAST_STOP_MS_MAX = 30_000;
const LEFTOVER_STOP_MS_MAX = 40_000;

/** Makes the folder and picks who runs PostgreSQL in it: the first that can reach it. */
export async function makeDatabaseDirectory(
  dataDir: string,
  runAs?: UnprivilegedUser['kind'],
): Promise<UnprivilegedUser> {
  await makeFolder(dataDir, { mode: 0o700 });
  const users = await unprivilegedUsers(dataDir, runAs);
  for (const user of users) {
    if (user.kind === 'self') return user;
    await chown(dataDir, user.owner.uid, user.owner.gid);
    if (await reaches(user, dataDir)) return user;
    if (user.kind === 'namespace') continue;
    // The folder above is Carillon's own: others may pass through it, which shows them nothing.
    const above = dirname(dataDir);
    await chmod(above, ((await stat(above)).mode & 0o777) | 0o011);
    if (await reaches(user, dataDir)) return user;
  }
  const tried = users.map(({ name }) => name).join(', ') || 'nobody was found';
  throw new EmbeddedPostgresError(
    'no_permission',
    `PostgreSQL does not run as root, and no other user can reach ${dataDir} (tried: ${tried}). Choose a folder with --data that others can pass through (such as /var/lib/carillon), start the server as an ordinary user, or use --database-url.`,
  );
}

/** Refuses files of another major version, or a folder that is no database, before PostgreSQL touches them. */
export async function checkCluster(cluster: string, version: string): Promise<void> {
  const made = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new EmbeddedPostgresError('data_corrupt', adviceFor('data_corrupt', cluster));
  });
  const [major = ''] = version.split('.');
  if (made.trim() !== major) {
    throw new EmbeddedPostgresError(
      'other_version',
      `${adviceFor('other_version', cluster)} They are of version ${made.trim()}; this is ${major}.`,
    );
  }
}

/** Gives the files to the user PostgreSQL runs as; only root can, and only root changes who that is between starts. */
export async function takeOwnership(cluster: string, user: UnprivilegedUser): Promise<void> {
  if (user.kind === 'self' || (await stat(cluster)).uid === user.owner.uid) return;
  const { uid, gid } = user.owner;
  for (const entry of await readdir(cluster, { recursive: true }))
    await lchown(join(cluster, entry), uid, gid);
  // The folder itself last: its owner is what tells that all of it was done.
  await chown(cluster, uid, gid);
}

/**
 * Stops a postmaster that a killed server left behind. It is not adopted: it would have nobody to guard it, and it runs
 * with the settings of its time. Its own guardian is stopping it already, so this is mostly waiting.
 */
export async function endLeftover(cluster: string, onFound: (pid: number) => void): Promise<void> {
  const pid = await livePostmaster(cluster);
  if (pid !== undefined) {
    onFound(pid);
    await stopLeftover(cluster, pid);
  }
  await forgetStrangersPid(cluster);
}

/** A socket folder emptied of what earlier runs left; undefined when the path is too long for a socket. */
export async function freshSocketDirectory(
  dataDir: string,
  user: UnprivilegedUser,
): Promise<string | undefined> {
  // The system allows about 104 bytes for a socket's path; the file name takes 16 of them.
  const path = join(dataDir, 'socket');
  if (Buffer.byteLength(path) > 85) return undefined;
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { mode: 0o700 });
  if (user.kind !== 'self') await chown(path, user.owner.uid, user.owner.gid);
  return path;
}

async function stopLeftover(cluster: string, pid: number): Promise<void> {
  const startedAt = performance.now();
  let sent: NodeJS.Signals | undefined;
  while ((await livePostmaster(cluster)) === pid) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > LEFTOVER_STOP_MS_MAX) {
      throw new EmbeddedPostgresError(
        'still_running',
        `${adviceFor('still_running', cluster)} (process ${pid})`,
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

/**
 * Starts the PostgreSQL that comes with Carillon on a data directory and promises three things: what was committed before
 * any crash is there again, nothing of it outlives this process, and a failure says what to do. The caller holds the lock
 * of the data directory: a postmaster found alive here was left by a killed server.
 */
import { resolve } from 'node:path';
import type { OpenFolder } from '../../open-folder.ts';
import {
  type CreateClusterOptions,
  createCluster,
  DATABASE,
  readPassword,
  SUPERUSER,
} from './create-cluster.ts';
import { adviceFor, EmbeddedPostgresError, type EmbeddedPostgresProblem } from './embedded-postgres-error.ts';
import type { PostmasterExit } from './guarded-postmaster.ts';
import { launchPostmaster } from './launch-postmaster.ts';
import {
  copyPostgresBinaries,
  installedBinaries,
  type PostgresBinaries,
  preparePostgresBinaries,
} from './postgres-binaries.ts';
import {
  checkCluster,
  endLeftover,
  freshSocketDirectory,
  makeDatabaseDirectory,
  takeOwnership,
} from './prepare-data-directory.ts';
import { runProgram } from './run-program.ts';
import type { UnprivilegedUser } from './unprivileged-user.ts';

export type EmbeddedPostgresLog = Record<'debug' | 'info' | 'warn' | 'error', (message: string) => void>;

export type StartEmbeddedPostgresOptions = {
  readonly dataDir: string;
  /** The folder of a binaries package, when it is not the installed one. */
  readonly binaries?: string;
  readonly log: EmbeddedPostgresLog;
  /** A fixed port; by default a free one is chosen. */
  readonly port?: number;
  /** Reached through a unix socket in the data directory alone, where its path is short enough for one. */
  readonly socketOnly?: boolean;
  readonly settings?: Readonly<Record<string, string>>;
  /** Narrows how root drops its rights; for tests. */
  readonly runAs?: UnprivilegedUser['kind'];
};

export type EmbeddedPostgres = {
  readonly url: string;
  readonly version: string;
  readonly pid: number;
  /** Calls back once when PostgreSQL has ended, also when it died by itself (`requested: false`). */
  onExit(listener: (exit: PostmasterExit) => void): void;
  stop(): Promise<void>;
};

export async function startEmbeddedPostgres(
  options: StartEmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  try {
    return await start(dataDir, options);
  } catch (error) {
    throw explained(error, dataDir);
  }
}

async function start(dataDir: string, options: StartEmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log } = options;
  const made = await makeDatabaseDirectory(dataDir, options.runAs);
  await using folder = made.folder;
  const { user } = made;
  const { binaries, version } = await runnableBinaries(options.binaries ?? installedBinaries(), {
    folder,
    user,
  });

  await using cluster = await openCluster({ folder, binaries, user });
  await checkCluster(cluster, version);
  await takeOwnership(cluster, made);
  await endLeftover(cluster, {
    user,
    onFound: (pid) => log.warn(`stopping PostgreSQL ${pid}, left behind by a killed server`),
  });

  const socketDir = await freshSocketDirectory(folder);
  const isSocketOnly = options.socketOnly === true && socketDir !== undefined;
  const { postmaster, port } = await launchPostmaster({
    cluster,
    postgres: binaries.postgres,
    version,
    user,
    socketDir,
    isSocketOnly,
    port: options.port,
    settings: options.settings ?? {},
    onLine: (line) => logLine(log, line),
    onSlow: (seconds) => log.info(`PostgreSQL is recovering from a crash: ${seconds} s so far`),
  });
  const password = await readPassword(folder);
  return {
    url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}${isSocketOnly ? `?host=${encodeURIComponent(socketDir)}` : ''}`,
    version,
    pid: postmaster.pid,
    onExit: (listener) => void postmaster.exited.then(listener),
    stop: () => postmaster.stop(),
  };
}

async function openCluster(options: CreateClusterOptions): Promise<OpenFolder> {
  const present = await options.folder.folder('cluster');
  if (present) return present;
  return createCluster(options);
}

// Whom root hands over to may be unable to read where the packages lie (a home folder): then there is a copy.
async function runnableBinaries(
  packageDir: string,
  { folder, user }: { folder: OpenFolder; user: UnprivilegedUser },
): Promise<{ binaries: PostgresBinaries; version: string }> {
  const candidates = [
    () => preparePostgresBinaries(packageDir, folder),
    () => copyPostgresBinaries(packageDir, folder),
  ];
  let output = '';
  for (const candidate of user.kind === 'self' ? candidates.slice(0, 1) : candidates) {
    const binaries = await candidate();
    const asked = await runProgram(user, [binaries.postgres, '--version']);
    const version = /\(PostgreSQL\) (\d+(\.\d+)*)/.exec(asked.output)?.[1];
    if (version) return { binaries, version };
    output = asked.output;
  }
  throw new EmbeddedPostgresError('binaries_unusable', adviceFor('binaries_unusable', folder.path), {
    output,
  });
}

// A statement's own FATAL (a dropped connection) is everyday; only a PANIC is the server's.
function logLine(log: EmbeddedPostgresLog, line: string): void {
  const message = `postgres: ${line}`;
  if (line.startsWith('PANIC')) log.error(message);
  else if (line.startsWith('WARNING')) log.warn(message);
  else log.debug(message);
}

function explained(error: unknown, dataDir: string): unknown {
  const problems: Record<string, EmbeddedPostgresProblem> = {
    EACCES: 'no_permission',
    EPERM: 'no_permission',
    EROFS: 'no_permission',
    ENOSPC: 'disk_full',
    EDQUOT: 'disk_full',
  };
  const problem = problems[(error as NodeJS.ErrnoException).code ?? ''];
  return problem ? new EmbeddedPostgresError(problem, adviceFor(problem, dataDir), { cause: error }) : error;
}

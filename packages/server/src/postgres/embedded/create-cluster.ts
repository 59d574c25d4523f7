/**
 * Makes the files of a new database, complete with user, password and the database `carillon`, in a scratch folder that
 * gets its final name only when everything is there: an interrupted first start leaves nothing that looks finished.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { OpenFolder } from '../../open-folder.ts';
import { adviceFor, EmbeddedPostgresError, problemFromOutput } from './embedded-postgres-error.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { type ProgramResult, runProgram } from './run-program.ts';
import type { UnprivilegedUser } from './unprivileged-user.ts';

export const DATABASE = 'carillon';
export const SUPERUSER = 'carillon';

export type CreateClusterOptions = {
  readonly folder: OpenFolder;
  readonly binaries: PostgresBinaries;
  readonly user: UnprivilegedUser;
};

/** Makes `cluster` in `folder`, which belongs to `user`. */
export async function createCluster({ folder, binaries, user }: CreateClusterOptions): Promise<OpenFolder> {
  const scratch = join(folder.path, 'cluster.incoming');
  await folder.remove('cluster.incoming');
  await folder.write('password', `${randomBytes(24).toString('base64url')}\n`);

  const initdb = await runProgram(user, [
    binaries.initdb,
    `--pgdata=${scratch}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${join(folder.path, 'password')}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
    '--no-instructions',
  ]);
  check(initdb, folder.path);

  const createDatabase = await runProgram(
    user,
    [
      binaries.postgres,
      '--single',
      '-D',
      scratch,
      '-c',
      'fsync=off',
      '-c',
      'dynamic_shared_memory_type=mmap',
      'postgres',
    ],
    { input: `CREATE DATABASE ${DATABASE}\n` },
  );
  check(createDatabase, folder.path);
  return folder.rename('cluster.incoming', 'cluster');
}

export async function readPassword(folder: OpenFolder): Promise<string> {
  const password = await folder.read('password');
  if (password === undefined)
    throw new EmbeddedPostgresError('data_corrupt', adviceFor('data_corrupt', folder.path));
  return password.trim();
}

// Single-user PostgreSQL exits with 0 after a failed statement, so its words are read as well.
function check(result: ProgramResult, dataDir: string): void {
  if (result.code === 0 && !/ERROR|FATAL|PANIC/.test(result.output)) return;
  const problem = problemFromOutput(result.output);
  throw new EmbeddedPostgresError(problem, adviceFor(problem, dataDir), { output: result.output });
}

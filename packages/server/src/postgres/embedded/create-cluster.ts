/**
 * Makes the files of a new database, complete with user, password and the database `carillon`, in a scratch folder that
 * gets its final name only when everything is there: an interrupted first start leaves nothing that looks finished.
 */
import { randomBytes } from 'node:crypto';
import { chown, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { adviceFor, EmbeddedPostgresError, problemFromOutput } from './embedded-postgres-error.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { type ProgramResult, runProgram } from './run-program.ts';
import type { UnprivilegedUser } from './unprivileged-user.ts';

export const DATABASE = 'carillon';
export const SUPERUSER = 'carillon';

export type CreateClusterOptions = {
  readonly dataDir: string;
  readonly cluster: string;
  readonly binaries: PostgresBinaries;
  readonly user: UnprivilegedUser;
};

export async function createCluster({
  dataDir,
  cluster,
  binaries,
  user,
}: CreateClusterOptions): Promise<void> {
  const scratch = `${cluster}.incoming`;
  const passwordFile = join(dataDir, 'password');
  await rm(scratch, { recursive: true, force: true });
  await writePassword(passwordFile, user);

  const initdb = await runProgram(user, [
    binaries.initdb,
    `--pgdata=${scratch}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
    '--no-instructions',
  ]);
  check(initdb, dataDir);

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
  check(createDatabase, dataDir);
  await rename(scratch, cluster);
}

export async function readPassword(dataDir: string): Promise<string> {
  return (await readFile(join(dataDir, 'password'), 'utf8')).trim();
}

async function writePassword(path: string, user: UnprivilegedUser): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${randomBytes(24).toString('base64url')}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  if (user.kind !== 'self') await chown(path, user.owner.uid, user.owner.gid);
}

// Single-user PostgreSQL exits with 0 after a failed statement, so its words are read as well.
function check(result: ProgramResult, dataDir: string): void {
  if (result.code === 0 && !/ERROR|FATAL|PANIC/.test(result.output)) return;
  const problem = problemFromOutput(result.output);
  throw new EmbeddedPostgresError(problem, adviceFor(problem, dataDir), { output: result.output });
}

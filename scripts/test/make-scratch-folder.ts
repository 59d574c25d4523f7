/**
 * A folder in memory for the databases of a test run, for as long as it takes. They make and remove hundreds of thousands of small
 * files: on some disks that took a third of the CPU time of their tests. Where memory is short, or nothing can be executed there (as in
 * many containers), there is none, and the usual folder does.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface ScratchFolder {
  readonly path: string;
  remove(): Promise<void>;
}

/** Linux has it; elsewhere it is missing. */
const MEMORY = '/dev/shm';
const PREFIX = 'carillon-';
/** A run fills less than a quarter of it. */
const BYTES_MIN = 4 * 1_024 ** 3;
/** The processes of the tests need some, too. */
const FREE_MEMORY_MIN = 2 * BYTES_MIN;

export async function makeScratchFolder(): Promise<ScratchFolder | undefined> {
  await removeLeftovers();
  if (!(await hasRoom())) return undefined;
  // Short: paths of sockets in it must fit into 104 bytes.
  const path = await mkdtemp(join(MEMORY, `${PREFIX}${process.pid}-`)).catch(() => undefined);
  if (path === undefined) return undefined;
  // A database of a test that was interrupted may still write: what it leaves is removed by the next run.
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 5 }).catch(() => undefined);
  if (await canExecute(path)) return { path, remove };
  await remove();
  return undefined;
}

async function hasRoom(): Promise<boolean> {
  const found = await statfs(MEMORY).catch(() => undefined);
  return found !== undefined && found.bavail * found.bsize >= BYTES_MIN && freemem() >= FREE_MEMORY_MIN;
}

/** Programs of PostgreSQL are copied there where its user cannot read the checkout. */
async function canExecute(path: string): Promise<boolean> {
  // As /tmp: databases run as another user.
  await chmod(path, 0o1777);
  const program = join(path, 'probe');
  await writeFile(program, '#!/bin/sh\n', { mode: 0o755 });
  try {
    await promisify(execFile)(program);
    return true;
  } catch {
    return false;
  } finally {
    await rm(program);
  }
}

/** Of runs that were killed. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(MEMORY).catch(() => [])) {
    const [, pid] = /^carillon-(\d+)-\w{6}$/.exec(name) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    await rm(join(MEMORY, name), { recursive: true, force: true }).catch(() => {
      // Another user's: theirs to remove.
    });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

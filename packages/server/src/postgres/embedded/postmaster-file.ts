/**
 * Reads PostgreSQL's own record of the postmaster of a data directory (postmaster.pid), and decides whether that process
 * is truly alive and truly this directory's: a pid in a file may since belong to anybody.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { OpenFolder } from '../../open-folder.ts';

const run = promisify(execFile);

const FILE = 'postmaster.pid';

// No system gives out this pid, so PostgreSQL finds its holder dead.
const NOBODYS_PID = 2_147_483_646;

export type Postmaster = { readonly pid: number; readonly status: string };

/** What the file says, or undefined when there is none (or it is just being written). */
export async function readPostmasterFile(cluster: OpenFolder): Promise<Postmaster | undefined> {
  const lines = ((await cluster.read(FILE)) ?? '').split('\n');
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  // The eighth line is PostgreSQL's word on how far it is: starting, ready, stopping, standby.
  return { pid, status: (lines[7] ?? '').trim() };
}

/** The pid of a living postmaster of exactly this directory, left by an earlier run. */
export async function livePostmaster(cluster: OpenFolder): Promise<number | undefined> {
  const recorded = await readPostmasterFile(cluster);
  if (!recorded) return undefined;
  const command = await commandLine(recorded.pid);
  return command.includes(`postgres -D ${cluster.path} `) ? recorded.pid : undefined;
}

/**
 * Makes PostgreSQL ignore a recorded pid that now belongs to a stranger. Only the pid is replaced: the rest of the file
 * names the shared memory by which PostgreSQL recognises orphaned backends, and that check must stay.
 */
export async function forgetStrangersPid(cluster: OpenFolder): Promise<void> {
  const recorded = await readPostmasterFile(cluster);
  if (!recorded || !isListed(recorded.pid)) return;
  const text = (await cluster.read(FILE)) ?? '';
  await cluster.write(FILE, text.replace(/^\d+/, String(NOBODYS_PID)));
}

/** Whether the process still runs; one that ended but was never collected by its parent does not. */
export async function isRunning(pid: number): Promise<boolean> {
  if (!isListed(pid)) return false;
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return !/^\d+ \(.*\) [ZX] /s.test(stat);
}

function isListed(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return text.replaceAll('\0', ' ');
  }
  const { stdout } = await run('ps', ['-ww', '-o', 'args=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout;
}

/** What the operating system says about processes: tests of crashes believe it, and not what the program says about itself. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface ListedProcess {
  readonly pid: number;
  readonly parentPid: number;
  readonly command: string;
}

/** Living processes; those that ended and were not collected yet are left out. */
export async function listProcesses(): Promise<ListedProcess[]> {
  const { stdout } = await run('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parentPid, state, command = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s*(.*)$/.exec(line) ?? [];
    if (pid === undefined || state?.startsWith('Z')) return [];
    return [{ pid: Number(pid), parentPid: Number(parentPid), command }];
  });
}

/** Processes that belong to a folder: it is in their command line, or they work in it. */
export async function processesOf(folder: string): Promise<ListedProcess[]> {
  const listed = await listProcesses();
  const inside = await Promise.all(
    listed.map(async ({ pid, command }) => {
      if (pid === process.pid) return false;
      // Only Linux tells; elsewhere the command line has to do.
      const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
      return command.includes(folder) || cwd.startsWith(folder);
    }),
  );
  return listed.filter((_, i) => inside[i]);
}

/** The process and everything below it, the process first. */
export async function processTree(pid: number): Promise<number[]> {
  const listed = await listProcesses();
  const tree = [pid];
  for (let i = 0; i < tree.length; i += 1) {
    for (const child of listed) if (child.parentPid === tree[i]) tree.push(child.pid);
  }
  return tree;
}

/** One that ended meanwhile needs no signal. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

// Below the ports that systems give to outgoing connections: what is restarted must find its port free again.
const PORT_MIN = 20_000;
const PORTS = 10_000;

/** A port nobody listens on, that nobody gets by chance, and that no other test of this machine has as long as this process lives. */
export async function fixedPort(): Promise<number> {
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * PORTS);
    if (!reserve(port)) continue;
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

const RESERVED = join(tmpdir(), 'carillon-test-ports');

/** Two tests that look at the same time both find it free: the server of one would be taken for that of the other. */
function reserve(port: number): boolean {
  mkdirSync(RESERVED, { recursive: true, mode: 0o777 });
  const file = join(RESERVED, String(port));
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    if (existsSync(`/proc/${readOwner(file)}`) || process.platform !== 'linux') return false;
    rmSync(file, { force: true });
    return false;
  }
}

function readOwner(file: string): string {
  try {
    return readFileSync(file, 'utf8') || String(process.pid);
  } catch {
    return String(process.pid);
  }
}

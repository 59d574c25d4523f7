/**
 * The launcher of a worker: a small process beside it that starts its scripts. A process is started by copying the one that starts it, and
 * copying the memory map of a server takes longer than a script (300 MB: 10 ms of processor time, and nothing else runs meanwhile). The
 * worker says by a pipe what to start. The launcher ends with the worker, and what it has started ends with it.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readlinkSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { machineMs } from './guard-program.ts';
import { readProcess } from './process-table.ts';
import { signalTo } from './process-tree.ts';

export const LAUNCHER_PROGRAM = import.meta.url;

export interface LaunchOrder {
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** In a session and a group of its own. */
  readonly isDetached?: boolean;
  /** Descriptors of the worker that become 0 and following ones. Left out: it reads and writes nothing. */
  readonly descriptors?: readonly number[];
  /** One descriptor more, open as long as the launcher lives. What is written to it is told with the end, or to nobody. */
  readonly last?: 'told' | 'kept';
  /** Base64 of what can be read there at first. */
  readonly handed?: string;
  /** By the clock of the machine: not started after it. */
  readonly beforeMs?: number | undefined;
  /** Killed after it. */
  readonly timeoutMs?: number;
}

/** One line of JSON each. */
export type OrderLine = LaunchOrder & { readonly id: number };

export interface LaunchEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly said: string;
}

export type LauncherLine =
  | { readonly is: 'ready'; readonly canOpen: boolean }
  | { readonly is: 'started'; readonly id: number; readonly pid: number; readonly startedAt: string }
  | { readonly is: 'failed'; readonly id: number; readonly code: string; readonly message: string }
  | ({ readonly is: 'ended'; readonly id: number } & LaunchEnd);

/** A service manager may tell the whole group to end: the worker decides when its scripts are over, and the pipe tells. */
const NOT_HEEDED = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const SAID_MAX = 1_000;
/** What holds the last descriptor is killed with the process that has ended. */
const SAID_WITHIN_MS = 200;

/** Not waited for yet: the numbers are still theirs. */
const running = new Set<number>();

/** What the process runs. */
export function launch(): void {
  process.title = 'carillon-launcher';
  for (const signal of NOT_HEEDED) process.on(signal, () => undefined);
  const end = () => {
    // They end with this process anyway, but for those that have just begun.
    for (const pid of running) {
      signalTo(-pid, 'SIGKILL');
      signalTo(pid, 'SIGKILL');
    }
    process.exit(0);
  };
  process.stdin.once('error', end).once('end', end);
  process.stdout.once('error', end);
  const tell = (line: LauncherLine) => process.stdout.write(`${JSON.stringify(line)}\n`);
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) startWithOpened(JSON.parse(line) as OrderLine, tell);
  });
  tell({ is: 'ready', canOpen: canOpen() });
}

/** Read once: when the worker has died, another process takes its place as the parent. */
const WORKER = process.ppid;

/** What the worker has open, by its numbers: names may be those of other files by now. */
function pathOf(fd: number): string {
  if (process.ppid !== WORKER) throw new Error('the worker has ended');
  return `/proc/${WORKER}/fd/${fd}`;
}

/** Not if the worker is a program with rights of its own, for example. */
function canOpen(): boolean {
  try {
    return readlinkSync(pathOf(0)) !== '';
  } catch {
    return false;
  }
}

function startWithOpened(order: OrderLine, tell: (line: LauncherLine) => void): void {
  const opened: number[] = [];
  try {
    for (const fd of order.descriptors ?? [])
      opened.push(openSync(pathOf(fd), opened.length === 0 ? constants.O_RDONLY : constants.O_WRONLY));
    startOrder(order.descriptors ? { ...order, descriptors: opened } : order, tell);
  } catch (error) {
    tell(failureOf(order.id, error));
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

/** With descriptors of this process. */
export function startOrder(order: OrderLine, tell: (line: LauncherLine) => void): void {
  const { id, beforeMs } = order;
  try {
    if (beforeMs !== undefined && machineMs() >= beforeMs)
      throw new Error('the trust in the worker ended before it was started');
    const child = spawnOrdered(order);
    child.once('error', (error) => tell(failureOf(id, error)));
    // It cannot have been waited for: the number is still its own.
    if (child.pid === undefined) return;
    const { pid } = child;
    running.add(pid);
    child.once('exit', () => running.delete(pid));
    tell({ is: 'started', id, pid, startedAt: readProcess(pid)?.startedAt ?? '' });
    followToEnd(child, order, (end) => tell({ is: 'ended', id, ...end }));
  } catch (error) {
    tell(failureOf(id, error));
  }
}

function spawnOrdered(order: OrderLine): ChildProcess {
  const { descriptors, last, timeoutMs, user, cwd, env, isDetached = false } = order;
  const [program = '', ...args] = order.command;
  const stdio: StdioOptions = descriptors ? [...descriptors, ...(last ? ['pipe' as const] : [])] : 'ignore';
  return spawn(program, args, {
    ...{ cwd, env, stdio, detached: isDetached, ...user },
    ...(timeoutMs !== undefined && { timeout: timeoutMs, killSignal: 'SIGKILL' }),
  });
}

function followToEnd(
  child: ChildProcess,
  { last, handed }: OrderLine,
  onEnd: (end: LaunchEnd) => void,
): void {
  const from = last && (child.stdio.at(-1) as Duplex | undefined);
  if (handed !== undefined) from?.write(Buffer.from(handed, 'base64'));
  let said = '';
  from?.on('data', (bytes: Buffer) => {
    if (said.length < SAID_MAX) said += bytes.toString('latin1');
  });
  from?.on('error', () => undefined);
  child.once('exit', (code, signal) => {
    if (!from || last !== 'told' || from.destroyed) {
      onEnd({ code, signal, said });
      return;
    }
    const tellEnd = () => {
      clearTimeout(timer);
      from.off('close', tellEnd);
      onEnd({ code, signal, said });
    };
    const timer = setTimeout(tellEnd, SAID_WITHIN_MS);
    from.once('close', tellEnd);
  });
}

function failureOf(id: number, error: unknown): LauncherLine {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return { is: 'failed', id, code, message };
}

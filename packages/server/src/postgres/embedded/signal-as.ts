/**
 * Sends a signal with the rights of the user that runs PostgreSQL. They write the pid that is believed (in postmaster.pid, or as the
 * first line of the guardian), so root must not end for them a process that they could not end themselves.
 */
import { runProgram } from './run-program.ts';
import type { UnprivilegedUser } from './unprivileged-user.ts';

/** Whether it was sent: not where the process has ended, nor where it is not the user's. */
export async function signalAs(
  user: UnprivilegedUser,
  pid: number,
  signal: NodeJS.Signals,
): Promise<boolean> {
  // Zero and negative numbers name groups of processes.
  if (!(pid > 0)) return false;
  // By a process that is the user's altogether: one with only their effective id may still signal those of its real one, root.
  if (user.spawnAs.uid !== undefined) {
    const kill = ['/bin/sh', '-c', 'kill -s "$1" "$2"', 'kill', signal.replace(/^SIG/, ''), String(pid)];
    return (await runProgram(user, kill)).code === 0;
  }
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return false;
  }
}

/**
 * Starts a server that cannot outlive the bench. The server hangs on a shell that waits on a pipe from this process: when
 * the bench ends in any way, `kill -9` included, the pipe closes and the shell stops the server. It runs in a process
 * group of its own, so that a Ctrl-C reaches it through the bench only, in order.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const stopPatienceMs = 15_000;

// Until `wait`, the shell keeps a server that died by itself as its zombie: the pid it signals is never somebody else's.
const tether = `
log=$1; signal=$2; shift 2
"$@" </dev/null >>"$log" 2>&1 &
server=$!
echo "$server"
exec >/dev/null
cat
kill -s "$signal" "$server" 2>/dev/null
wait "$server"
`;

export async function startTetheredProcess(options: {
  command: readonly string[];
  logFile: string;
  stopSignal: 'INT' | 'TERM';
}): Promise<{ readonly pid: number; stop(): Promise<void> }> {
  const { command, logFile, stopSignal } = options;
  const shell = spawn('sh', ['-c', tether, 'sh', logFile, stopSignal, ...command], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(shell, 'exit');
  const [line] = (await once(shell.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString().trim());
  // A pipe whose reader is gone must not bring the bench down while it is stopping.
  shell.stdin.on('error', () => {});

  return {
    pid,
    async stop() {
      shell.stdin.end();
      const killer = setTimeout(() => killIfAlive(pid), stopPatienceMs);
      await exited;
      clearTimeout(killer);
    },
  };
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

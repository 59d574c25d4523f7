/**
 * Runs one postmaster under a guardian so small that it cannot fail: a shell that holds a pipe from us and stops
 * PostgreSQL when the pipe closes. So PostgreSQL never outlives this process, even one ended by kill -9.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isRunning } from './postmaster-file.ts';
import { PROGRAM_ENVIRONMENT } from './run-program.ts';
import { signalAs } from './signal-as.ts';
import type { UnprivilegedUser } from './unprivileged-user.ts';

const FAST_STOP_MS_MAX = 30_000;
const IMMEDIATE_STOP_MS_MAX = 10_000;
const LOST_POSTMASTER_CHECK_MS = 20;
const OUTPUT_LINES_MAX = 200;

// The guardian waits for PostgreSQL; its helper waits for the pipe (descriptor 4, since a background command's own input
// is /dev/null). Whichever happens first ends the other. SIGINT is the fast stop: clients are dropped, data is written.
const GUARDIAN = `
exec 4<&0 </dev/null
"$@" 4<&- >&2 &
postgres=$!
echo "$postgres"
exec >/dev/null
{
  while read -r line <&4; do :; done
  kill -INT "$postgres" 2>/dev/null
  seconds=0
  while kill -0 "$postgres" 2>/dev/null && [ "$seconds" -lt 60 ]; do sleep 1; seconds=$((seconds + 1)); done
  kill -QUIT "$postgres" 2>/dev/null
} 2>/dev/null &
helper=$!
exec 4<&-
wait "$postgres"
code=$?
kill "$helper" 2>/dev/null
exit "$code"
`;

export type PostmasterExit = { readonly code: number | undefined; readonly requested: boolean };

export type GuardedPostmaster = {
  readonly pid: number;
  /** The last lines it wrote, for an error that must explain itself. */
  output(): string;
  /** Settles when PostgreSQL has ended, for whatever reason. */
  readonly exited: Promise<PostmasterExit>;
  hasExited(): boolean;
  /** Fast stop; immediate stop when that takes too long. Resolves when it has ended. */
  stop(): Promise<void>;
};

export type GuardOptions = {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly user: UnprivilegedUser;
  readonly onLine: (line: string) => void;
};

export async function guardPostmaster({
  command,
  cwd,
  user,
  onLine,
}: GuardOptions): Promise<GuardedPostmaster> {
  const guardian = spawn(
    '/bin/sh',
    ['-c', GUARDIAN, 'carillon-postgres-guardian', ...user.prefix, ...command],
    {
      ...user.spawnAs,
      cwd,
      env: PROGRAM_ENVIRONMENT,
      stdio: ['pipe', 'pipe', 'pipe'],
      // A session of its own: Ctrl-C in the terminal must reach the server only, which then stops us in order.
      detached: true,
    },
  );
  // The pipe is only ever closed, never written; if the guardian dies first, its end says so more clearly.
  guardian.stdin.on('error', () => {});

  const lines: string[] = [];
  createInterface({ input: guardian.stderr }).on('line', (line) => {
    lines.push(line);
    if (lines.length > OUTPUT_LINES_MAX) lines.shift();
    onLine(line);
  });

  let pid = 0;
  let requested = false;
  let ended = false;
  const exited = new Promise<PostmasterExit>((resolve, reject) => {
    guardian.on('error', reject);
    guardian.on('close', (code) => {
      void endOf(pid, user).then(() => {
        ended = true;
        resolve({ code: code ?? undefined, requested });
      });
    });
  });
  pid = await Promise.race([
    firstNumber(guardian.stdout),
    exited.then(() =>
      Promise.reject(new Error(`The guardian of PostgreSQL ended early: ${lines.join('\n')}`)),
    ),
  ]);

  return {
    pid,
    output: () => lines.join('\n'),
    exited,
    hasExited: () => ended,
    stop: async () => {
      requested = true;
      if (ended) return;
      await signalAs(user, pid, 'SIGINT');
      if (await settlesWithin(exited, FAST_STOP_MS_MAX)) return;
      await signalAs(user, pid, 'SIGQUIT');
      if (await settlesWithin(exited, IMMEDIATE_STOP_MS_MAX)) return;
      await signalAs(user, pid, 'SIGKILL');
      await exited;
    },
  };
}

// A guardian that was itself killed leaves PostgreSQL behind: it is stopped here, since nobody guards it any more.
// One that the user may not stop was never theirs: their guardian named the pid, and nobody waits for its end.
async function endOf(pid: number, user: UnprivilegedUser): Promise<void> {
  if (pid === 0) return;
  const startedAt = performance.now();
  let sent: NodeJS.Signals | undefined;
  while (await isRunning(pid)) {
    const wanted = performance.now() - startedAt > FAST_STOP_MS_MAX ? 'SIGKILL' : 'SIGINT';
    if (sent !== wanted && !(await signalAs(user, pid, wanted)) && (await isRunning(pid))) return;
    sent = wanted;
    await new Promise((resolve) => setTimeout(resolve, LOST_POSTMASTER_CHECK_MS));
  }
}

function firstNumber(stream: NodeJS.ReadableStream): Promise<number> {
  return new Promise((resolve) => {
    createInterface({ input: stream }).once('line', (line) =>
      resolve(/^[1-9]\d*$/.test(line) ? Number(line) : 0),
    );
  });
}

async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  const inTime = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}

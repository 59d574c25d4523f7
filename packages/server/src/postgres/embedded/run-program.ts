/** Runs one short PostgreSQL program (initdb, a version question) to its end, as the chosen user, in a clean environment. */
import { spawn } from 'node:child_process';
import type { UnprivilegedUser } from './unprivileged-user.ts';

export type ProgramResult = { readonly code: number; readonly output: string };

// PG* variables and locales of the caller must not steer the database; LC_ALL=C also keeps its messages in English.
export const PROGRAM_ENVIRONMENT = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  LC_ALL: 'C',
  LANG: 'C',
  TZ: 'UTC',
};

export function runProgram(
  user: UnprivilegedUser,
  command: readonly string[],
  options: { cwd?: string; input?: string } = {},
): Promise<ProgramResult> {
  const [program = '', ...args] = [...user.prefix, ...command];
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      ...user.spawnAs,
      cwd: options.cwd ?? '/',
      env: PROGRAM_ENVIRONMENT,
      stdio: ['pipe', 'pipe', 'pipe'],
      // The terminal's Ctrl-C is for the server, which decides what becomes of its children.
      detached: true,
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.on('error', (error) => resolve({ code: 127, output: error.message }));
    child.on('close', (code) => resolve({ code: code ?? 128, output }));
    // A program that ended early closes its input; its exit code tells more than the broken pipe.
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

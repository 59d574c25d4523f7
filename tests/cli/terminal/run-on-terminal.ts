/**
 * The command on a real terminal, with a person who types: keys go through the terminal, so Ctrl-C is the signal that the
 * terminal makes of it. Python has the terminals that Node lacks; where there is none, it says so.
 */
import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { COMPILE_CACHE } from '../../support/compile-cache.ts';

const DRIVER = join(import.meta.dirname, 'on_terminal.py');
const MAIN = join(import.meta.dirname, '../../../packages/cli/src/main.ts');

export const CTRL_C = '\x03';

export interface Step {
  /** Typed when this was written, after what the step before saw. */
  readonly see: string;
  readonly type: string;
}

export interface OnTerminalOptions {
  readonly cwd: string;
  /** Besides what every shell has. */
  readonly env?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
  readonly columns?: number;
  /** Instead of the command from the sources of this repository; the path of the program is whole. */
  readonly program?: readonly [string, ...string[]];
}

export interface OnTerminal {
  /** Null: it had to be ended. Negative: a signal ended it. */
  readonly code: number | null;
  readonly written: string;
  /** What is typed is shown again, and read by lines. */
  readonly isClean: boolean;
  /** What was waited for and never written. */
  readonly unseen: readonly string[];
}

/** Undefined: it can be used. */
export const whyNoTerminal: string | undefined = (() => {
  try {
    execFileSync('python3', ['-c', 'import pty, termios, os; os.waitstatus_to_exitcode'], { stdio: 'pipe' });
    return undefined;
  } catch {
    return 'no Python 3.9 or newer with terminals';
  }
})();

export async function runOnTerminal(
  args: readonly string[],
  { cwd, env = {}, steps = [], columns = 80, program = [process.execPath, MAIN] }: OnTerminalOptions,
): Promise<OnTerminal> {
  const told = {
    argv: [...program, ...args],
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, TZ: 'UTC', TERM: 'xterm', PS1: '$ ', ...COMPILE_CACHE, ...env },
    columns,
    steps,
  };
  const { stdout } = await promisify(execFile)('python3', [DRIVER, JSON.stringify(told)]);
  return JSON.parse(stdout) as OnTerminal;
}

/** The lines as they stand in the end: without colours, and without what was drawn over. */
export function linesOf(written: string): string[] {
  return written.split('\r\n').map((line) =>
    (line.split('\r\x1b[K').at(-1) ?? '')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one.
      .replace(/\x1b\[[\d;?]*[A-Za-z]/g, ''),
  );
}

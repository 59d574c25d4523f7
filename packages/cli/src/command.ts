/**
 * One command of the program, as a value: its words, what it takes, what it does. The parser, --help, docs/cli.md and
 * shell completion all follow from the same list of these.
 */
import type { Cli } from './cli.ts';

export interface ArgumentSpec {
  /** `<id>` is needed, `[id]` may be left out, `<id...>` takes several. */
  readonly name: string;
  readonly description: string;
  readonly choices?: readonly string[];
}

export interface OptionSpec {
  /** Such as `-n, --limit <count>`; without a value it is a switch. */
  readonly flags: string;
  readonly description: string;
  readonly choices?: readonly string[];
  readonly fallback?: string;
  /** May be given several times; the value is then a list. */
  readonly repeatable?: boolean;
}

export interface Call<Options> {
  readonly args: readonly string[];
  readonly options: Options;
  readonly cli: Cli;
}

export interface CommandSpec {
  /** `jobs list`: noun and verb; or one word. */
  readonly name: string;
  readonly summary: string;
  readonly details?: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  /** Whole command lines that work, at least one. */
  readonly examples: readonly [string, ...string[]];
  /** Everything after its name is handed on as it stands, --help included. */
  readonly passThrough?: boolean;
  /** Answers the exit code when it is another than 0. */
  readonly run: (call: Call<Record<string, unknown>>) => Promise<number | undefined> | Promise<void>;
}

/** Gives the options of a command their types; its flags and its type are declared side by side. */
export function command<Options extends object = Record<never, never>>(
  spec: Omit<CommandSpec, 'run'> & {
    readonly run: (call: Call<Options>) => Promise<number | undefined> | Promise<void>;
  },
): CommandSpec {
  return spec as unknown as CommandSpec;
}

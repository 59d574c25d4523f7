/**
 * One command of the program, as a value: its words, its arguments and flags, what it does. The parser, --help,
 * docs/cli.md and shell completion all follow from the same list of these.
 */
import type { Cli } from './cli.ts';
import type { Flags, Values } from './flags.ts';
import type { Named } from './name-refusals.ts';

export interface ArgumentSpec {
  /** `<id>` is required, `[id]` is optional, `<id...>` takes several. */
  readonly name: string;
  readonly description: string;
  readonly choices?: readonly string[];
  /** What it names: a name, a key or the beginning of an id becomes the id. */
  readonly names?: Named;
  /** The switch with which the first run of a job is waited for, where the argument is a run. */
  readonly awaitedWith?: string;
}

export interface Call<Options> {
  readonly args: readonly string[];
  readonly options: Options;
  readonly cli: Cli;
}

/** What --help says of a command besides its name and its options. */
export interface CommandText {
  readonly details?: string;
  readonly arguments?: readonly ArgumentSpec[];
  /** Complete command lines that work, at least one. */
  readonly examples: readonly [string, ...string[]];
}

export interface CommandSpec extends CommandText {
  /** `jobs list`: noun and verb; or one word. */
  readonly name: string;
  readonly summary: string;
  readonly options?: Flags;
  /** What it ends with instead of every code that tells of an error, but for Ctrl-C. */
  readonly troubleExit?: number;
  /** Everything after the name goes to the command unparsed, --help included. */
  readonly passThrough?: boolean;
  /** --url may be given several times. */
  readonly takesServers?: boolean;
  /** The noun alone means this verb. */
  readonly isDefault?: boolean;
  /** Returns the exit code when it is another than 0. */
  readonly run: (call: Call<Record<string, unknown>>) => Promise<number | undefined> | Promise<void>;
}

/** Derives the types of the options from the flags. */
export function command<F extends Flags = Record<never, never>>(
  name: string,
  summary: string,
  spec: CommandText & {
    readonly options?: F;
    readonly troubleExit?: number;
    readonly takesServers?: boolean;
    readonly run: (call: Call<Values<F>>) => Promise<number | undefined> | Promise<void>;
  },
): CommandSpec {
  return { name, summary, ...spec } as unknown as CommandSpec;
}

export function descriptionOf({ summary, details }: CommandSpec): string {
  return details === undefined ? `${summary}.` : `${summary}. ${details}`;
}

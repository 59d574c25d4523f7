/** One command line, from its words to an exit code. Nothing is thrown out of here: every error has become a sentence. */
import { CommanderError } from 'commander';
import { Cli, type GlobalOptions, type World } from '../cli.ts';
import type { CommandSpec } from '../command.ts';
import { allCommands } from '../commands/all-commands.ts';
import { Output } from '../output/output.ts';
import { buildProgram } from './build-program.ts';
import { EXIT } from './exit-codes.ts';
import { type Explained, explainError } from './explain-error.ts';
import { helpWords, namedBy } from './help-words.ts';
import { Interrupted } from './interrupted.ts';

/** `given` without the interpreter and the script. */
export async function runCli(given: readonly string[], world: World): Promise<number> {
  const argv = helpWords(given, allCommands);
  let exitCode: number = EXIT.ok;
  let cli: Cli | undefined;
  let flags: string[] = [];
  const outputOf = (globals: GlobalOptions) =>
    new Output({ ...world, json: globals.json === true, utc: globals.utc === true });
  const run = async (
    spec: CommandSpec,
    { args, options }: { args: readonly string[]; options: Record<string, unknown> },
  ) => {
    flags = (spec.options ?? []).flatMap((option) => option.flags.match(/--[\w-]+/g) ?? []);
    cli = new Cli({ out: outputOf(options), world, globals: options });
    exitCode = (await spec.run({ args, options, cli })) ?? EXIT.ok;
  };
  try {
    const passThrough = allCommands.find((spec) => spec.passThrough && spec.name === argv[0]);
    if (passThrough) {
      await run(passThrough, { args: argv.slice(1), options: {} });
      return exitCode;
    }
    const write = {
      out: (text: string) => void world.stdout.write(text),
      err: (text: string) => void world.stderr.write(text),
    };
    await buildProgram({ write, run }).parseAsync([...argv], { from: 'user' });
  } catch (error) {
    const out = outputOf({ json: argv.includes('--json') });
    if (error instanceof Interrupted) return EXIT.interrupted;
    if (cli?.wasInterrupted) {
      out.note('Stopped; what was done stays done.');
      return EXIT.interrupted;
    }
    const explained =
      error instanceof CommanderError ? endOfParsing(error, argv) : explainError(error, flags);
    if (!explained) return error instanceof CommanderError && error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    out.failure(explained);
    return explained.exitCode;
  }
  return exitCode;
}

/** Undefined where the parser has said all there is: help that was asked for, or help because a noun alone says nothing. */
function endOfParsing(error: CommanderError, argv: readonly string[]): Explained | undefined {
  if (error.exitCode === 0 || error.code === 'commander.help') return undefined;
  const [said = '', near] = error.message.replace(/^error: /, '').split('\n');
  const message = `${said.charAt(0).toUpperCase()}${said.slice(1)}`.replace(/\.?$/, '.');
  const name = namedBy(argv, allCommands);
  const help = `\`carillon ${name === undefined ? '' : `${name} `}--help\` shows what can be said.`;
  // commander puts its guess in brackets on a line of its own.
  const fix = near === undefined ? help : `${near.replace(/^\(|\)$/g, '')} ${help}`;
  return { message, fix, exitCode: EXIT.usage, code: 'usage', details: {} };
}

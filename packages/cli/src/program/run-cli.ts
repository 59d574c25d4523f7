/** One command line, from its words to an exit code. Nothing is thrown out of here: every error has become a sentence. */
import { CommanderError } from 'commander';
import { Cli, type GlobalOptions, type World } from '../cli.ts';
import type { CommandSpec } from '../command.ts';
import { allCommands } from '../commands/all-commands.ts';
import { Output } from '../output/output.ts';
import { buildProgram } from './build-program.ts';
import { EXIT } from './exit-codes.ts';
import { explainError } from './explain-error.ts';

/** `argv` without the interpreter and the script. */
export async function runCli(argv: readonly string[], world: World): Promise<number> {
  let exitCode: number = EXIT.ok;
  const outputOf = (globals: GlobalOptions) =>
    new Output({ ...world, json: globals.json === true, utc: globals.utc === true });
  const run = async (
    spec: CommandSpec,
    { args, options }: { args: readonly string[]; options: Record<string, unknown> },
  ) => {
    const cli = new Cli({ out: outputOf(options), world, globals: options });
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
    if (error instanceof CommanderError) return endOfParsing(error, world);
    const explained = explainError(error);
    outputOf({ json: argv.includes('--json') }).failure(explained);
    return explained.exitCode;
  }
  return exitCode;
}

/** Help that was asked for is a success; help because the line made no sense is not. */
function endOfParsing(error: CommanderError, { stderr }: World): number {
  if (error.exitCode === 0) return EXIT.ok;
  if (error.code !== 'commander.help') {
    stderr.write(`carillon: ${error.message.replace(/^error: /, '')}\n`);
    stderr.write('          --help shows what can be said.\n');
  }
  return EXIT.usage;
}

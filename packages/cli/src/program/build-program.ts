/** The commands as a program that parses a command line: nouns with their verbs, options, help with examples. */
import { Argument, Command, Option } from 'commander';
import type { ArgumentSpec, CommandSpec, OptionSpec } from '../command.ts';
import { allCommands } from '../commands/all-commands.ts';
import { EXIT_MEANINGS } from './exit-codes.ts';
import { GLOBAL_OPTIONS, NOUNS } from './global-options.ts';
import { VERSION } from './version.ts';

export interface ProgramParts {
  readonly write: { out: (text: string) => void; err: (text: string) => void };
  readonly run: (
    spec: CommandSpec,
    call: { args: readonly string[]; options: Record<string, unknown> },
  ) => Promise<void>;
}

export function buildProgram({ write, run }: ProgramParts): Command {
  const program = new Command('carillon')
    .description('Carillon runs jobs at their instant: a distributed job scheduler.')
    .version(VERSION, '-v, --version', 'Show the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command...]', 'Show help for a command')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: write.out, writeErr: write.err, outputError: () => undefined })
    .addHelpText('after', afterHelp())
    .exitOverride();
  for (const option of GLOBAL_OPTIONS) program.addOption(optionOf(option));
  for (const spec of allCommands) addCommand(program, spec, run);
  return program;
}

function addCommand(program: Command, spec: CommandSpec, run: ProgramParts['run']): void {
  const [noun = '', verb] = spec.name.split(' ');
  const parent = verb === undefined ? program : nounOf(program, noun);
  const command = parent
    .command(verb ?? noun)
    .summary(spec.summary)
    .description(descriptionOf(spec));
  command.helpOption('-h, --help', 'Show help');
  for (const argument of spec.arguments ?? []) command.addArgument(argumentOf(argument));
  for (const option of spec.options ?? []) command.addOption(optionOf(option));
  const examples = spec.examples.map((example) => `  ${example}`).join('\n');
  command.addHelpText('after', `\nExamples:\n${examples}\n`);
  command.action(async () => {
    await run(spec, { args: command.processedArgs.flat() as string[], options: command.optsWithGlobals() });
  });
}

function nounOf(program: Command, noun: string): Command {
  const present = program.commands.find((command) => command.name() === noun);
  if (present) return present;
  return program
    .command(noun)
    .description(NOUNS[noun] ?? '')
    .helpOption('-h, --help', 'Show help')
    .helpCommand(false);
}

export function descriptionOf({ summary, details }: CommandSpec): string {
  return details === undefined ? `${summary}.` : `${summary}. ${details}`;
}

function argumentOf({ name, description, choices }: ArgumentSpec): Argument {
  const argument = new Argument(name, description);
  // commander has no argument "several, of these": the words are told, and judged by the command.
  return choices && !name.includes('...') ? argument.choices(choices) : argument;
}

function optionOf({ flags, description, choices, fallback, repeatable }: OptionSpec): Option {
  const option = new Option(flags, description);
  if (choices) option.choices(choices);
  if (fallback !== undefined) option.default(fallback);
  if (repeatable) {
    option.argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), value]);
  }
  return option;
}

function afterHelp(): string {
  const codes = EXIT_MEANINGS.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`).join('\n');
  return `
Where to connect: --url and --key, else CARILLON_URL and CARILLON_KEY, else the
stored login, else the server that runs in ./.carillon.

Exit codes:
${codes}

Examples:
  carillon start
  carillon jobs create ping --http http://127.0.0.1:7420/health/live --every 15m
  carillon jobs list
`;
}

/** The program: one command line, from its words to an exit code. */
import { Argument, Command, CommanderError, Option } from 'commander';
import { Cli, type World } from './cli.ts';
import { type ArgumentSpec, type CommandSpec, descriptionOf } from './command.ts';
import { allCommands, NOUNS } from './commands/all-commands.ts';
import { EXIT, EXIT_MEANINGS, Interrupted } from './errors.ts';
import { type Explained, explainError, withServer } from './explain-error.ts';
import {
  type Flag,
  type Flags,
  GLOBAL_FLAGS,
  type GlobalOptions,
  readFlags,
  spelled,
  withOneServer,
} from './flags.ts';
import { Output } from './output/output.ts';
import { resolveCall } from './resolve.ts';

/** A test compares it with the manifest. */
export const VERSION = '0.1.0';

interface Parsed {
  readonly args: readonly string[];
  /** Under the names of the parser; `readFlags` makes values of them. */
  readonly options: Record<string, unknown>;
}

/** `given`: without the interpreter and the script. Never throws: every error becomes a message and an exit code. */
export async function runCli(given: readonly string[], world: World): Promise<number> {
  const argv = helpWords(given, allCommands);
  let exitCode: number = EXIT.ok;
  let cli: Cli | undefined;
  let flags: Flags = {};
  let troubleExit: number | undefined;
  const outputOf = ({ json = false, utc = false, output = 'table' }: GlobalOptions) =>
    new Output({ ...world, format: json ? 'json' : output, utc });
  const run = async (spec: CommandSpec, { args, options }: Parsed) => {
    ({ options: flags = {}, troubleExit } = spec);
    const globals = withOneServer(await readFlags(GLOBAL_FLAGS, options, world), spec);
    const env =
      globals.context === undefined ? world.env : { ...world.env, CARILLON_CONTEXT: globals.context };
    cli = new Cli({ out: outputOf(globals), world: { ...world, env }, globals });
    const values = await withContext(await readFlags(flags, options, world), flags, cli);
    flags = ofHandler(flags, values.handler);
    exitCode = (await spec.run(await resolveCall(spec, { args, options: values, cli }))) ?? EXIT.ok;
  };
  try {
    const passThrough = allCommands.find((spec) => spec.passThrough && spec.name === argv[0]);
    if (passThrough) await run(passThrough, { args: argv.slice(1), options: {} });
    else {
      const write = {
        out: (text: string) => void world.stdout.write(text),
        err: (text: string) => void world.stderr.write(text),
      };
      await buildProgram({ write, run }).parseAsync([...argv], { from: 'user' });
    }
    return exitCode;
  } catch (error) {
    if (error instanceof Interrupted) return EXIT.interrupted;
    const out = outputOf({ output: formatIn(argv) });
    if (cli?.wasInterrupted) {
      out.note('Stopped; what was done stays done.');
      return EXIT.interrupted;
    }
    // The parser has already printed help: because it was requested, or because a noun alone is no command.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
    const explained =
      error instanceof CommanderError
        ? explainParsing(error, argv)
        : withServer(explainError(error, flags), await cli?.askedServer());
    out.failure(explained);
    return troubleExit ?? explained.exitCode;
  }
}

/** --http and the like are about the payloads of http jobs: members of the same name mean something else to other handlers. */
export function ofHandler(flags: Flags, handler: unknown): Flags {
  if (typeof handler !== 'string' || handler === 'http') return flags;
  return Object.fromEntries(Object.entries(flags).filter(([, { field }]) => !field?.startsWith('payload.')));
}

/** Fills in what the context in use says where a flag was not given. */
async function withContext(
  values: Readonly<Record<string, unknown>>,
  flags: Flags,
  cli: Cli,
): Promise<Record<string, unknown>> {
  const [name] = Object.entries(flags).find(([name, { ofContext }]) => ofContext && !(name in values)) ?? [];
  const namespace = name === undefined ? undefined : await cli.defaultNamespace();
  return { ...values, ...(name !== undefined && namespace !== undefined && { [name]: namespace }) };
}

/** The format that errors are shown in, also those of a command line that cannot be parsed. */
function formatIn(argv: readonly string[]): 'table' | 'json' | 'yaml' {
  const words = argv.join(' ');
  if (/(^| )--json( |$)/.test(words)) return 'json';
  const [, format] = /(?:^| )(?:-o ?|--output[ =])(json|yaml)( |$)/.exec(words) ?? [];
  return format === 'json' || format === 'yaml' ? format : 'table';
}

function explainParsing(error: CommanderError, argv: readonly string[]): Explained {
  const [problem = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const message = `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`.replace(/\.?$/, '.');
  const name = namedBy(argv, allCommands);
  const help = `\`carillon ${name === undefined ? '' : `${name} `}--help\` shows what can be said.`;
  // commander puts its suggestion in brackets on a line of its own.
  const fix = suggestion === undefined ? help : `${suggestion.replace(/^\(|\)$/g, '')} ${help}`;
  const usage = { exitCode: EXIT.usage, code: 'usage', details: {} };
  const isExcess = error.code === 'commander.excessArguments';
  const file =
    isExcess && (name === 'apply' || name === 'diff')
      ? argv.find((word) => /\.(ya?ml|json)$|\//.test(word))
      : undefined;
  if (file !== undefined)
    return { ...usage, message: 'Files are given with -f.', fix: `Such as carillon ${name} -f ${file}` };
  const isUnknown = error.code === 'commander.unknownOption' || isExcess;
  if (isUnknown && name === 'secrets set')
    return {
      ...{ ...usage, message },
      fix: 'The value of a secret is given by the standard input or --from-file: others can read command lines.',
    };
  const cron = isExcess ? unquotedCron(argv) : undefined;
  if (cron === undefined) return { ...usage, message, fix };
  return {
    ...usage,
    message: 'A cron expression is one argument: put it in quotes.',
    fix: `Such as ${cron}'0 9 * * *'. Without them, the shell makes several words of it, and names of files of each *.`,
  };
}

/** What stands before a cron expression that the shell has cut into words; undefined where there is none. */
function unquotedCron(argv: readonly string[]): string | undefined {
  const flag = argv.indexOf('--cron');
  const first = flag < 0 ? argv.indexOf('preview') : flag;
  const [expression = '', next = '-'] = argv.slice(first + 1);
  if (first < 0 || !/^[\d*,/?-]+$/.test(expression) || next.startsWith('-')) return undefined;
  return flag < 0 ? 'carillon preview ' : '--cron ';
}

/** `help jobs create` and `jobs help create` in the words of the parser: `jobs create --help`. */
export function helpWords(argv: readonly string[], commands: readonly CommandSpec[]): readonly string[] {
  const [first = '', second] = argv;
  const isNoun = (word: string) => commands.some(({ name }) => name.startsWith(`${word} `));
  let words: readonly string[];
  if (first === 'help') words = argv.slice(1);
  else if (second === 'help' && isNoun(first)) words = [first, ...argv.slice(2)];
  else return argv;
  const [noun = '', verb] = words.filter((word) => !word.startsWith('-'));
  if (noun === '' || noun === 'help') return ['--help'];
  const name = verb === undefined || !isNoun(noun) ? [noun] : [noun, verb];
  const isKnown =
    (isNoun(noun) && verb === undefined) || commands.some((spec) => spec.name === name.join(' '));
  // For an unknown word the parser suggests a similar one, but not when --help follows.
  return isKnown ? [...name, '--help'] : name;
}

/** The command or noun that a command line starts with: whose --help is of use. */
export function namedBy(argv: readonly string[], commands: readonly CommandSpec[]): string | undefined {
  const [noun = '', verb = ''] = argv.filter((word) => !word.startsWith('-'));
  const names = commands.map(({ name }) => name);
  if (names.includes(`${noun} ${verb}`)) return `${noun} ${verb}`;
  return names.some((name) => name === noun || name.startsWith(`${noun} `)) ? noun : undefined;
}

export interface ProgramParts {
  readonly write: { out: (text: string) => void; err: (text: string) => void };
  readonly run: (spec: CommandSpec, parsed: Parsed) => Promise<void>;
}

/** The commands as a parser: nouns with their verbs, options, help with examples. */
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
  for (const flag of Object.values(GLOBAL_FLAGS)) program.addOption(optionOf(flag));
  for (const spec of allCommands) addCommand(program, spec, run);
  return program;
}

function addCommand(program: Command, spec: CommandSpec, run: ProgramParts['run']): void {
  const [noun = '', verb] = spec.name.split(' ');
  const parent = verb === undefined ? program : nounOf(program, noun);
  const command = parent
    .command(verb ?? noun, { isDefault: spec.isDefault ?? false })
    .summary(spec.summary)
    .description(descriptionOf(spec));
  command.helpOption('-h, --help', 'Show help');
  for (const argument of spec.arguments ?? []) command.addArgument(argumentOf(argument));
  for (const flag of Object.values(spec.options ?? {})) command.addOption(optionOf(flag));
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

function argumentOf({ name, description, choices }: ArgumentSpec): Argument {
  const argument = new Argument(name, description);
  // commander cannot restrict an argument that takes several: --help shows the choices, the command checks them.
  return choices && !name.includes('...') ? argument.choices(choices) : argument;
}

function optionOf({ flags, description, choices, fallback, repeatable }: Flag<unknown>): Option {
  const option = new Option(flags, description);
  if (choices) {
    option.choices(choices);
    const check = option.parseArg;
    option.argParser((value: string, before: unknown) => check?.(spelled(value), before as never));
  }
  if (fallback !== undefined) option.default(fallback);
  if (repeatable) {
    option.argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), value]);
  }
  return option;
}

function afterHelp(): string {
  const codes = EXIT_MEANINGS.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`).join('\n');
  return `
Where to connect: --url, --context or --data, else CARILLON_URL, else the context
in use (carillon context list, carillon login), else the server that runs in
./.carillon.

Exit codes:
${codes}

Examples:
  carillon start
  carillon jobs create ping --http http://127.0.0.1:7420/health/live --every 15m
  carillon jobs list
`;
}

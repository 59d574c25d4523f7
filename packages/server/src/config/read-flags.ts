/** The command line: --name value, --name=value, --name alone for what is true or false, and the questions --help and --version. Nothing is ignored. */
import { ConfigError, SETTINGS, unknownName } from './settings.ts';

export interface Flags {
  readonly help: boolean;
  readonly version: boolean;
  readonly config: string | undefined;
  /** By the name of the flag, as written. */
  readonly values: ReadonlyMap<string, string>;
}

const SWITCHES = new Set(SETTINGS.filter(({ kind }) => kind === 'switch').map(({ flag }) => flag));
const KNOWN = [...SETTINGS.map(({ flag }) => flag), '--config', '--help', '--version'];

export function readFlags(argv: readonly string[]): Flags {
  const requested = new Set<string>();
  const values = new Map<string, string>();
  for (let i = 0; i < argv.length; i += 1) {
    const before = argv[i - 1];
    if (before !== undefined && SWITCHES.has(before) && !argv[i]!.startsWith('-'))
      throw new ConfigError(
        `${before} is a flag without a value: leave out "${argv[i]}", or write ${before}=true.`,
      );
    const [name, inline] = splitFlag(argv[i]!);
    if (name === '--help' || name === '--version') requested.add(name);
    else if (inline !== undefined) values.set(name, inline);
    else if (SWITCHES.has(name)) values.set(name, 'true');
    else {
      const value = argv[i + 1];
      // A value that looks like a flag was most likely forgotten; --name=value can still say it.
      if (value === undefined || value.startsWith('--')) throw new ConfigError(`${name} needs a value.`);
      values.set(name, value);
      i += 1;
    }
  }
  const config = values.get('--config');
  values.delete('--config');
  return { help: requested.has('--help'), version: requested.has('--version'), config, values };
}

function splitFlag(argument: string): [name: string, inline: string | undefined] {
  if (argument === '-h') return ['--help', undefined];
  if (argument === '-v') return ['--version', undefined];
  if (!argument.startsWith('--')) {
    throw new ConfigError(
      `Unexpected argument "${argument}". Settings are given as --name value; with npm behind two dashes: npm start -- --port 7499.`,
    );
  }
  const cut = argument.indexOf('=');
  const name = cut < 0 ? argument : argument.slice(0, cut);
  if (!KNOWN.includes(name)) throw unknownName('flag', name, KNOWN);
  return [name, cut < 0 ? undefined : argument.slice(cut + 1)];
}

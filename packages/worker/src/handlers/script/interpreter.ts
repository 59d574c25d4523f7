/**
 * Which program reads a script: the one its payload names, else the one its first line names, else sh, as a shell would choose. Names
 * are looked up in the configured list, never in what the worker itself was started with.
 */
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import { SCRIPT_ERRORS } from '@carillon/domain';
import { HandlerError } from '../../handler.ts';

export const DEFAULT_INTERPRETERS = ['bash', 'sh', 'python3', 'node', 'ruby', 'perl'];
export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const BY_DEFAULT = 'sh';

/** An entry of the list: a name that is looked up in the path, or name=/path/of/program. */
export function parseInterpreter(entry: string): { name: string; program: string } | undefined {
  const [, name = '', program = name] = /^([A-Za-z0-9][A-Za-z0-9._+-]{0,63})(?:=(\/\S+))?$/.exec(entry) ?? [];
  return name === '' ? undefined : { name, program };
}

export class Interpreters {
  readonly #programs: ReadonlyMap<string, string>;
  readonly #path: string;

  constructor(entries: readonly string[], path: string) {
    const known = entries.flatMap((entry) => parseInterpreter(entry) ?? []);
    this.#programs = new Map(known.map(({ name, program }) => [name, program]));
    this.#path = path;
  }

  /** Names of those that are installed here. */
  async installed(): Promise<string[]> {
    const names = [...this.#programs.keys()];
    const found = await Promise.all(names.map((name) => this.#find(name).catch(() => undefined)));
    return names.filter((_, i) => found[i] !== undefined);
  }

  /** The words before the script: the program, and what the first line of the script passes to it. */
  async commandOf(named: string | undefined, firstLine: string): Promise<readonly string[]> {
    if (named !== undefined) return [await this.#find(named)];
    const words = shebangOf(firstLine);
    if (!words) return [await this.#find(BY_DEFAULT)];
    const [program = '', ...args] = words;
    const name = basename(program);
    if (isAbsolute(program) && !this.#programs.has(name)) {
      if (await isProgram(program)) return [program, ...args];
      throw missing(program, 'it is not installed on this worker');
    }
    return [await this.#find(name), ...args];
  }

  async #find(name: string): Promise<string> {
    const program = this.#programs.get(name);
    if (program === undefined) {
      const known = [...this.#programs.keys()].join(', ');
      throw missing(name, `the setting script.interpreters names ${known || 'none'}`);
    }
    if (isAbsolute(program)) {
      if (await isProgram(program)) return program;
      throw missing(name, `${program} is not installed on this worker`);
    }
    for (const folder of this.#path.split(':'))
      if (isAbsolute(folder) && (await isProgram(join(folder, program)))) return join(folder, program);
    // The worker's own Node is as good as one in the path.
    if (name === 'node') return process.execPath;
    throw missing(name, `it is not installed on this worker, in ${this.#path}`);
  }
}

/** Words of a first line; as the kernel reads it, all that follows the program is one argument. `env` looks a name up. */
export function shebangOf(firstLine: string): readonly string[] | undefined {
  const [, program, rest = ''] = /^#![ \t]*(\S+)[ \t]*(.*?)[ \t\r]*$/.exec(firstLine) ?? [];
  if (program === undefined) return undefined;
  if (basename(program) !== 'env') return rest === '' ? [program] : [program, rest];
  const words = rest.split(/[ \t]+/).filter((word) => word !== '');
  return words[0] === '-S' ? words.slice(1) : words.slice(0, 1);
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function missing(name: string, why: string): HandlerError {
  const message = `${SCRIPT_ERRORS.notStarted}: there is no interpreter "${name.slice(0, 200)}": ${why}`;
  return new HandlerError(message, { retryable: false });
}

/**
 * Every kind of flag: how it is written, and how its text becomes a value. A command declares its flags as a record; the
 * parser, --help, docs/cli.md and completion read the same record. The key of a flag names its value, and is the name of
 * the field of the API that the flag sets, so that values can be sent as they are.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Grant, JobFields, JsonObject, Role } from '@carillon/client';
import { Option } from 'commander';
import type { World } from './cli.ts';
import { UsageError } from './errors.ts';
import { readAll } from './output/ask.ts';

export interface Flag<T> {
  /** Such as `-n, --limit <count>`; without a value it is a switch. */
  readonly flags: string;
  readonly description: string;
  readonly choices?: readonly string[];
  /** The text that is read when the flag is not given. */
  readonly fallback?: string;
  /** May be given several times; `read` then gets a list. */
  readonly repeatable?: boolean;
  /** The field of the API, where the key of the flag is another name. */
  readonly field?: string | undefined;
  /** Where it is not given, the context in use says it. */
  readonly ofContext?: boolean;
  /** Only says where names are looked for: the command itself does not get it. */
  readonly ofNames?: boolean;
  /** `given`: the text, the list of texts, or true for a switch. */
  readonly read: (given: never, source: Source) => T | Promise<T>;
}

/** What reading a value needs besides its text. */
interface Source {
  /** `--limit`, for messages. */
  readonly flag: string;
  readonly world: Pick<World, 'cwd' | 'stdin'>;
}

export type Flags = Readonly<Record<string, Flag<unknown>>>;
type ValueOf<F> = F extends Flag<infer T> ? T : never;

/** Flags with a fallback always have a value; the others have none when they were not given. */
export type Values<F extends Flags> = {
  readonly [K in keyof F as F[K] extends { fallback: string } ? K : never]: ValueOf<F[K]>;
} & { readonly [K in keyof F as F[K] extends { fallback: string } ? never : K]?: ValueOf<F[K]> };

/** `parsed`: what the parser of the command line found, under its own names. */
export async function readFlags<F extends Flags>(
  flags: F,
  parsed: Readonly<Record<string, unknown>>,
  world: Source['world'],
): Promise<Values<F>> {
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) {
    const given = parsed[new Option(flag.flags).attributeName()];
    if (given === undefined) continue;
    values[name] = await flag.read(given as never, { flag: longFlag(flag), world });
  }
  return values as Values<F>;
}

/** `--limit` of `-n, --limit <count>`. */
export function longFlag({ flags }: Pick<Flag<unknown>, 'flags'>): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? '';
}

/** A kind of flag: every flag of that kind is read by the same function. `G`: what the parser hands over. */
function kind<G, T>(read: (given: G, source: Source) => T | Promise<T>, repeatable = false) {
  return (flags: string, description: string, field?: string): Flag<T> => ({
    flags,
    description,
    field,
    repeatable,
    read,
  });
}

export const toggle = kind((given: boolean) => given);
/** Also instants and time zones, which the server reads. */
export const text = kind((given: string) => given);
export const texts = kind((given: readonly string[]) => given, true);

export function choice<const C extends string>(
  flags: string,
  description: string,
  choices: readonly C[],
  field?: string,
): Flag<C> {
  return { flags, description, choices, field, read: (given: C) => given };
}

/** Values of the API have underscores and lower case; people also write hyphens and upper case. */
export function spelled(value: string): string {
  return value.replaceAll(/(?<=\w)-(?=\w)/g, '_').toLowerCase();
}

/** One or several such values, in a flag that is repeated or separated by commas. */
export const words = kind(
  (given: readonly string[]) => given.flatMap((list) => list.split(',')).map((word) => spelled(word.trim())),
  true,
);

/** Names, in a flag that is repeated or separated by commas. */
export const names = kind(
  (given: readonly string[]) => given.flatMap((list) => list.split(',')).map((name) => name.trim()),
  true,
);

export function onOff(flags: string, description: string, field?: string): Flag<boolean> {
  const { read: _, ...rest } = choice(flags, description, ['on', 'off'], field);
  return { ...rest, read: (given: string) => given === 'on' };
}

export function withDefault<T>(flag: Flag<T>, fallback: string): Flag<T> & { readonly fallback: string } {
  return { ...flag, fallback };
}

export const count = kind((given: string, { flag }) => {
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw new UsageError(`${flag} must be a whole number from 0 to 999999999, and is "${given}".`);
});

/** A duration, in seconds. */
export const seconds = kind((given: string, { flag }) => secondsOf(given, flag));

/** A duration that starts now, as the instant at which it ends. */
export const fromNow = kind((given: string, { flag }) =>
  secondsFromNow(secondsOf(given, flag)).toISOString(),
);

/** How long ago, or an instant. */
export const pastInstant = kind((given: string, { flag }) => {
  if (DURATION.exec(given.trim())?.[2] !== undefined) return secondsFromNow(-secondsOf(given, flag));
  const at = new Date(given);
  if (/^\d{4}-\d\d-\d\d/.test(given) && !Number.isNaN(at.getTime())) return at;
  throw new UsageError(
    `${flag} must say how long ago, such as 15m, 2h or 1d, or be a time such as 2027-03-01T09:00:00Z, and is "${given}".`,
  );
});

const DURATION = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?$/;
const UNITS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** `90`, `90s`, `15m`, `6h`, `1d`. */
function secondsOf(given: string, flag: string): number {
  const [, amount, unit = 's'] = DURATION.exec(given.trim()) ?? [];
  if (amount !== undefined) return Number(amount) * (UNITS[unit] ?? 1);
  throw new UsageError(`${flag} must be a duration such as 30s, 15m or 2h, and is "${given}".`);
}

function secondsFromNow(amount: number): Date {
  return new Date(Date.now() + amount * 1_000);
}

/** `team=billing`, repeated. */
export const labels = kind((given: readonly string[], { flag }) => pairsOf(given, flag, '='), true);

/** `NAME=value`, repeated. Values are kept as they are, with their spaces. */
export const variables = kind((given: readonly string[], { flag }) => {
  const wrong = given.find((pair) => !/^[^=]+=/.test(pair));
  if (wrong !== undefined) throw new UsageError(`${flag} must be NAME=value, and is "${wrong}".`);
  return Object.fromEntries(
    given.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
}, true);

/** `Accept: text/plain`, repeated. Without a value, also as `Accept=`, it is removed from a job that has it. */
export const headers = kind(
  (given: readonly string[], { flag }) =>
    pairsOf(
      given.map((pair) => pair.replace(/^([^\s:=]+)=$/, '$1:')),
      flag,
      ':',
    ),
  true,
);

/** `cpu=2`, repeated. */
export const resources = kind((given: readonly string[], { flag }) => {
  const pairs = Object.entries(pairsOf(given, flag, '='));
  const wrong = pairs.find(([, amount]) => !/^\d+(\.\d+)?$/.test(amount));
  if (wrong) throw new UsageError(`${flag} must be name=number, and is "${wrong.join('=')}".`);
  return Object.fromEntries(pairs.map(([name, amount]) => [name, Number(amount)]));
}, true);

const DAYLIGHT_SAVING: Readonly<Record<string, readonly string[]>> = {
  gap: ['run_after', 'skip'],
  overlap: ['first', 'second', 'both'],
};

/** `gap=skip`, `overlap=both`. */
export const daylightSaving = kind((given: readonly string[], { flag }) => {
  const rules = given.flatMap((list) => list.split(',')).map((rule) => spelled(rule.trim()));
  for (const rule of rules) {
    const [name = '', policy = ''] = rule.split('=');
    if (DAYLIGHT_SAVING[name]?.includes(policy)) continue;
    const known = Object.entries(DAYLIGHT_SAVING).flatMap(([one, all]) =>
      all.map((each) => `${one}=${each}`),
    );
    throw new UsageError(`${flag} must be one of ${known.join(', ')}, and is "${rule}".`);
  }
  return Object.fromEntries(rules.map((rule) => rule.split('='))) as NonNullable<
    JobFields['daylight_saving']
  >;
}, true);

/** Labels to filter by, as filters of the API write them: `team:billing`. */
export const labelFilter = kind((given: readonly string[], { flag }) => {
  return Object.entries(pairsOf(given, flag, '=')).map(([name, value]) => `${name}:${value}`);
}, true);

function pairsOf(given: readonly string[], flag: string, separator: string): Record<string, string> {
  const pairs = given.map((pair) => {
    const cut = pair.indexOf(separator);
    if (cut > 0) return [pair.slice(0, cut).trim(), pair.slice(cut + 1).trim()];
    throw new UsageError(`${flag} must be name${separator}value, and is "${pair}".`);
  });
  return Object.fromEntries(pairs);
}

/** A JSON object, or `@file`. */
export const jsonObject = kind(async (given: string, { flag, world }) => {
  const example = `Such as ${flag} '{"customer": 17}'`;
  const value = given.startsWith('@')
    ? await readJsonFile(given.slice(1), world)
    : parseJson(given, flag, `${example}, in quotes.`);
  if (isObject(value)) return value;
  throw new UsageError(`${flag} must be a JSON object.`, `${example}.`);
});

/** A path to a text. */
export const textFile = kind((path: string, { world }) => readFileOrInput(path, world));

/** A path to JSON that `accepts` accepts; `expected` says in words what that is. */
export function jsonFile<T>(expected: string, accepts: (value: unknown) => value is T) {
  return kind(async (path: string, { world }) => {
    const value = await readJsonFile(path, world);
    if (accepts(value)) return value;
    throw new UsageError(`${path} must hold ${expected}.`);
  });
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function readJsonFile(path: string, world: Source['world']): Promise<unknown> {
  return parseJson(await readFileOrInput(path, world), path === '-' ? 'The standard input' : path);
}

function parseJson(given: string, subject: string, fix?: string): unknown {
  try {
    return JSON.parse(given);
  } catch (error) {
    throw new UsageError(`${subject} is not valid JSON: ${(error as Error).message}.`, fix);
  }
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read by you',
  EISDIR: 'is a folder',
};

/** `-` is the standard input. */
export async function readFileOrInput(path: string, world: Source['world']): Promise<string> {
  if (path === '-') return readAll(world.stdin);
  try {
    return await readFile(resolve(world.cwd, path), 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = UNREADABLE[code] ?? `cannot be read (${code})`;
    throw new UsageError(`${path} ${reason}.`, 'Check the path; - reads the standard input.');
  }
}

export const ROLES: readonly Role[] = ['viewer', 'observer', 'operator', 'editor', 'admin'];

export const grants = kind((given: readonly string[]) => given.map(readGrant), true);

/** `editor`, `editor@billing`, `viewer@billing:own`; without a namespace it counts everywhere. */
export function readGrant(given: string): Grant {
  const [, name, namespace = '*', own] = /^(\w+)(?:@([^:]+))?(:own)?$/.exec(given) ?? [];
  const role = ROLES.find((one) => one === name);
  if (role !== undefined) return { namespace, role, own_only: own !== undefined };
  throw new UsageError(
    `"${given}" is not a grant.`,
    `Such as viewer, editor@billing, or operator@billing:own for their own jobs. Roles: ${ROLES.join(', ')}.`,
  );
}

/** The text that `readGrant` reads. */
export function grantText({ role, namespace, own_only: ownOnly }: Grant): string {
  return `${role}${namespace === '*' ? '' : `@${namespace}`}${ownOnly ? ':own' : ''}`;
}

/** Flags that several commands have. */
export const LIMIT = withDefault(count('-n, --limit <count>', 'Show at most so many; 0 for all'), '50');
export const YES = toggle('-y, --yes', 'Do not ask');
/** A namespace that a command lists or creates in: that of the context where it is not given. */
export function contextNamespace(description: string): Flag<string> {
  return { ...text('--namespace <name>', `${description} [that of the context]`), ofContext: true };
}
export const IN_NAMESPACE = contextNamespace('In this namespace');
/** For commands that only take names: the namespace to look for them in. */
export const NAMES_IN: Flag<string> = {
  ...contextNamespace('Namespace of what is named by a key or a name'),
  ofNames: true,
};
export const PRIORITY = choice('--priority <level>', 'How urgent', ['low', 'medium', 'high']);

/** What may be said when a run is asked for. */
export const RUN_REQUEST = {
  input: jsonObject(
    '--input <json>',
    'Merged over the payload, for this run alone: a JSON object, or @file. Needs payloads.read; to change more of an http job than body and expect_status also jobs.update, of a script job scripts.submit',
  ),
  reason: text('--reason <text>', 'Why it is asked for; kept with the run'),
};

export const GLOBAL_FLAGS = {
  urls: texts('--url <address>', 'Server to talk to (or CARILLON_URL)'),
  key: text('--key <key>', 'Key to use (or CARILLON_KEY, which keeps it out of the process list)'),
  context: text('--context <name>', 'Context to use: a server by its name (or CARILLON_CONTEXT)'),
  data: text('--data <folder>', 'Data folder of a local server to talk to (or CARILLON_DATA)'),
  allNamespaces: toggle('--all-namespaces', 'Not only in the namespace of the context'),
  output: choice('-o, --output <format>', 'How results are shown', ['table', 'wide', 'json', 'yaml']),
  json: toggle('--json', 'The same as -o json: for programs; one object a line where results go on'),
  utc: toggle('--utc', 'Times in UTC instead of the time zone of this machine'),
};
export interface GlobalOptions extends Values<typeof GLOBAL_FLAGS> {
  /** Of `urls` the first: the only one, but for commands that take several. */
  readonly url?: string;
}

/** A command that would use one of several addresses refuses them: which one would be a guess. */
export function withOneServer(
  given: Values<typeof GLOBAL_FLAGS>,
  { takesServers = false }: { takesServers?: boolean },
): GlobalOptions {
  const [url, ...more] = given.urls ?? [];
  if (more.length > 0 && !takesServers)
    throw new UsageError(
      '--url is given more than once, and this command talks to one server.',
      'Give one; `carillon worker` alone takes several.',
    );
  return { ...given, ...(url !== undefined && { url }) };
}

/**
 * The configuration of this process: defaults, overridden by the file, by the environment, by flags. An unknown
 * name stops the start, because a setting that is silently ignored is noticed at the worst moment.
 */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { type Config, configSchema } from './config-schema.ts';
import { readFlags } from './read-flags.ts';
import { ConfigError, HARMLESS_SETTINGS, SETTINGS, type Setting, unknownName } from './settings.ts';

export interface ConfigSources {
  /** Without the interpreter and the script. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export type LoadedConfig =
  | { readonly kind: 'run'; readonly config: Config; readonly file: string | undefined }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' };

const FILE_NAME = 'carillon.config.json';
/** Not settings: where the file is, which server commands and workers talk to and how, how the starter is watched, and what our tests say. */
const OTHER_VARIABLES = /^CARILLON_(CONFIG|URL|KEY|TLS_CA|TLS_CERT|TLS_KEY|PARENT_FD|TEST_.*)$/;

/** Whoever brings a folder, in a cloned repository, brings the file beside it as well. */
const NOT_IN_FILE = 'trust_folder';

type Values = { [key: string]: unknown };

/** Throws a ConfigError. */
export function loadConfig({ argv, env, cwd }: ConfigSources): LoadedConfig {
  const flags = readFlags(argv);
  if (flags.help) return { kind: 'help' };
  if (flags.version) return { kind: 'version' };

  const named = flags.config ?? (env.CARILLON_CONFIG || undefined);
  const path = resolve(cwd, named ?? FILE_NAME);
  const values: Values = {};
  /** Where each setting came from last, for messages. */
  const origins = new Map<string, string>();
  const set = (setting: Setting, value: unknown, origin: string) => {
    setAt(values, setting.path, value);
    origins.set(setting.key, origin);
  };

  const fromFile = readFile(path, { isNamed: named !== undefined });
  if (fromFile) walkFile(fromFile, { path, within: [], isNamed: named !== undefined, set });
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith('CARILLON_') || OTHER_VARIABLES.test(variable) || !text) continue;
    const setting = SETTINGS.find((known) => known.variable === variable);
    if (!setting) {
      const known = [...SETTINGS.map((other) => other.variable), 'CARILLON_CONFIG'];
      throw unknownName('environment variable', variable, known);
    }
    set(setting, fromText(setting, text, variable), variable);
  }
  for (const [flag, text] of flags.values) {
    const setting = SETTINGS.find((known) => known.flag === flag)!;
    set(setting, fromText(setting, text, flag), flag);
  }
  return { kind: 'run', config: validate(values, origins), file: fromFile && path };
}

function readFile(path: string, { isNamed }: { isNamed: boolean }): Values | undefined {
  let text: string;
  try {
    const file = openSync(path, 'r');
    try {
      if (!isNamed) requireTrusted(path, fstatSync(file).uid);
      text = readFileSync(file, 'utf8');
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !isNamed) return undefined;
    throw new ConfigError(`The configuration file ${path} cannot be read (${code}).`);
  }
  try {
    const parsed: unknown = JSON.parse(text);
    if (isValues(parsed)) return parsed;
  } catch (error) {
    throw new ConfigError(
      `The configuration file ${path} is not valid JSON: ${(error as Error).message}. It must be JSON: docs/configuration.md shows how.`,
    );
  }
  throw new ConfigError(
    `The configuration file ${path} must hold a JSON object: docs/configuration.md shows how.`,
  );
}

/** One that just lies in the working directory, such as /tmp, may be anybody's. */
function requireTrusted(path: string, uid: number): void {
  if (uid === 0 || uid === (process.geteuid?.() ?? uid)) return;
  throw new ConfigError(
    `The configuration file ${path} belongs to user ${uid}, who could change what this server does: it is not used. Name it with --config (or CARILLON_CONFIG) if it is meant, or remove it.`,
  );
}

function walkFile(
  values: Values,
  context: {
    path: string;
    within: readonly string[];
    isNamed: boolean;
    set: (setting: Setting, value: unknown, origin: string) => void;
  },
): void {
  const { path, within, isNamed, set } = context;
  for (const [name, value] of Object.entries(values)) {
    const here = [...within, name];
    const key = here.join('.');
    const setting = SETTINGS.find((known) => known.key === key);
    if (key === NOT_IN_FILE)
      throw new ConfigError(
        `"${key}" in ${path} is not allowed: the file may come with the folder. Use --trust-folder (or CARILLON_TRUST_FOLDER=true).`,
      );
    if (setting && !isNamed && !HARMLESS_SETTINGS.has(key))
      throw new ConfigError(
        `"${key}" in ${path} is not used, since the file was only found in the current folder and may have come with it. Name the file with --config (or CARILLON_CONFIG) if it is yours.`,
      );
    if (setting) set(setting, value, `"${key}" in ${path}`);
    else if (isValues(value) && SETTINGS.some((known) => known.key.startsWith(`${key}.`))) {
      walkFile(value, { path, within: here, isNamed, set });
    } else {
      const known = SETTINGS.map((other) => other.key);
      throw unknownName(`setting in ${path}:`, key, known);
    }
  }
}

function fromText({ kind, key }: Setting, text: string, origin: string): unknown {
  switch (kind) {
    case 'text':
      return text;
    case 'list':
      return text.split(',').flatMap((part) => part.trim() || []);
    case 'number':
      if (/^-?\d+(\.\d+)?$/.test(text.trim())) return Number(text);
      throw new ConfigError(`${origin} (${key}) must be a number, and is "${text}".`);
    case 'switch':
      if (text === 'true' || text === 'false') return text === 'true';
      throw new ConfigError(`${origin} (${key}) must be true or false, and is "${text}".`);
  }
}

/** Values are left out of the message: the setting may be a secret. */
function validate(values: Values, origins: ReadonlyMap<string, string>): Config {
  const result = configSchema.safeParse(values);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const setting = SETTINGS.find(({ path }) => path.every((name, i) => issue.path[i] === name));
    const key = setting?.key ?? issue.path.join('.');
    return `${origins.get(key) ?? key} ${demandOf(issue)}.`;
  });
  throw new ConfigError([...new Set(lines)].join('\n'));
}

function demandOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'too_small':
      return issue.origin === 'string' ? 'is empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'invalid_type':
      return issue.expected === 'int' ? 'must be a whole number' : `must be of type ${issue.expected}`;
    default:
      return issue.message;
  }
}

function setAt(values: Values, [name, ...rest]: readonly string[], value: unknown): void {
  if (name === undefined) return;
  if (rest.length === 0) values[name] = value;
  else {
    const inner = isValues(values[name]) ? values[name] : {};
    values[name] = inner;
    setAt(inner, rest, value);
  }
}

function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

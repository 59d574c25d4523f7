/** The settings of the schema as a flat list, with the name each has as a flag and as an environment variable. */
import { nearestWord } from '@carillon/contract';
import { z } from 'zod';
import { configSchema } from './config-schema.ts';

export interface Setting {
  /** Where it stands in the configuration file. */
  readonly path: readonly string[];
  /** executor.slots */
  readonly key: string;
  /** --executor-slots */
  readonly flag: string;
  /** CARILLON_EXECUTOR_SLOTS */
  readonly variable: string;
  readonly kind: 'number' | 'text' | 'switch' | 'list';
  readonly choices: readonly string[] | undefined;
  readonly fallback: unknown;
  readonly description: string;
}

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly description?: string;
}

export const SETTINGS: readonly Setting[] = leaves(z.toJSONSchema(configSchema, { io: 'input' }) as Node, []);

/**
 * All that a file may set which merely lies in the working directory, of a cloned repository say: what can make a server slower or
 * busier at worst. Nothing that decides what it runs (handlers, scripts, the jobs of another database), whom it lets in, where it reads,
 * writes or calls, or what it deletes and when. A new setting is not among them until somebody has thought about it.
 */
export const HARMLESS_SETTINGS: ReadonlySet<string> = new Set([
  'port',
  'log_level',
  'look_ahead_seconds',
  'shutdown_grace_seconds',
  'body_limit_kb',
  'database.connections_max',
  'database.connect_timeout_seconds',
  'database.statement_timeout_seconds',
  'executor.slots',
  'connections.total_max',
  'connections.address_max',
  'events.listeners_max',
]);

function leaves(node: Node, path: readonly string[]): Setting[] {
  if (!node.properties) return [settingOf(node, path)];
  return Object.entries(node.properties).flatMap(([name, inner]) => leaves(inner, [...path, name]));
}

function settingOf(node: Node, path: readonly string[]): Setting {
  const flat = path.join('_');
  return {
    path,
    key: path.join('.'),
    flag: `--${flat.replaceAll('_', '-')}`,
    variable: `CARILLON_${flat.toUpperCase()}`,
    kind: kindOf(node),
    choices: node.enum,
    fallback: node.default,
    description: node.description ?? '',
  };
}

function kindOf({ type }: Node): Setting['kind'] {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'switch';
    case 'array':
      return 'list';
    default:
      return 'text';
  }
}

/** How a default is shown to people. */
export function fallbackText({ fallback }: Setting): string {
  return Array.isArray(fallback) ? fallback.join(',') : String(fallback);
}

/** The configuration cannot be used. The message names what is wrong and where, and suggests what was meant. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigError';
  }
}

export function unknownName(what: string, name: string, known: readonly string[]): ConfigError {
  const nearest = nearestWord(name, known);
  const hint = nearest === undefined ? 'See --help for all of them.' : `Did you mean ${nearest}?`;
  return new ConfigError(`Unknown ${what} ${name}. ${hint}`);
}

/** Files and folders that the settings name and that only the server itself may read: keys, secrets, and what runs of all namespaces wrote. */
import { resolve } from 'node:path';
import type { Config } from './config-schema.ts';
import { SETTINGS, type Setting } from './settings.ts';

/** Every other setting whose name ends so holds a key or a secret; a new one too, until somebody has thought about it. */
const FILE = /_file$/;
const PUBLIC_FILES: ReadonlySet<string> = new Set(['tls.cert_file', 'tls.client_ca_file']);
const PRIVATE_FOLDERS: ReadonlySet<string> = new Set(['data', 'logs.folder']);

export function isPrivatePath({ key }: Setting): boolean {
  return (FILE.test(key) && !PUBLIC_FILES.has(key)) || PRIVATE_FOLDERS.has(key);
}

/** Absolute. configFile: where the settings came from; some of them are secrets, such as a password in database_url. */
export function privatePaths(config: Config, configFile?: string): string[] {
  const named = SETTINGS.filter(isPrivatePath).map(({ path }) => valueAt(config, path));
  return [...named, databaseKeyFile(config), configFile].flatMap((path) =>
    typeof path === 'string' ? resolve(path) : [],
  );
}

function databaseKeyFile({ database_url: url }: Config): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  return new URL(url).searchParams.get('sslkey') ?? undefined;
}

function valueAt(config: Config, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (value as Record<string, unknown> | undefined)?.[name],
    config,
  );
}

/** JSON from the command line, from a file (`@file`) or from the standard input (`-` and `@-`). */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { JsonObject } from '@carillon/client';
import type { World } from '../cli.ts';
import { readAll } from '../output/ask.ts';
import { UsageError } from '../program/usage-error.ts';

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'may not be read by you',
  EISDIR: 'is a folder',
};

export async function readFileOrInput(path: string, world: World): Promise<string> {
  if (path === '-') return readAll(world.stdin);
  try {
    return await readFile(resolve(world.cwd, path), 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = UNREADABLE[code] ?? `cannot be read (${code})`;
    throw new UsageError(`${path} ${reason}.`, 'Check the path; - reads the standard input.');
  }
}

export async function readJsonFile(path: string, world: World): Promise<unknown> {
  return parse(await readFileOrInput(path, world), path === '-' ? 'The standard input' : path);
}

export async function readPayload(text: string, world: World): Promise<JsonObject> {
  const value = text.startsWith('@') ? await readJsonFile(text.slice(1), world) : parse(text, '--payload');
  if (isObject(value)) return value;
  throw new UsageError('--payload must be a JSON object.', `Such as --payload '{"customer": 17}'.`);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      `${what} is not valid JSON: ${(error as Error).message}.`,
      what === '--payload' ? `Such as --payload '{"customer": 17}', in quotes.` : undefined,
    );
  }
}

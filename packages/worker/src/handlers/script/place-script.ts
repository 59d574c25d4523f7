/** Brings a script to where its interpreter finds it, or says why it cannot be had. */
import { readFile, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { SCRIPT_ERRORS } from '@carillon/domain';
import { HandlerError } from '../../handler.ts';
import { requireDigest, SCRIPT_BYTES_MAX, type ScriptFetcher } from './fetch-script.ts';
import type { RunFolder } from './run-folder.ts';
import type { ScriptSource } from './script-payload.ts';

export interface PlacedScript {
  readonly path: string;
  readonly firstLine: string;
}

/** A file of the machine stays where it is, beside what it may load; with a digest, what was checked is run. */
export async function placeScript(
  folder: RunFolder,
  source: ScriptSource,
  { roots, fetcher, signal }: { roots: readonly string[]; fetcher: ScriptFetcher; signal: AbortSignal },
): Promise<PlacedScript> {
  switch (source.kind) {
    case 'inline': {
      const bytes = Buffer.from(source.text);
      if (source.sha256 !== undefined) requireDigest(bytes, source.sha256, 'payload.script');
      return { path: await folder.write('script', bytes, 0o700), firstLine: firstLineOf(bytes) };
    }
    case 'address': {
      const bytes = await fetcher.fetch({ url: source.url, sha256: source.sha256, signal });
      return { path: await folder.write('script', bytes, 0o700), firstLine: firstLineOf(bytes) };
    }
    case 'path': {
      const path = await allowedPath(source.path, roots);
      const bytes = await readScript(path, source.path);
      if (source.sha256 === undefined) return { path, firstLine: firstLineOf(bytes) };
      requireDigest(bytes, source.sha256, source.path);
      return { path: await folder.write('script', bytes, 0o700), firstLine: firstLineOf(bytes) };
    }
  }
}

/** Links are followed before it is judged where a file lies. */
async function allowedPath(path: string, roots: readonly string[]): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  for (const root of roots) {
    const folder = await realpath(root).catch(() => undefined);
    if (folder !== undefined && real?.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`))
      return real;
  }
  // Outside of the folders nobody learns what is there.
  const isInside = roots.some((root) => path.startsWith(`${root.replace(/\/+$/, '')}/`));
  const why = isInside && real === undefined ? 'there is no such file' : whyOutside(roots);
  throw new HandlerError(`${SCRIPT_ERRORS.notStarted}: ${path}: ${why}`, { retryable: false });
}

function whyOutside(roots: readonly string[]): string {
  return roots.length === 0
    ? 'this worker runs no scripts by path; the setting script.roots names folders that it may run them from'
    : `it lies in none of the folders of the setting script.roots (${roots.join(', ')})`;
}

async function readScript(path: string, shown: string): Promise<Buffer> {
  try {
    const bytes = await readFile(path);
    if (bytes.byteLength <= SCRIPT_BYTES_MAX) return bytes;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `${SCRIPT_ERRORS.notStarted}: ${shown} cannot be read (${code})`;
    throw new HandlerError(message, { retryable: false, cause: error });
  }
  const message = `${SCRIPT_ERRORS.notStarted}: ${shown} is larger than ${SCRIPT_BYTES_MAX} bytes`;
  throw new HandlerError(message, { retryable: false });
}

function firstLineOf(bytes: Buffer): string {
  return bytes.subarray(0, 1_024).toString('utf8').split('\n', 1)[0] ?? '';
}

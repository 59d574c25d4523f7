/** The server that runs in a data folder on this machine: its address from the lock, its key from the key file. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export interface LocalServer {
  readonly url: string;
  /** Undefined when this user may not read the key. */
  readonly key: string | undefined;
}

export async function findLocalServer(folder: string, cwd: string): Promise<LocalServer | undefined> {
  const path = resolve(cwd, folder);
  const lock = await readOptional(join(path, 'server.lock'));
  const address = lock === undefined ? undefined : addressIn(lock);
  if (address === undefined) return undefined;
  return { url: address, key: (await readOptional(join(path, 'admin.key')))?.trim() };
}

/** The file of a server that was killed stays behind; that nobody answers there is found out by asking. */
function addressIn(lock: string): string | undefined {
  try {
    const { address } = JSON.parse(lock) as { address?: string };
    // Listening on all addresses is not an address to call.
    return address?.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//127.0.0.1');
  } catch {
    // Being written this moment: as good as not there.
    return undefined;
  }
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Starts server-process.ts with a data folder of its own, which is gone with it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Called, startCalled } from '../call-process.ts';
import type { ServerCalls } from './server-process.ts';

const module = new URL('./server-process.ts', import.meta.url);

export type ServerProcess = Called<ServerCalls>;

export async function onServerProcess<T>(
  { databaseUrl, abort }: { databaseUrl: string; abort: AbortSignal },
  use: (server: ServerProcess) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-server-'));
  const server = startCalled<ServerCalls>(module, {
    env: { DATABASE_URL: databaseUrl, DATA_FOLDER: folder },
    abort,
  });
  try {
    return await use(server);
  } finally {
    await server.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One server for a whole test file, in a folder of its own that commands find it in. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyPreparedDatabase } from '../support/prepared-database.ts';
import { fixedPort } from '../support/processes.ts';
import { launchServer, type ServerProcess } from '../support/start-server-process.ts';

export interface OneServer {
  readonly server: ServerProcess;
  /** Holds `.carillon`: commands that run here need no address. */
  readonly folder: string;
  stop(): Promise<void>;
}

/** more: flags of the server. */
export async function startOneServer(...more: string[]): Promise<OneServer> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-cli-test-'));
  await copyPreparedDatabase(join(folder, '.carillon', 'postgres'));
  // The copied files come from another folder.
  const flags = ['--trust-folder', ...more];
  const server = launchServer({ name: '.carillon', folder, port: await fixedPort(), flags });
  await server.ready();
  return {
    server,
    folder,
    async stop() {
      await server.stop(60_000);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

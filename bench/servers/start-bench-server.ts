/** Carillon as `npm start` runs it, in the process that calls this. */
import { readFileSync } from 'node:fs';
import { silentLog } from '../../packages/foundation/src/index.ts';
import { loadConfig } from '../../packages/server/src/config/load-config.ts';
import {
  type StartedServer,
  type StartServerOptions,
  startServer,
} from '../../packages/server/src/start-server.ts';

export interface BenchServer {
  readonly server: StartedServer;
  readonly address: string;
  readonly adminKey: string;
}

export async function startBenchServer({
  databaseUrl,
  dataFolder,
  slots,
  handlers,
}: {
  databaseUrl: string;
  dataFolder: string;
  slots: number;
} & Pick<StartServerOptions, 'handlers'>): Promise<BenchServer> {
  const flags = ['--database-url', databaseUrl, '--data', dataFolder, '--port', '0'];
  // A bench is a few callers: what is measured is the server, not its patience with them.
  const patience = ['--rate-limit-key-per-second', '0', '--rate-limit-address-per-second', '0'];
  const loaded = loadConfig({
    argv: [...flags, ...patience, '--executor-slots', String(slots)],
    env: {},
    cwd: dataFolder,
  });
  if (loaded.kind !== 'run') throw new Error('the flags of the bench are not understood');
  const server = await startServer({
    config: loaded.config,
    log: silentLog,
    onReplaced: () => process.exit(1),
    ...(handlers && { handlers }),
  });
  return { server, address: server.address, adminKey: readFileSync(server.adminKeyFile, 'utf8').trim() };
}

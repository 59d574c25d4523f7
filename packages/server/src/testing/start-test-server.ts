/**
 * A complete server in the process of a test: REST and RPC on a free port of this machine, a database of its own and the
 * handlers of the test. Nothing of it is left after `stop`.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Log, silentLog } from '@carillon/foundation';
import type { Handler, HandlerPlugin } from '@carillon/worker';
import { configSchema } from '../config/config-schema.ts';
import { startServer } from '../start-server.ts';

export interface TestServerOptions {
  /** What jobs name as their `handler`, besides `http`: functions, or plugins, whose own names do not count here. */
  readonly handlers?: Readonly<Record<string, Handler | HandlerPlugin>>;
  /** An empty PostgreSQL database. Left out: one is made in a temporary folder. */
  readonly databaseUrl?: string;
  /** As in the configuration file, such as `{ executor: { slots: 4 } }`. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly log?: Log;
}

export interface StartedTestServer {
  /** Where it answers, such as http://127.0.0.1:34567. */
  readonly url: string;
  /** The admin key. */
  readonly key: string;
  stop(): Promise<void>;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<StartedTestServer> {
  const { handlers = {}, databaseUrl, settings = {}, log = silentLog } = options;
  const folder = await mkdtemp(join(tmpdir(), 'carillon-testing-'));
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  try {
    const server = await startServer({
      config: configSchema.parse({ port: 0, data: folder, database_url: databaseUrl, ...settings }),
      handlers: new Map(Object.entries(handlers)),
      log,
      onReplaced: () => log.error({}, 'another process runs under the id of this server'),
    });
    return {
      url: server.address,
      key: (await readFile(server.adminKeyFile, 'utf8')).trim(),
      async stop() {
        await server.stop();
        await removeFolder();
      },
    };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

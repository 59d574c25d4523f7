/**
 * Keeps the embedded PostgreSQL running: when it dies by itself it is started again on the same port, and the engine rides
 * through as it would through a restart of any other server.
 */
import type { Log } from '@carillon/foundation';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded/start-embedded-postgres.ts';

export interface SupervisedPostgres {
  readonly url: string;
  readonly version: string;
  stop(): Promise<void>;
}

const RESTART_PAUSE_MS = 500;

export async function supervisePostgres(options: { dataDir: string; log: Log }): Promise<SupervisedPostgres> {
  const { dataDir, log } = options;
  const toLog = {
    debug: (message: string) => log.debug({ postgres: true }, message),
    info: (message: string) => log.debug({ postgres: true }, message),
    warn: (message: string) => log.warn({ postgres: true }, message),
    error: (message: string) => log.error({ postgres: true }, message),
  };
  let stopping = false;
  let restart: Promise<void> = Promise.resolve();
  // Without the password, any account of the machine could take all connections of a port.
  const settings = { dataDir, log: toLog, socketOnly: true };
  let current = await startEmbeddedPostgres(settings);
  const { url, version } = current;
  const port = Number(new URL(url).port);

  const watch = (server: EmbeddedPostgres) => {
    server.onExit((exit) => {
      if (exit.requested || stopping) return;
      log.error({ exit }, 'the embedded PostgreSQL died; starting it again');
      restart = revive();
    });
  };
  const revive = async () => {
    while (!stopping) {
      try {
        current = await startEmbeddedPostgres({ ...settings, port });
        watch(current);
        return;
      } catch (error) {
        log.error({ err: error }, 'the embedded PostgreSQL did not start; trying again');
        await new Promise((resolve) => setTimeout(resolve, RESTART_PAUSE_MS));
      }
    }
  };
  watch(current);

  return {
    url,
    version,
    async stop() {
      stopping = true;
      await restart;
      await current.stop();
    },
  };
}

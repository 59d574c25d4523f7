/**
 * Keeps the embedded PostgreSQL running: when it dies by itself it is started again on the same port, and the engine rides
 * through as it would through a restart of any other server. Where it does not start, it is tried less and less often, and the reason is
 * told once.
 */
import { type Clock, LastingCondition, type Log, sleep, systemClock } from '@carillon/foundation';
import { EmbeddedPostgresError } from './embedded/embedded-postgres-error.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded/start-embedded-postgres.ts';
import { RestartPause } from './restart-pause.ts';

export interface SupervisedPostgres {
  readonly url: string;
  readonly version: string;
  stop(): Promise<void>;
}

export interface SupervisePostgresOptions {
  readonly dataDir: string;
  readonly log: Log;
  /** For tests. */
  readonly clock?: Clock;
}

export async function supervisePostgres(options: SupervisePostgresOptions): Promise<SupervisedPostgres> {
  const { dataDir, log, clock = systemClock } = options;
  const toLog = {
    debug: (message: string) => log.debug({ postgres: true }, message),
    info: (message: string) => log.debug({ postgres: true }, message),
    warn: (message: string) => log.warn({ postgres: true }, message),
    error: (message: string) => log.error({ postgres: true }, message),
  };
  const stopped = new AbortController();
  const { signal } = stopped;
  let restart: Promise<void> = Promise.resolve();
  // Without the password, any account of the machine could take all connections of a port.
  const settings = { dataDir, log: toLog, socketOnly: true };
  let current = await startEmbeddedPostgres(settings);
  const { url, version } = current;
  const port = Number(new URL(url).port);
  const pause = new RestartPause({ clock });
  const dying = new LastingCondition({ clock });

  const watch = (server: EmbeddedPostgres) => {
    server.onExit((exit) => {
      if (exit.requested || signal.aborted) return;
      if (dying.notice()) log.error({ exit }, 'the embedded PostgreSQL died; starting it again');
      pause.died();
      restart = revive();
    });
  };
  const revive = async () => {
    let told: string | undefined;
    for (;;) {
      await sleep(clock, pause.next(), signal);
      if (signal.aborted) return;
      try {
        current = await startEmbeddedPostgres({ ...settings, port });
      } catch (error) {
        const reason = error instanceof EmbeddedPostgresError ? error.problem : String(error);
        if (told !== reason) tellNotStarted(log, error);
        told = reason;
        continue;
      }
      pause.started();
      watch(current);
      if (told !== undefined) log.info({}, 'the embedded PostgreSQL runs again');
      return;
    }
  };
  watch(current);

  return {
    url,
    version,
    async stop() {
      stopped.abort();
      await restart;
      await current.stop();
    },
  };
}

/** In words where they are known: where in this program it was noticed tells an operator nothing. */
function tellNotStarted(log: Log, error: unknown): void {
  const known = error instanceof EmbeddedPostgresError ? { problem: error.problem } : { err: error };
  log.error(
    known,
    `the embedded PostgreSQL does not start, and is tried again until it does: ${(error as Error).message}`,
  );
}

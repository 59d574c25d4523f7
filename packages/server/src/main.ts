/** `npm start`: reads the configuration, starts the server, greets, and stops cleanly when told to. */
import { createLog } from '@carillon/foundation';
import { ConfigError } from './config/config-error.ts';
import { loadConfig } from './config/load-config.ts';
import { renderHelp } from './config/render-config-reference.ts';
import { DataDirectoryInUse } from './data-directory.ts';
import { greeting, VERSION } from './greeting.ts';
import { stopWithParent } from './parent-watch.ts';
import { EmbeddedPostgresError } from './postgres/embedded/embedded-postgres-error.ts';
import { StartFailure } from './start-failure.ts';
import { startServer } from './start-server.ts';

async function main(): Promise<void> {
  const loaded = loadConfig({ argv: process.argv.slice(2), env: process.env, cwd: process.cwd() });
  if (loaded.kind === 'help') return say(renderHelp());
  if (loaded.kind === 'version') return say(VERSION);

  const { config } = loaded;
  const log = createLog({ level: config.log_level });
  let stopping = false;
  const starting = startServer({
    config,
    log,
    onReplaced: () => {
      process.exitCode = 1;
      if (!stopping) stop('another process runs under the id of this server');
    },
  });
  const stop = (why: string) => {
    if (stopping) process.exit(130);
    stopping = true;
    say(
      `Stopping (${why}). Running jobs get ${config.shutdown_grace_seconds} s to end; Ctrl-C again stops at once.`,
    );
    // A start that fails meanwhile has already undone itself, and is reported below.
    starting
      .then((server) => server.stop())
      .then(
        () => process.exit(process.exitCode ?? 0),
        () => process.exit(1),
      );
  };
  process.on('SIGINT', () => stop('Ctrl-C'));
  process.on('SIGTERM', () => stop('SIGTERM'));
  stopWithParent(() => stop('its parent process is gone'));

  const server = await starting;
  if (!stopping) say(greeting(server));
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** What a person can do something about is told in a sentence; everything else with its stack. */
function explain(error: unknown): { text: string; exitCode: number } {
  if (error instanceof ConfigError) return { text: error.message, exitCode: 2 };
  const known = [DataDirectoryInUse, StartFailure, EmbeddedPostgresError].some(
    (kind) => error instanceof kind,
  );
  return { text: known ? (error as Error).message : String((error as Error).stack ?? error), exitCode: 1 };
}

try {
  await main();
} catch (error) {
  const { text, exitCode } = explain(error);
  process.stderr.write(`carillon: ${text}\n`);
  process.exit(exitCode);
}

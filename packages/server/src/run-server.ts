/**
 * A server from its command line to its end: reads the configuration, starts, greets, and stops cleanly on a signal.
 * It prints a sentence for what a person can correct, and the stack for everything else.
 */
import { createLog, type Log } from '@carillon/foundation';
import { type ConfigSources, loadConfig } from './config/load-config.ts';
import { type Invocation, renderHelp } from './config/render-config-reference.ts';
import { ConfigError } from './config/settings.ts';
import { DataDirectoryInUse, FolderOfAnotherUser } from './data-directory.ts';
import { greeting, VERSION } from './greeting.ts';
import { FolderFromElsewhere } from './made-here.ts';
import { ForeignFolder, LinkRefused, NotPrivate } from './open-folder.ts';
import { stopWithParent } from './parent-watch.ts';
import { EmbeddedPostgresError } from './postgres/embedded/embedded-postgres-error.ts';
import { StartFailure } from './start-failure.ts';
import { type StartedServer, startServer } from './start-server.ts';
import { UnsafeWay } from './way-to-folder.ts';

/** Answers the exit code once the server has stopped, or could not start. Listens for the signals of the process. */
export async function runServer(sources: ConfigSources, invocation?: Invocation): Promise<number> {
  try {
    return await run(sources, invocation);
  } catch (error) {
    const { text, exitCode } = explain(error);
    process.stderr.write(`carillon: ${text}\n`);
    return exitCode;
  }
}

async function run(sources: ConfigSources, invocation: Invocation | undefined): Promise<number> {
  const loaded = loadConfig(sources);
  if (loaded.kind !== 'run') {
    say(loaded.kind === 'help' ? renderHelp(invocation) : VERSION);
    return 0;
  }
  const { config, file: configFile } = loaded;
  const log = createLog({ level: config.log_level });
  const { promise: stopped, resolve: end } = Promise.withResolvers<number>();
  const stopStart = new AbortController();
  let stopping = false;
  let exitCode = 0;
  const starting = startServer({
    config,
    configFile,
    log,
    signal: stopStart.signal,
    onReplaced: () => {
      exitCode = 1;
      if (!stopping) stop('another process runs under the id of this server');
    },
  });
  const stop = (why: string) => {
    if (stopping) process.exit(130);
    stopping = true;
    say(
      `Stopping (${why}). Running jobs get ${config.shutdown_grace_seconds} s to end; Ctrl-C again stops at once.`,
    );
    stopStart.abort(new Error('stopped before it had started'));
    // A start that fails meanwhile has already undone itself, and is reported below.
    starting
      .then((server) => server.stop())
      .then(
        () => {
          say('Stopped.');
          end(exitCode);
        },
        () => end(1),
      );
  };
  process.on('SIGINT', () => stop('Ctrl-C'));
  process.on('SIGTERM', () => stop('SIGTERM'));
  stopWithParent(() => stop('its parent process is gone'));

  const server = await starting.catch((error: unknown) => {
    if (error !== stopStart.signal.reason) throw error;
    say('Stopped.');
    end(exitCode);
  });
  if (server && !stopping) {
    const signInLink = config.session.start_link ? await linkOf(server, log) : undefined;
    say(greeting(server, { cwd: sources.cwd, signInLink }));
  }
  return stopped;
}

/** A server that is ready stays so: whoever cannot sign in with a link does with the admin key. */
async function linkOf(server: StartedServer, log: Log): Promise<string | undefined> {
  try {
    return await server.signInLink();
  } catch (error) {
    log.warn({ err: error }, 'no link to sign in could be made; the admin key signs in too');
    return undefined;
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function explain(error: unknown): { text: string; exitCode: number } {
  if (error instanceof ConfigError) return { text: error.message, exitCode: 2 };
  const known = [
    DataDirectoryInUse,
    FolderOfAnotherUser,
    FolderFromElsewhere,
    LinkRefused,
    ForeignFolder,
    NotPrivate,
    UnsafeWay,
    StartFailure,
    EmbeddedPostgresError,
  ].some((kind) => error instanceof kind);
  return { text: known ? (error as Error).message : String((error as Error).stack ?? error), exitCode: 1 };
}

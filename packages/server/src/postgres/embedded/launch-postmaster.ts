/**
 * Starts the postmaster and waits until it accepts connections. What passes by itself (a port taken meanwhile, backends
 * of a killed postmaster that are still ending) is tried again; everything else is explained and thrown.
 */
import { createServer } from 'node:net';
import type { OpenFolder } from '../../open-folder.ts';
import { adviceFor, EmbeddedPostgresError, problemFromOutput } from './embedded-postgres-error.ts';
import { type GuardedPostmaster, guardPostmaster } from './guarded-postmaster.ts';
import { readPostmasterFile } from './postmaster-file.ts';
import { serverSettings } from './server-settings.ts';
import type { UnprivilegedUser } from './unprivileged-user.ts';

const READY_CHECK_MS = 5;
// Recovery after a crash replays at most max_wal_size; a machine that needs longer than this is broken.
const READY_MS_MAX = 10 * 60_000;
const SLOW_START_NOTICE_MS = 5_000;
const TRIES_MAX = 40;
const RETRY_MS = 250;

export type LaunchOptions = {
  readonly cluster: OpenFolder;
  readonly postgres: string;
  readonly version: string;
  readonly user: UnprivilegedUser;
  readonly socketDir: string | undefined;
  readonly isSocketOnly: boolean;
  readonly port: number | undefined;
  readonly settings: Readonly<Record<string, string>>;
  readonly onLine: (line: string) => void;
  readonly onSlow: (seconds: number) => void;
};

export type Launched = { readonly postmaster: GuardedPostmaster; readonly port: number };

export async function launchPostmaster(options: LaunchOptions): Promise<Launched> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const postmaster = await guardPostmaster({
      command: [options.postgres, '-D', options.cluster.path, ...settingArguments(options, port)],
      cwd: options.cluster.path,
      user: options.user,
      onLine: options.onLine,
    });
    if (await becomesReady(postmaster, options)) return { postmaster, port };

    const problem = problemFromOutput(postmaster.output());
    const passesByItself =
      problem === 'still_running' || (problem === 'port_taken' && options.port === undefined);
    if (!passesByItself || attempt >= TRIES_MAX) {
      throw new EmbeddedPostgresError(problem, adviceFor(problem, options.cluster.path), {
        output: postmaster.output(),
      });
    }
    if (problem === 'still_running') await pause(RETRY_MS);
  }
}

function settingArguments(options: LaunchOptions, port: number): string[] {
  const { version, socketDir, isSocketOnly, settings } = options;
  const all = serverSettings({
    majorVersion: Number.parseInt(version, 10),
    port,
    socketDir,
    isSocketOnly,
    overrides: settings,
  });
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

// PostgreSQL writes how far it is into its pid file: cheaper than connecting, and true during recovery too.
async function becomesReady(postmaster: GuardedPostmaster, options: LaunchOptions): Promise<boolean> {
  const startedAt = performance.now();
  let noticeAtMs = SLOW_START_NOTICE_MS;
  while (!postmaster.hasExited()) {
    // A file that cannot be read says nothing yet: how PostgreSQL ends tells more.
    const recorded = await readPostmasterFile(options.cluster).catch(() => undefined);
    if (recorded?.pid === postmaster.pid && recorded.status === 'ready') return true;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > READY_MS_MAX) {
      await postmaster.stop();
      throw new EmbeddedPostgresError('start_failed', adviceFor('start_failed', options.cluster.path), {
        output: postmaster.output(),
      });
    }
    if (waitedMs > noticeAtMs) {
      options.onSlow(Math.round(waitedMs / 1000));
      noticeAtMs += SLOW_START_NOTICE_MS;
    }
    await Promise.race([pause(READY_CHECK_MS), postmaster.exited]);
  }
  return false;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('The system gave no port.'));
      });
    });
  });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

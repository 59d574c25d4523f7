/** The script handler of this server, as the settings want it: who runs scripts, within which limits, and what they must not see. */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Log } from '@carillon/foundation';
import {
  findUserIds,
  type HandlerPlugin,
  type OwnEndpoint,
  scriptPlugin,
  type UserIds,
} from '@carillon/worker';
import type { Config } from './config/config-schema.ts';
import { StartFailure } from './start-failure.ts';

const MIB = 1024 * 1024;

export interface ScriptHandlerParts {
  /** Nobody but this machine can reach the server. */
  readonly isLocal: boolean;
  readonly dataFolder: string;
  /** Paths that scripts must not read. */
  readonly hidden: readonly string[];
  readonly runsJobs: boolean;
  readonly own: () => readonly OwnEndpoint[];
  readonly log: Log;
}

/** Undefined: this server runs no scripts. */
export async function openScriptHandler(
  config: Config,
  parts: ScriptHandlerParts,
): Promise<HandlerPlugin | undefined> {
  const { script, http } = config;
  const { isLocal, dataFolder, hidden, runsJobs, own, log } = parts;
  if (!(script.enabled ?? isLocal)) {
    if (script.enabled === undefined && runsJobs)
      log.info(
        {},
        'scripts are off because others can reach this server; --script-enabled runs them: docs/scripts.md',
      );
    return undefined;
  }
  const user = process.geteuid?.() === 0 ? await requireUser(script.user) : undefined;
  const { interpreters, path, roots } = script;
  return scriptPlugin({
    ...{ user, hidden, own, log },
    ...{ interpreters, path, roots, passEnv: script.pass_env },
    limits: {
      memoryBytes: script.memory_mb * MIB,
      cpuSeconds: script.cpu_seconds,
      processes: script.processes,
      files: script.files,
      fileBytes: script.file_size_mb * MIB,
    },
    graceMs: script.stop_grace_seconds * 1_000,
    workFolder: resolve(script.work_folder ?? tmpdir()),
    cacheFolder: join(dataFolder, 'scripts'),
    egress: { profile: http.egress, allow: http.allow, denyNetworks: http.deny_networks },
  });
}

async function requireUser(given: string): Promise<UserIds> {
  const user = await findUserIds(given);
  if (user) return user;
  throw new StartFailure(
    `there is no user ${given} to run scripts. Name one with --script-user, or run none with --script-enabled=false.`,
  );
}

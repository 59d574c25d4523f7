/** The handlers of a server as its settings want them: the built-in ones, and those that the settings name. */
import { SCRIPT_HANDLER } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import { httpPlugin, type OfferedHandler, readPlugin } from '@carillon/worker';
import type { Config } from './config/config-schema.ts';
import { privatePaths } from './config/private-paths.ts';
import { loadPlugins } from './handlers/load-plugins.ts';
import type { OwnEndpoints } from './outgoing/own-endpoints.ts';
import type { SigningSecrets } from './outgoing/signing-secrets.ts';
import { openScriptHandler } from './script-handler.ts';

export interface HandlerParts {
  /** Nobody but this machine can reach the server. */
  readonly isLocal: boolean;
  readonly dataFolder: string;
  /** The file that the settings came from. */
  readonly configFile: string | undefined;
  readonly runsJobs: boolean;
  readonly own: OwnEndpoints;
  readonly signing: SigningSecrets;
  readonly log: Log;
}

/** A server that runs no jobs needs no plugins: it reads of the others'. */
export async function offeredHandlers(
  config: Config,
  parts: HandlerParts,
): Promise<[string, OfferedHandler][]> {
  const { isLocal, dataFolder, configFile, own, runsJobs, log } = parts;
  const script = await openScriptHandler(config, {
    ...{ isLocal, dataFolder, runsJobs, own: () => own.list(), log },
    hidden: [dataFolder, ...privatePaths(config, configFile)],
  });
  const builtIn = [httpPlugin(httpSettings(config, parts)), ...(script ? [script] : [])].map((plugin) =>
    readPlugin(plugin, 'built_in'),
  );
  const options = { modules: config.handlers, cwd: process.cwd(), taken: ['http', SCRIPT_HANDLER], log };
  const plugins = runsJobs ? await loadPlugins(options) : [];
  return [...builtIn, ...plugins].map((handler) => [handler.name, handler]);
}

function httpSettings({ http }: Config, { own, signing }: HandlerParts) {
  const { egress: profile, allow, deny_networks: denyNetworks, response_bytes_max: responseBytesMax } = http;
  return {
    responseBytesMax,
    egress: { profile, allow, denyNetworks },
    own: () => own.list(),
    signingSecrets: (namespace: string) => signing.of(namespace),
  };
}

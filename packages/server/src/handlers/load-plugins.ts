/**
 * Handlers of third-party packages, named by the settings. One that cannot be loaded is named in the log and left out: the server and
 * the other handlers start without it.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Log } from '@carillon/foundation';
import { type OfferedHandler, readPlugin } from '@carillon/worker';
import { compileSchema } from './payload-schema.ts';

/** A path or the name of a package, perhaps with options for it. */
export type PluginModule =
  | string
  | { readonly module: string; readonly options: Readonly<Record<string, unknown>> };

export interface LoadPluginsOptions {
  readonly modules: readonly PluginModule[];
  /** Paths are relative to it, and packages are looked for in its node_modules and those above. */
  readonly cwd: string;
  /** Names of the handlers that are there already. */
  readonly taken: readonly string[];
  readonly log: Log;
  readonly loadMsMax?: number;
}

/** A module may connect to something before it is ready. One that never is must not keep the server from starting. */
const LOAD_MS_MAX = 30_000;

export async function loadPlugins(options: LoadPluginsOptions): Promise<OfferedHandler[]> {
  const { modules, cwd, log, loadMsMax = LOAD_MS_MAX } = options;
  const taken = new Set(options.taken);
  const loaded: OfferedHandler[] = [];
  for (const given of modules) {
    const { module, options: settings } = typeof given === 'string' ? { module: given, options: {} } : given;
    const leaveOut = (error: unknown, name?: string) =>
      log.error(
        { module, ...(name !== undefined && { handler: name }), err: error },
        'a handler plugin could not be loaded and is left out',
      );
    try {
      for (const plugin of await within(loadMsMax, pluginsOf(module, { cwd, settings }))) {
        try {
          const handler = readUsable(plugin);
          if (taken.has(handler.name))
            throw new Error(`there is a handler "${handler.name}" already; its name must be another one`);
          taken.add(handler.name);
          loaded.push(handler);
        } catch (error) {
          leaveOut(error, nameOf(plugin));
        }
      }
    } catch (error) {
      leaveOut(error);
    }
  }
  if (loaded.length > 0) log.info({ handlers: loaded.map(({ name }) => name) }, 'loaded handler plugins');
  return loaded;
}

async function pluginsOf(
  module: string,
  { cwd, settings }: { cwd: string; settings: object },
): Promise<readonly unknown[]> {
  const { default: exported } = (await import(addressOf(module, cwd))) as { default?: unknown };
  const made: unknown = typeof exported === 'function' ? await exported(settings) : exported;
  if (made === undefined || made === null)
    throw new TypeError(
      'its default export must be a handler, a list of handlers, or a function that answers one',
    );
  return Array.isArray(made) ? made : [made];
}

function addressOf(module: string, cwd: string): string {
  const isPath = /^(\.{0,2}[/\\]|[A-Za-z]:[/\\])/.test(module);
  const file = isPath ? resolve(cwd, module) : createRequire(resolve(cwd, 'noop.js')).resolve(module);
  return pathToFileURL(file).href;
}

function readUsable(plugin: unknown): OfferedHandler {
  const handler = readPlugin(plugin, 'plugin');
  if (handler.parameters !== undefined) compileSchema(handler.parameters, { trusted: true });
  return handler;
}

function nameOf(plugin: unknown): string | undefined {
  const { name } = (plugin ?? {}) as { name?: unknown };
  return typeof name === 'string' ? name.slice(0, 100) : undefined;
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it was not ready within ${ms / 1_000} s`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

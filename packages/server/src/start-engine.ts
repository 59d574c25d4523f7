/**
 * A whole engine in this process over a given PostgreSQL, without REST and RPC: for programs that embed Carillon. Functions
 * are handlers; everything else is as in production.
 */
import { randomUUID } from 'node:crypto';
import { type BootId, type NodeId, SERVER } from '@carillon/domain';
import { type Log, silentLog, systemClock, systemRandom } from '@carillon/foundation';
import type { Handler, HandlerPlugin } from '@carillon/worker';
import { composeEngine, ENGINE_DEFAULTS, type Engine, type EngineSettings } from './compose.ts';
import { type OperationsOfOne, operationsAs } from './operations/operations.ts';
import { SecretSeal } from './outgoing/secret-seal.ts';
import { migrate } from './postgres/migrate.ts';
import { OutageWatch } from './postgres/outage-watch.ts';
import { openPostgresStorage } from './storage/postgres/postgres-storage.ts';
import type { Storage } from './storage/storage.ts';

export interface StartEngineOptions {
  readonly databaseUrl: string;
  readonly handlers: Readonly<Record<string, Handler | HandlerPlugin>>;
  readonly settings?: Partial<EngineSettings>;
  readonly log?: Log;
  /** 32 bytes in base64 that encrypt secrets, on a line each: the first encrypts. Left out: secrets cannot be set. */
  readonly secretsKey?: string;
}

export interface StartedEngine extends Omit<Engine, 'operations'> {
  /** Without a caller: whoever embeds the engine may do everything. */
  readonly operations: OperationsOfOne;
  readonly storage: Storage;
}

export async function startEngine(options: StartEngineOptions): Promise<StartedEngine> {
  await migrate(options.databaseUrl, options.log ? { log: options.log } : {});
  const storage = openPostgresStorage({
    url: options.databaseUrl,
    connectionsMax: 10,
    statementTimeoutMs: 30_000,
    connectTimeoutMs: 5_000,
    ...(options.log && { watch: new OutageWatch({ clock: systemClock, log: options.log }) }),
  });
  const engine = composeEngine({
    storage,
    handlers: new Map(Object.entries(options.handlers)),
    nodeId: randomUUID() as NodeId,
    incarnation: 1,
    bootId: randomUUID() as BootId,
    address: 'in-process',
    settings: { ...ENGINE_DEFAULTS, ...options.settings },
    clock: systemClock,
    random: systemRandom,
    log: options.log ?? silentLog,
    onReplaced: () => undefined,
    seal: new SecretSeal(options.secretsKey),
  });
  await engine.start();
  return {
    ...engine,
    operations: operationsAs(SERVER, engine.operations),
    storage,
    async stop() {
      await engine.stop();
      await storage.close();
    },
  };
}

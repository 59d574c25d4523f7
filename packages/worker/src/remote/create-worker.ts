/**
 * A worker as a program of its own: it dials a server, offers its handlers and runs what it is given, until it is told to stop. What
 * it runs goes on when its server restarts or dies; it then works for the next one.
 */
import { hostname } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import type { WorkerId } from '@carillon/domain';
import {
  type Clock,
  createLog,
  type Log,
  type Random,
  systemClock,
  systemRandom,
} from '@carillon/foundation';
import { asPlugin, type UnnamedTypedHandler } from '../define-handler.ts';
import type { Handler } from '../handler.ts';
import { offeredAs, type UnnamedPlugin } from '../handler-plugin.ts';
import { WorkerRuntime } from '../runtime/worker-runtime.ts';
import type { StandardSchemaV1 } from '../standard-schema.ts';
import { dialGrpc, isRefused } from './dial-grpc.ts';
import { type Dial, RemoteHome, type WorkerConnection, type WorkerRefused } from './remote-home.ts';
import { checkTlsFiles, type TlsFiles } from './tls-files.ts';

export interface CreateWorkerOptions {
  /** Addresses of servers, such as https://carillon:7420. Each is tried in turn; that of a load balancer will do. */
  readonly servers: readonly string[];
  /** A key with the permission workers.connect. */
  readonly key: string;
  /** How many runs are executed at the same time. */
  readonly slots: number;
  /** For people. Left out: the name of this machine. */
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly tls?: TlsFiles;
  /** How long runs may take to end when the worker stops; the rest is given back. */
  readonly drainSeconds?: number;
  /** Left out: warnings and errors, as JSON lines on standard error. */
  readonly log?: Log;
  /** Called each time a server has welcomed the worker. */
  readonly onConnected?: (connection: WorkerConnection) => void;
  /** A key that every server refuses, and none has accepted yet, makes run() fail. Left out: each is asked again every 30 s. */
  readonly endWhenKeyRefused?: boolean;
  /** For tests. */
  readonly internals?: { readonly clock?: Clock; readonly random?: Random; readonly dial?: Dial };
}

export interface Worker {
  /**
   * Before it runs. The `parameters` of a handler are a schema of zod or another library, by which its payload is read before it is
   * called, or a JSON Schema. Either is offered to the servers, which check the payloads of jobs by it.
   */
  handle(name: string, handler: Handler): Worker;
  handle<Schema extends StandardSchemaV1>(name: string, handler: UnnamedTypedHandler<Schema>): Worker;
  handle(name: string, handler: UnnamedPlugin): Worker;
  /**
   * Works until stop() is called, or the process gets SIGTERM or SIGINT; then finishes what it runs, and gives back what takes too
   * long. Fails when the servers refuse the worker for good.
   */
  run(): Promise<void>;
  stop(): Promise<void>;
}

const DRAIN_SECONDS = 30;
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const LANGUAGE = 'typescript';
const VERSION = '0.1.0';

export function createWorker(options: CreateWorkerOptions): Worker {
  const { servers, key, slots, name = hostname(), labels = {}, drainSeconds = DRAIN_SECONDS } = options;
  const { clock = systemClock, random = systemRandom } = options.internals ?? {};
  const log = options.log ?? createLog({ level: 'warn' });
  if (servers.length === 0) throw new Error('A worker needs the address of at least one server.');
  for (const server of servers)
    if (!/^https?:$/.test(URL.parse(server)?.protocol ?? ''))
      throw new Error(
        `"${server}" is not an address of a server; one is written such as https://carillon:7420.`,
      );
  if (!Number.isInteger(slots) || slots < 1) throw new Error('slots is a whole number from 1 on.');
  const handlers = new Map<string, Handler>();
  const parameters = new Map<string, string>();
  const handlerLabels = new Map<string, Readonly<Record<string, string>>>();
  const done = Promise.withResolvers<void>();
  done.promise.catch(() => undefined);
  let runtime: WorkerRuntime | undefined;
  let refused: WorkerRefused | undefined;
  let isStopping = false;

  const stop = (drainMs?: number): Promise<void> => {
    if (!isStopping) {
      isStopping = true;
      const stopped = runtime === undefined ? Promise.resolve() : runtime.stop(drainMs);
      stopped.then(() => (refused ? done.reject(refused) : done.resolve()), done.reject);
    }
    return done.promise.catch(() => undefined);
  };

  const worker: Worker = {
    handle<Schema extends StandardSchemaV1>(
      handlerName: string,
      given: Handler | UnnamedPlugin | UnnamedTypedHandler<Schema>,
    ): Worker {
      if (runtime) throw new Error('Handlers are added before the worker runs.');
      const offered = offeredAs(handlerName, typeof given === 'function' ? given : asPlugin(given));
      handlers.set(handlerName, offered.run);
      parameters.delete(handlerName);
      handlerLabels.set(handlerName, offered.labels ?? {});
      if (offered.parameters !== undefined) parameters.set(handlerName, offered.parameters);
      return worker;
    },

    async run() {
      if (runtime || isStopping) throw new Error('The worker has been started or stopped before.');
      if (handlers.size === 0) throw new Error('The worker has no handlers: add one with handle().');
      if (options.tls) for (const warning of checkTlsFiles(options.tls, servers)) log.warn({}, warning);
      const home = new RemoteHome({
        ...{ servers, name, parameters, clock, random, log, nextTurn: setImmediate, isRefused },
        labels: Object.assign({}, labels, ...handlerLabels.values()),
        dial: options.internals?.dial ?? dialGrpc({ key, tls: options.tls }),
        language: LANGUAGE,
        version: VERSION,
        endWhenKeyRefused: options.endWhenKeyRefused ?? false,
        onConnected: options.onConnected ?? (() => undefined),
        onRefused: (error) => {
          refused = error;
          void stop(0);
        },
      });
      runtime = new WorkerRuntime({
        ...{ home, handlers, clock, random, log, slots, drainMs: drainSeconds * 1_000 },
        nextId: () => random.id() as WorkerId,
      });
      const onSignal = () => void stop();
      for (const signal of SIGNALS) process.on(signal, onSignal);
      try {
        await runtime.start();
        await done.promise;
      } finally {
        for (const signal of SIGNALS) process.off(signal, onSignal);
      }
    },

    stop: () => stop(),
  };
  return worker;
}

/**
 * One connection that listens on a channel, for as long as it is started: when it is lost it is opened again, after growing
 * pauses, for ever. Notifications sent meanwhile are lost, and the owner is notified. It never begins a transaction: an open one
 * would keep the server from clearing its queue of notifications.
 */
import { Socket } from 'node:net';
import { type Clock, type Log, type Random, type Service, sleep } from '@carillon/foundation';
import pg from 'pg';
import { StorageUnavailable } from '../storage/storage.ts';
import type { DatabaseOptions, Session, Statement } from './database.ts';

export interface ListeningConnectionOptions
  extends Pick<DatabaseOptions, 'url' | 'statementTimeoutMs' | 'connectTimeoutMs'> {
  /** Letters, digits and underscores. */
  readonly channel: string;
  /** For people who look at the connections of the server. */
  readonly applicationName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onNotification: (payload: string) => void;
  /** Every notification from now on arrives; `missed`: some may have been lost before. */
  readonly onListening: (state: { readonly missed: boolean }) => void;
}

const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX = 5_000;
const KEEP_ALIVE_MS = 5_000;
/** Its statements take less than a millisecond: a server that works has long been done. */
const STATEMENT_MS_MAX = 2_000;
/** The server's own limit comes first; after this much more no answer means that the connection is dead. */
const ANSWER_GRACE_MS = 1_000;
const CLOSE_MS_MAX = 1_000;
/** Classes of SQLSTATE with which the server says that it closes the connection. */
const CONNECTION_ENDS = /^(08|57P)/;
const KEEP_ALIVE: Statement = { name: 'keep_alive', text: 'SELECT 1' };

interface Open {
  readonly client: pg.Client;
  /** Resolves with the reason when the connection cannot be used any more. */
  readonly lost: Promise<unknown>;
  lose(reason: unknown): void;
  destroy(): void;
}

export class ListeningConnection implements Service, Session {
  readonly #options: ListeningConnectionOptions;
  #open: Open | undefined;
  #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** Tries that failed, and connections lost before their first keep-alive, in a row. */
  #failures = 0;
  #outage: { readonly sinceMs: number } | undefined;

  constructor(options: ListeningConnectionOptions) {
    if (!/^\w+$/.test(options.channel)) throw new Error(`not a channel: ${options.channel}`);
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Resolves after the first try, whether it succeeded or not. */
  async start(): Promise<void> {
    if (this.#running !== undefined) return;
    this.#stop = new AbortController();
    const { promise: tried, resolve } = Promise.withResolvers<void>();
    this.#running = this.#run(resolve);
    await tried;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#running = undefined;
  }

  /** Fails with StorageUnavailable when there is no connection or it broke: then nobody knows whether it was done. */
  async query<R extends readonly unknown[]>(statement: Statement, values: readonly unknown[]): Promise<R[]> {
    const open = this.#open;
    if (!open) throw new StorageUnavailable('the listening connection is not open');
    const { name, text } = statement;
    try {
      const result = await open.client.query({ name, text, values: values as unknown[], rowMode: 'array' });
      return result.rows as unknown as R[];
    } catch (error) {
      // The server has answered, if only with a refusal: the connection works.
      if (error instanceof pg.DatabaseError && !CONNECTION_ENDS.test(error.code ?? '')) throw error;
      open.lose(error);
      if (this.#open === open) this.#open = undefined;
      throw new StorageUnavailable('the listening connection broke', { cause: error });
    }
  }

  async #run(tried: () => void): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const reason = await this.#listen(tried).catch((error: unknown) => error);
      tried();
      if (signal.aborted) break;
      this.#reportLost(reason);
      this.#failures += 1;
      await sleep(this.#options.clock, this.#backoffMs(), signal);
    }
    this.#failures = 0;
    this.#outage = undefined;
  }

  /** One connection, from its opening to its loss; answers why it was lost. */
  async #listen(listening: () => void): Promise<unknown> {
    const open = await this.#connect();
    try {
      this.#open = open;
      const missed = this.#outage !== undefined;
      this.#reportBack();
      listening();
      this.#options.onListening({ missed });
      return await this.#watch(open);
    } finally {
      this.#open = undefined;
      await this.#close(open);
    }
  }

  async #connect(): Promise<Open> {
    const { channel, onNotification } = this.#options;
    // Our own socket: the driver's way to close waits for the other side, which may not be there any more.
    const socket = new Socket();
    const client = new pg.Client(this.#clientConfig(socket));
    const { promise: lost, resolve: lose } = Promise.withResolvers<unknown>();
    client.on('error', lose);
    client.on('end', () => lose(new Error('the connection was closed')));
    client.on('notification', (message) => {
      if (message.channel === channel) onNotification(message.payload ?? '');
    });
    const destroy = () => void socket.destroy();
    const { signal } = this.#stop;
    signal.addEventListener('abort', destroy, { once: true });
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', destroy);
    }
    return { client, lost, lose, destroy };
  }

  #clientConfig(socket: Socket): pg.ClientConfig {
    const { url, applicationName, connectTimeoutMs } = this.#options;
    const statementTimeoutMs = Math.min(this.#options.statementTimeoutMs, STATEMENT_MS_MAX);
    return {
      connectionString: url,
      stream: () => socket,
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      query_timeout: statementTimeoutMs + ANSWER_GRACE_MS,
      keepAlive: true,
      application_name: applicationName,
      // A notification need not survive a crash: it waits for no disk and no replica.
      options: '-c synchronous_commit=off -c jit=off -c TimeZone=UTC',
    };
  }

  /** Sends a statement from time to time: a connection that hangs reports no error by itself. */
  async #watch(open: Open): Promise<unknown> {
    const stop = this.#stop.signal;
    const lost = new AbortController();
    void open.lost.then((reason) => lost.abort(reason));
    const over = AbortSignal.any([stop, lost.signal]);
    while (!over.aborted) {
      await sleep(this.#options.clock, KEEP_ALIVE_MS, over);
      if (over.aborted) break;
      try {
        await this.query(KEEP_ALIVE, []);
        // Only now: one that breaks right after each opening has to be opened ever more rarely.
        this.#failures = 0;
      } catch (error) {
        open.lose(error);
      }
    }
    return over.reason;
  }

  /** A lost connection is dropped. One that works is closed by the protocol, within a bounded time. */
  async #close(open: Open): Promise<void> {
    if (!this.#stop.signal.aborted) return open.destroy();
    const giveUp = setTimeout(open.destroy, CLOSE_MS_MAX);
    await open.client.end().catch(() => undefined);
    clearTimeout(giveUp);
  }

  #backoffMs(): number {
    const { random } = this.#options;
    const backoffMs = Math.min(BACKOFF_MS_MIN * 2 ** Math.min(this.#failures - 1, 10), BACKOFF_MS_MAX);
    return backoffMs * (0.5 + random.next() / 2);
  }

  #reportLost(reason: unknown): void {
    if (this.#outage) return;
    const { channel, clock, log } = this.#options;
    this.#outage = { sinceMs: clock.monotonic() };
    log.warn({ channel, err: reason }, 'lost the listening connection; opening it again');
  }

  #reportBack(): void {
    if (!this.#outage) return;
    const { channel, clock, log } = this.#options;
    const outageMs = Math.round(clock.monotonic() - this.#outage.sinceMs);
    this.#outage = undefined;
    log.info({ channel, outageMs }, 'the listening connection is back');
  }
}

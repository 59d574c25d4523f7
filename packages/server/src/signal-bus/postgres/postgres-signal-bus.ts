/**
 * Signals between all servers on one database. Listeners of this process are called before send returns, whether the database
 * answers or not; other processes receive a notification within milliseconds, on a connection that no other statement waits for.
 * After an outage listeners get the "any" form of every signal, because they may have missed some.
 */
import { randomBytes } from 'node:crypto';
import type { Clock, Log, Random, Service } from '@carillon/foundation';
import { textArray } from '../../postgres/array-literal.ts';
import type { DatabaseOptions } from '../../postgres/database.ts';
import { ListeningConnection } from '../../postgres/listening-connection.ts';
import { StorageUnavailable } from '../../storage/storage.ts';
import type { SignalBus, Signals } from '../signal-bus.ts';
import { packSignals, unpackSignals } from './signal-format.ts';
import { NOTIFY_ALL, SIGNAL_CHANNEL } from './signals.sql.ts';
import { type SignalBatch, WaitingSignals } from './waiting-signals.ts';

export interface PostgresSignalBusOptions
  extends Pick<DatabaseOptions, 'url' | 'statementTimeoutMs' | 'connectTimeoutMs'> {
  /** Delivers within this process. */
  readonly local: SignalBus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** From the start of one flush to that of the next: every listening server is woken 200 times a second at most. */
const FLUSH_INTERVAL_MS = 5;

/** What listeners receive when anything may have happened. */
const ANYTHING: SignalBatch = {
  'runs-open': { lanes: [] },
  'shards-due': { shards: [] },
  'slots-freed': { jobIds: [] },
  'cancel-requested': { runIds: [] },
  'workers-asked': {},
  'shards-moved': {},
  'events-recorded': {},
};

export class PostgresSignalBus implements SignalBus, Service {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #local: SignalBus;
  readonly #connection: ListeningConnection;
  readonly #waiting = new WaitingSignals();
  /** Not from `random`: with the same seed, two servers would ignore each other's signals as their own. */
  readonly #sender = randomBytes(9).toString('base64url');
  #started = false;
  #cancelScheduled: (() => void) | undefined;
  #flushing: Promise<void> | undefined;
  #flushedAtMs = Number.NEGATIVE_INFINITY;
  #refused = false;

  constructor(options: PostgresSignalBusOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#local = options.local;
    this.#connection = new ListeningConnection({
      ...options,
      channel: SIGNAL_CHANNEL,
      applicationName: 'carillon signals',
      onNotification: (payload) => this.#hear(payload),
      onListening: ({ missed }) => {
        if (missed) this.#deliver(ANYTHING);
        this.#schedule();
      },
    });
  }

  /** For people: the connection that hints go through, in the words of a pool. */
  get connections(): { open: number; idle: number; queued: number } {
    const open = this.#connection.isOpen ? 1 : 0;
    return { open, idle: this.#flushing === undefined ? open : 0, queued: 0 };
  }

  /** Resolves after the first try to connect, whether it succeeded or not: a server works without the hints of others. */
  async start(): Promise<void> {
    this.#started = true;
    await this.#connection.start();
  }

  /** What waits is sent first: a server that leaves gives runs back, and the others should learn of them. */
  async stop(): Promise<void> {
    this.#started = false;
    this.#cancelScheduled?.();
    this.#cancelScheduled = undefined;
    await this.#flushing;
    await this.#flush();
    await this.#connection.stop();
    this.#waiting.clear();
  }

  send<Name extends keyof Signals>(name: Name, signal: Signals[Name]): void {
    this.#local.send(name, signal);
    if (!this.#started) return;
    this.#waiting.add({ [name]: signal });
    this.#schedule();
  }

  on<Name extends keyof Signals>(name: Name, listener: (signal: Signals[Name]) => void): () => void {
    return this.#local.on(name, listener);
  }

  /** The first signal after a while leaves at the end of this turn; those that follow it closely wait for each other. */
  #schedule(): void {
    if (this.#cancelScheduled || this.#flushing || !this.#started) return;
    if (this.#waiting.isEmpty || !this.#connection.isOpen) return;
    const flush = () => {
      this.#cancelScheduled = undefined;
      this.#flushing = this.#flush().finally(() => {
        this.#flushing = undefined;
        this.#schedule();
      });
    };
    const restMs = this.#flushedAtMs + FLUSH_INTERVAL_MS - this.#clock.monotonic();
    if (restMs > 0) {
      this.#cancelScheduled = this.#clock.timer(restMs, flush);
    } else {
      const immediate = setImmediate(flush);
      this.#cancelScheduled = () => clearImmediate(immediate);
    }
  }

  /** Never rejects. */
  async #flush(): Promise<void> {
    if (this.#waiting.isEmpty || !this.#connection.isOpen) return;
    const batch = this.#waiting.take();
    this.#flushedAtMs = this.#clock.monotonic();
    const payloads = packSignals(batch, { sender: this.#sender });
    if (payloads.length === 0) return;
    try {
      await this.#connection.query(NOTIFY_ALL, [SIGNAL_CHANNEL, textArray(payloads)]);
      this.#refused = false;
    } catch (error) {
      // They may have arrived: a hint that arrives twice does no harm.
      if (error instanceof StorageUnavailable) this.#waiting.add(batch);
      else this.#reportRefused(error);
    }
  }

  #hear(payload: string): void {
    const heard = unpackSignals(payload);
    if (!heard)
      this.#log.debug({ bytes: payload.length }, 'ignored a notification that is not of our format');
    else if (heard.sender !== this.#sender) this.#deliver(heard.batch);
  }

  #deliver(batch: SignalBatch): void {
    for (const name of Object.keys(batch) as (keyof Signals)[]) this.#deliverOne(name, batch);
  }

  #deliverOne<Name extends keyof Signals>(name: Name, batch: SignalBatch): void {
    const signal: Signals[Name] | undefined = batch[name];
    if (signal !== undefined) this.#local.send(name, signal);
  }

  /** Once, until a flush succeeds again: a full queue of notifications lasts. */
  #reportRefused(error: unknown): void {
    if (this.#refused) return;
    this.#refused = true;
    this.#log.warn({ err: error }, 'the database refuses notifications; other servers find work by polling');
  }
}

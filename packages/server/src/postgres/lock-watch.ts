/**
 * Finds out who holds the locks that a connection waits for, while it waits: afterwards nobody can tell. It looks from a connection
 * of its own, opened when there is something to look for. What it cannot see it leaves out, and it never makes the work fail.
 */
import { sleep, systemClock } from '@carillon/foundation';
import pg from 'pg';
import { LOCK_HOLDERS } from './migrate.sql.ts';
import type { LockHolder } from './migration-obstacle.ts';

export interface LockWatchOptions {
  readonly url: string;
  readonly applicationName: string;
  readonly everyMs: number;
}

const CONNECT_MS_MAX = 2_000;

export class LockWatch {
  readonly #options: LockWatchOptions;
  #client: pg.Client | undefined;
  #holders: readonly LockHolder[] = [];

  constructor(options: LockWatchOptions) {
    this.#options = options;
  }

  /** Those that were seen last during the last work. */
  get holders(): readonly LockHolder[] {
    return this.#holders;
  }

  /** Watches the connection with this process id until the work has ended; answers as it does. */
  async during<T>(pid: number, work: Promise<T>): Promise<T> {
    const ended = new AbortController();
    const settled = work.then(
      () => ended.abort(),
      () => ended.abort(),
    );
    this.#holders = [];
    while (!ended.signal.aborted) {
      await sleep(systemClock, this.#options.everyMs, ended.signal);
      if (!ended.signal.aborted) await Promise.race([settled, this.#look(pid)]);
    }
    return work;
  }

  async close(): Promise<void> {
    await this.#client?.end().catch(() => undefined);
    this.#client = undefined;
  }

  async #look(pid: number): Promise<void> {
    try {
      const client = this.#client ?? (await this.#connect());
      const { rows } = await client.query<LockHolder>(LOCK_HOLDERS, [pid]);
      if (rows.length > 0) this.#holders = rows;
    } catch {
      // No connection left for it, or it broke: the next look opens another.
      await this.close();
    }
  }

  async #connect(): Promise<pg.Client> {
    const { url, applicationName } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      application_name: applicationName,
      connectionTimeoutMillis: CONNECT_MS_MAX,
      query_timeout: CONNECT_MS_MAX,
    });
    client.on('error', () => undefined);
    this.#client = client;
    await client.connect();
    return client;
  }
}

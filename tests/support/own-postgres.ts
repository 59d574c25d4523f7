/** A PostgreSQL of the test's own, to be restarted, killed and frozen; always on the same port and data, and always durable. */
import { join } from 'node:path';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../packages/server/src/postgres/embedded/start-embedded-postgres.ts';
import { copyPreparedDatabase } from './prepared-database.ts';
import { fixedPort, processTree, signalProcess } from './processes.ts';

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error };

export class OwnPostgres {
  readonly #dataDir: string;
  readonly #port: number;
  #server: EmbeddedPostgres | undefined;
  #frozen: readonly number[] = [];

  private constructor(dataDir: string, port: number) {
    this.#dataDir = dataDir;
    this.#port = port;
  }

  /** isMigrated: with the tables of Carillon. */
  static async start(folder: string, { isMigrated = false } = {}): Promise<OwnPostgres> {
    const dataDir = join(folder, 'postgres');
    if (isMigrated) await copyPreparedDatabase(dataDir);
    const postgres = new OwnPostgres(dataDir, await fixedPort());
    await postgres.start();
    return postgres;
  }

  get url(): string {
    return this.#running().url;
  }

  async start(): Promise<void> {
    // fsync guards against power loss, which no test here causes; everything else is as in production.
    const settings = { fsync: 'off', max_connections: '100' };
    this.#server ??= await startEmbeddedPostgres({
      dataDir: this.#dataDir,
      port: this.#port,
      settings,
      log: QUIET,
    });
  }

  /** The fast stop: connections are cut, data is written. */
  async stop(): Promise<void> {
    this.thaw();
    const server = this.#server;
    this.#server = undefined;
    await server?.stop();
  }

  /** kill -9 of the postmaster: the next start has to recover. */
  async kill(): Promise<void> {
    const server = this.#running();
    this.#server = undefined;
    const ended = new Promise<unknown>((resolve) => server.onExit(resolve));
    signalProcess(server.pid, 'SIGKILL');
    await ended;
  }

  /** Connections stay open and nothing answers. */
  async freeze(): Promise<void> {
    const { pid: postmaster } = this.#running();
    // First the one that makes the others: none is added after they were listed.
    signalProcess(postmaster, 'SIGSTOP');
    this.#frozen = await processTree(postmaster);
    for (const pid of this.#frozen) signalProcess(pid, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.#frozen) signalProcess(pid, 'SIGCONT');
    this.#frozen = [];
  }

  /** One statement on a connection of its own. */
  async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 60_000 });
    await client.connect();
    try {
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  #running(): EmbeddedPostgres {
    if (!this.#server) throw new Error('this PostgreSQL is stopped');
    return this.#server;
  }
}

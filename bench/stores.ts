/**
 * The stores as a measured system sees them: an empty database (or an empty Redis) for each run, brought to rest between
 * phases. Nothing a system leaves behind, neither rows nor bloat nor dirty pages, reaches the next one.
 */
import { Redis } from 'ioredis';
import pg from 'pg';
import type { SystemEnv } from './system.ts';
import type { SystemEntry } from './systems.ts';

export type ServerUrls = { readonly postgresUrl: string; readonly redisUrl: string };

export type Store = { readonly env: SystemEnv; settle(): Promise<void>; drop(): Promise<void> };

/** Two of one process may be made within one millisecond. */
let databasesMade = 0;

export async function createEmptyStore(kind: SystemEntry['store'], urls: ServerUrls): Promise<Store> {
  return kind === 'postgres' ? createDatabase(urls) : emptyRedis(urls);
}

async function createDatabase({ postgresUrl, redisUrl }: ServerUrls): Promise<Store> {
  databasesMade += 1;
  const name = `bench_${process.pid}_${Date.now()}_${databasesMade}`;
  await execute(postgresUrl, [`create database ${name}`, 'checkpoint']);
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  const databaseUrl = url.href;
  return {
    env: { databaseUrl, redisUrl },
    settle: () => settleDatabase(databaseUrl),
    drop: () => execute(postgresUrl, [`drop database ${name} with (force)`, 'checkpoint']),
  };
}

/** On an empty database that is dropped afterwards. */
export async function onDatabase<T>(urls: ServerUrls, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await createDatabase(urls);
  try {
    return await use(store);
  } finally {
    await store.drop();
  }
}

/**
 * What autovacuum does within a minute on a server that lives longer than a benchmark: without statistics the planner
 * guesses, and which system that hurts is luck.
 */
export async function settleDatabase(databaseUrl: string): Promise<void> {
  await execute(databaseUrl, ['vacuum (analyze)', 'checkpoint']);
}

async function emptyRedis({ postgresUrl, redisUrl }: ServerUrls): Promise<Store> {
  const flush = async () => {
    const client = new Redis(redisUrl);
    await client.flushall();
    await client.quit();
  };
  await flush();
  return { env: { databaseUrl: postgresUrl, redisUrl }, settle: async () => {}, drop: flush };
}

async function execute(url: string, statements: readonly string[]): Promise<void> {
  await onConnection(url, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
}

export async function onConnection<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/**
 * Does a step of the start as soon as the database answers: servers and their database are often started together, it may go
 * away again between two steps, and others may hold all its connections. Bounded; then it says in a sentence what was waited for.
 */
import { type Log, sleep, systemClock } from '@carillon/foundation';
import { placeOf, StartFailure } from '../start-failure.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';

export interface WhenReachableOptions<T> {
  readonly log: Log;
  /** Repeated from its beginning, so it must be one that may be. */
  readonly step: () => T | Promise<T>;
  /** Of the pool of this server, for the words. */
  readonly connectionsMax: number;
  readonly signal?: AbortSignal | undefined;
  /** Longest to wait from the first time that the database could not be reached. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 30_000;
const PAUSE_MS = 500;
/** For heartbeats (2), outcomes (5) and hints (1). */
const CONNECTIONS_BESIDE_POOL = 8;

type Trouble = 'unreachable' | 'full';

export async function whenReachable<T>(databaseUrl: string, options: WhenReachableOptions<T>): Promise<T> {
  const { log, step, signal, patienceMs = PATIENCE_MS } = options;
  const where = placeOf(databaseUrl);
  const said = new Set<Trouble>();
  let giveUpAtMs: number | undefined;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble === undefined) throw error;
      giveUpAtMs ??= systemClock.monotonic() + patienceMs;
      if (systemClock.monotonic() > giveUpAtMs)
        throw failureOf(trouble, error as Error, { ...options, where });
      if (!said.has(trouble)) log.warn({ where, err: error }, WAITING[trouble]);
      said.add(trouble);
    }
    await sleep(systemClock, PAUSE_MS, signal);
    signal?.throwIfAborted();
  }
}

const WAITING: Record<Trouble, string> = {
  unreachable: 'waiting for the database',
  full: 'the database has no connection left for this server (max_connections); waiting for one',
};

function failureOf(
  trouble: Trouble,
  error: Error,
  { where, connectionsMax }: { where: string; connectionsMax: number },
): StartFailure {
  const needed = connectionsMax + CONNECTIONS_BESIDE_POOL;
  const message =
    trouble === 'full'
      ? `the database at ${where} has no connection left: ${error.message}. Each server needs database.connections_max + ${CONNECTIONS_BESIDE_POOL}, here ${needed}: raise max_connections of PostgreSQL, or the limit of its role or database; or start fewer servers, or with a smaller --database-connections-max.`
      : `the database at ${where} does not answer: ${error.message}. Check --database-url.`;
  return new StartFailure(message, { cause: error });
}

/** Undefined: it is reached, and waiting would not help. */
function troubleOf(error: unknown): Trouble | undefined {
  if (error instanceof StartFailure) return undefined;
  if (error instanceof StorageUnavailable || error instanceof StorageTimeout)
    return isFull(error.cause) ? 'full' : 'unreachable';
  if (isFull(error)) return 'full';
  return isUnreachable(error) ? 'unreachable' : undefined;
}

/** Too many connections: of the whole, of the role or of the database. */
function isFull(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return code === '53300' || code === '53400';
}

/** Refused, unknown, timed out, shutting down or still starting up: it may yet come. */
function isUnreachable(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  const message = error instanceof Error ? error.message : '';
  return (
    (typeof code === 'string' && (/^E[A-Z]/.test(code) || /^57P0[123]$/.test(code))) ||
    /timeout|terminat|not queryable/i.test(message)
  );
}

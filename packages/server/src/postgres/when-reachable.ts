/**
 * Does a step of the start as soon as the database answers: servers and their database are often started together, and it
 * may go away again between two steps. Bounded; then it says in a sentence what was waited for.
 */
import type { Log } from '@carillon/foundation';
import { placeOf, StartFailure } from '../start-failure.ts';
import { StorageTimeout, StorageUnavailable } from '../storage/storage.ts';

const PATIENCE_MS = 30_000;
const PAUSE_MS = 500;

/** `step` is repeated from its beginning, so it must be one that may be. */
export async function whenReachable<T>(
  databaseUrl: string,
  { log, step }: { log: Log; step: () => T | Promise<T> },
): Promise<T> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      return await step();
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      const where = placeOf(databaseUrl);
      if (performance.now() > giveUpAt) {
        throw new StartFailure(
          `the database at ${where} does not answer: ${(error as Error).message}. Check --database-url.`,
          { cause: error },
        );
      }
      if (tries === 1) log.warn({ where, err: error }, 'waiting for the database');
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** Refused, unknown, timed out, shutting down or still starting up: it may yet come. */
function isUnreachable(error: unknown): boolean {
  if (error instanceof StorageUnavailable || error instanceof StorageTimeout) return true;
  const code = (error as { code?: unknown }).code;
  const message = error instanceof Error ? error.message : '';
  return (
    (typeof code === 'string' && (/^E[A-Z]/.test(code) || /^57P0[123]$/.test(code))) ||
    /timeout|terminat|not queryable/i.test(message)
  );
}

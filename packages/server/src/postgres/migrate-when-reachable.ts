/** Migrates as soon as the database answers: servers and their database are often started together. */
import type { Log } from '@carillon/foundation';
import { StartFailure } from '../start-failure.ts';
import { migrate } from './migrate.ts';

const PATIENCE_MS = 30_000;
const PAUSE_MS = 500;

export async function migrateWhenReachable(databaseUrl: string, log: Log): Promise<string[]> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      return await migrate(databaseUrl);
    } catch (error) {
      const { hostname, port, pathname } = new URL(databaseUrl);
      const where = `${hostname}${port ? `:${port}` : ''}${pathname}`;
      if (!isUnreachable(error))
        throw new StartFailure(`the database at ${where} cannot be used: ${(error as Error).message}`, {
          cause: error,
        });
      if (performance.now() > giveUpAt) {
        throw new StartFailure(
          `the database at ${where} does not answer: ${(error as Error).message}. Check --database-url.`,
          {
            cause: error,
          },
        );
      }
      if (tries === 1) log.warn({ where, err: error }, 'waiting for the database');
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** Refused, unknown, timed out, or still starting up: it may yet come. */
function isUnreachable(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  const message = error instanceof Error ? error.message : '';
  return (
    (typeof code === 'string' && (/^E[A-Z]/.test(code) || code === '57P03')) ||
    /timeout|terminated/i.test(message)
  );
}

/** `migrate`: brings a database to the newest version without starting a server. */
import { command } from '../command.ts';
import { CommandFailure } from '../program/command-failure.ts';
import { UsageError } from '../program/usage-error.ts';

export const migrate = command<{ readonly databaseUrl?: string }>({
  name: 'migrate',
  summary: 'Bring a database to the newest version',
  details: 'A server does the same when it starts; this is for those who want it done before.',
  options: [
    { flags: '--database-url <url>', description: 'PostgreSQL to migrate (or CARILLON_DATABASE_URL)' },
  ],
  examples: ['carillon migrate --database-url postgres://db.example.org/carillon'],
  async run({ options, cli }) {
    const url = options.databaseUrl ?? (cli.world.env.CARILLON_DATABASE_URL || undefined);
    if (url === undefined)
      throw new UsageError(
        'Which database?',
        'Name it with --database-url. The embedded one is migrated by `carillon start`.',
      );
    const { migrate: applyMigrations } = await import('@carillon/server');
    const applied = await applyMigrations(url).catch((error: unknown) => {
      const message = `The database cannot be migrated: ${(error as Error).message}`;
      throw new CommandFailure(message, { cause: error });
    });
    const words = applied.length === 0 ? 'Nothing to do: it is up to date.' : `Applied ${applied.join(', ')}`;
    cli.out.done({ applied }, words);
  },
});

/** What can be in the way of migrations, each with the words for the log and for the end of a start that gave up on it. */

export interface LockHolder {
  readonly pid: number;
  readonly application: string;
}

export interface ConnectedServers {
  /** Unknown for servers on a Unix socket, and for roles that may not see it. */
  readonly address: string | null;
  readonly connections: number;
}

export interface Obstacle {
  readonly kind: 'servers' | 'migrator' | 'lock';
  readonly facts: object;
  readonly message: string;
  /** Why the start ends when it was waited for long enough. */
  readonly failure: string;
}

export function serversInTheWay(
  servers: readonly ConnectedServers[],
  { where, pending }: { where: string; pending: number },
): Obstacle {
  const connections = servers.reduce((sum, server) => sum + server.connections, 0);
  const addresses = servers.map(({ address }) => address ?? 'an address that is not told');
  const count = connections === 1 ? '1 connection' : `${connections} connections`;
  return {
    kind: 'servers',
    facts: { connections, addresses, pending },
    message:
      'the database has to be migrated, and other Carillon servers use it: stop every server of the older version; waiting for it',
    failure: `the database at ${where} has to be migrated for this version, and other Carillon servers use it (${count} from ${addresses.join(', ')}). Stop every server of the older version, then start this one again.`,
  };
}

export function migratorInTheWay(holders: readonly LockHolder[], where: string): Obstacle {
  return {
    kind: 'migrator',
    facts: { holders },
    message: 'another server is migrating the database; waiting for it',
    failure: `another server has been migrating the database at ${where} for too long: ${inWords(holders)}. Look what it waits for, or end it; then start this one again.`,
  };
}

export function lockInTheWay(migration: string, holders: readonly LockHolder[]): Obstacle {
  return {
    kind: 'lock',
    facts: { migration, holders },
    message:
      'a migration waits for a lock that others hold, a backup perhaps; it is tried again until they are done',
    failure: `migration ${migration} could not get a lock that others hold: ${inWords(holders)}. End it or wait until it is done, then start this server again.`,
  };
}

function inWords(holders: readonly LockHolder[]): string {
  if (holders.length === 0) return 'nobody can tell who';
  return holders.map(({ pid, application }) => `process ${pid} of the database (${application})`).join(', ');
}

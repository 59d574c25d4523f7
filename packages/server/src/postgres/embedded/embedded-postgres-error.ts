/**
 * What can go wrong with the embedded PostgreSQL, in words for the person who started the server: every error says what
 * happened and what to do, and keeps the last lines PostgreSQL itself wrote.
 */

export type EmbeddedPostgresProblem =
  | 'binaries_missing'
  | 'binaries_unusable'
  | 'no_permission'
  | 'disk_full'
  | 'memory_short'
  | 'data_corrupt'
  | 'other_version'
  | 'port_taken'
  | 'still_running'
  | 'start_failed';

export class EmbeddedPostgresError extends Error {
  readonly problem: EmbeddedPostgresProblem;

  constructor(
    problem: EmbeddedPostgresProblem,
    message: string,
    options: { output?: string; cause?: unknown } = {},
  ) {
    const said = lastLines(options.output ?? '');
    super(said === '' ? message : `${message}\nPostgreSQL said:\n${said}`, { cause: options.cause });
    this.name = 'EmbeddedPostgresError';
    this.problem = problem;
  }
}

/** Reads from what PostgreSQL or initdb wrote which of the known problems stopped it. */
export function problemFromOutput(output: string): EmbeddedPostgresProblem {
  const patterns: [RegExp, EmbeddedPostgresProblem][] = [
    [/No space left on device|Disk quota exceeded/i, 'disk_full'],
    [/Cannot allocate memory|could not map anonymous shared memory/i, 'memory_short'],
    [/could not bind .*address|could not create any TCP\/IP sockets|Address already in use/i, 'port_taken'],
    [/database files are incompatible with server/i, 'other_version'],
    [/lock file ".*" already exists|pre-existing shared memory block/i, 'still_running'],
    [
      /Permission denied|has wrong ownership|has invalid permissions|Read-only file system|Operation not permitted/i,
      'no_permission',
    ],
    [
      /checksum in control file|checkpoint record|could not locate|is not a valid data directory|invalid magic number|could not open (control )?file "?(global|pg_|base)|could not open directory "?(pg_|base|global)|PANIC/i,
      'data_corrupt',
    ],
    [/error while loading shared libraries|GLIBC|version `|not found \(required by/i, 'binaries_unusable'],
  ];
  return patterns.find(([pattern]) => pattern.test(output))?.[1] ?? 'start_failed';
}

/** The sentence for a problem found while using the data directory at `path`. */
export function adviceFor(problem: EmbeddedPostgresProblem, path: string): string {
  switch (problem) {
    case 'disk_full':
      return `The disk that holds ${path} is full. Make room there and start again; nothing committed is lost.`;
    case 'memory_short':
      return 'The system has too little memory left for PostgreSQL. Free some, or use a database elsewhere with --database-url.';
    case 'no_permission':
      return `PostgreSQL may not use ${path}. Give it to the user who runs the server (chown -R), or choose another folder with --data.`;
    case 'data_corrupt':
      return `The database files in ${path} are damaged or incomplete. Restore them from a backup; or move the folder away to begin with an empty database.`;
    case 'other_version':
      return `The database files in ${path} were made by another major version of PostgreSQL. Start with the Carillon version that made them, or dump and restore.`;
    case 'port_taken':
      return 'The port for PostgreSQL is taken by another program. Stop it, or let a free port be chosen.';
    case 'still_running':
      return `Another PostgreSQL still uses ${path}. Stop the Carillon server that runs there.`;
    case 'binaries_missing':
    case 'binaries_unusable':
      return `The PostgreSQL that comes with Carillon does not run on ${process.platform}-${process.arch} here. Use a PostgreSQL of your own (15 or newer) with --database-url.`;
    case 'start_failed':
      return `PostgreSQL could not be started on ${path}.`;
  }
}

function lastLines(output: string): string {
  return output
    .trim()
    .split('\n')
    .slice(-12)
    .map((line) => `  ${line}`)
    .join('\n')
    .trimEnd();
}

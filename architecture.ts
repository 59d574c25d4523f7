/**
 * The table of allowed arrows: which module may import which, and what each module is for. tests/architecture checks every
 * import against it, and ARCHITECTURE.md shows it. A new arrow is a change of design: it is made here, on purpose.
 *
 * A module is a folder or a file: `server/gateway` stands for packages/server/src/gateway, `domain` for packages/domain/src.
 * A file belongs to the most specific module it lies in. Tests, benchmarks and scripts stand outside: they may look into any
 * module, and no module may look at them.
 */

/**
 * pure: rules and small effects, imports nothing of ours. package: a library for others. gateway: where requests come in.
 * operations: what can be requested. service: state and rules that operations and gateway share. role: one step on the path of a run. port: a contract. adapter: one way to keep it.
 * ground: what adapters and composition stand on. composition: puts the pieces together and is the only one to name adapters.
 */
export type ModuleKind =
  | 'pure'
  | 'package'
  | 'gateway'
  | 'operations'
  | 'service'
  | 'role'
  | 'port'
  | 'adapter'
  | 'ground'
  | 'composition';

export interface Module {
  readonly name: string;
  readonly kind: ModuleKind;
  /** One sentence. */
  readonly purpose: string;
  /** Modules it may import; its own files always. */
  readonly imports: readonly string[];
  /** npm packages it may import, besides those of Node itself. */
  readonly npm?: readonly string[];
  /** Of a port: its files. Whatever else lies in the folder is an adapter, and a module of its own. */
  readonly files?: readonly string[];
  /** Of an adapter: the modules it drives, besides its own port. */
  readonly drives?: readonly string[];
}

/** Files that the arrows do not bind, and why. */
export const EXEMPT: readonly { readonly pattern: RegExp; readonly why: string }[] = [
  {
    pattern: /\.test\.ts$/,
    why: 'a test may use any adapter to set its scene',
  },
  {
    pattern: /\.fixture\.ts$/,
    why: 'scenery shared by the tests beside it',
  },
  {
    pattern: /\.conformance\.ts$|\/conformance\.ts$|\/conformance\//,
    why: 'the suite every adapter of a port must pass is a test that adapters import',
  },
  {
    pattern: /-arbitraries\.ts$/,
    why: 'random values for property tests',
  },
];

const STORAGE_FILES = [
  'storage.ts',
  'account-store.ts',
  'apply-in-batches.ts',
  'audit-store.ts',
  'event-store.ts',
  'generation-store.ts',
  'job-store.ts',
  'schedule-store.ts',
  'lease-store.ts',
  'member-store.ts',
  'run-state-store.ts',
  'run-store.ts',
  'run-log-store.ts',
  'insight-store.ts',
  'housekeeping-store.ts',
  'secret-store.ts',
  'signing-key-store.ts',
  'handler-store.ts',
  'own-settings-store.ts',
  'stats-store.ts',
  'run-tally.ts',
  'run-digest.ts',
  'bound-failures.ts',
  'error-group.ts',
  'log-histogram.ts',
  'due.ts',
  'lane.ts',
  'storage-clock.ts',
];

export const MODULES: readonly Module[] = [
  {
    name: 'domain',
    kind: 'pure',
    purpose:
      'The rules: jobs, schedules, runs, retries, placement, errors; no clock, no chance, no input or output.',
    imports: [],
    npm: [],
  },
  {
    name: 'foundation',
    kind: 'pure',
    purpose:
      'Small effects behind interfaces: clock, chance, log, loop, batches, heap; and whether a folder was made where it is.',
    imports: [],
    npm: ['pino', 'uuidv7'],
  },
  {
    name: 'contract',
    kind: 'package',
    purpose: 'What goes over the wire: bodies, queries, views, problems, messages.',
    imports: ['domain'],
    npm: ['zod', '@bufbuild/protobuf'],
  },
  {
    name: 'worker',
    kind: 'package',
    purpose:
      'A worker: runs handlers, beats, says how runs ended, in the process of a server or anywhere by a stream; installs without a database driver.',
    imports: ['domain', 'foundation'],
    npm: ['@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-node'],
  },
  {
    name: 'client',
    kind: 'package',
    purpose: 'Talks to a server over HTTP; depends on nothing.',
    imports: [],
  },
  {
    name: 'dashboard',
    kind: 'package',
    purpose:
      'The page in the browser: talks to a server through the client, and knows the table of permissions.',
    imports: ['client', 'domain'],
    npm: [
      '@codemirror/commands',
      '@codemirror/lang-json',
      '@codemirror/language',
      '@codemirror/state',
      '@codemirror/view',
      '@fontsource-variable/inter',
      '@mantine/core',
      '@mantine/hooks',
      '@tanstack/react-query',
      '@tanstack/react-router',
      '@tanstack/react-virtual',
      'react',
      'react-dom',
      'uplot',
    ],
  },
  {
    name: 'cli',
    kind: 'composition',
    purpose: 'The carillon command: reads flags, calls the client, prints tables or JSON.',
    imports: ['client', 'contract', 'foundation', 'server/index.ts', 'worker'],
    npm: ['commander', 'picocolors', 'yaml'],
  },

  {
    name: 'server/gateway',
    kind: 'gateway',
    purpose: 'REST and RPC on one port: reads requests, calls the operations, maps refusals to answers.',
    imports: [
      'contract',
      'domain',
      'foundation',
      'server/accounts',
      'server/counters',
      'server/event-feed',
      'server/oidc',
      'server/operations',
      'server/log-store',
      'server/peers',
      'server/run-logs',
      'server/shared-limit',
      'server/storage',
      'server/telemetry',
      'server/worker-home',
      'worker',
    ],
    npm: ['fastify', 'zod', '@bufbuild/protobuf', '@connectrpc/connect', '@connectrpc/connect-node'],
  },
  {
    name: 'server/operations',
    kind: 'operations',
    purpose: 'Every use case, one module per noun: jobs, runs, dead letters, workers, schedules.',
    imports: [
      'domain',
      'foundation',
      'server/accounts',
      'server/audit',
      'server/event-feed',
      'server/handlers',
      'server/ingest',
      'server/log-store',
      'server/outgoing',
      'server/run-logs',
      'server/secrets',
      'server/shared-limit',
      'server/signal-bus',
      'server/storage',
    ],
  },
  {
    name: 'server/accounts',
    kind: 'service',
    purpose: 'Users, API keys, sessions and namespaces, and who a credential belongs to.',
    imports: ['domain', 'foundation', 'server/audit', 'server/counters', 'server/storage'],
  },
  {
    name: 'server/worker-home',
    kind: 'service',
    purpose:
      'The home of workers, of the one in this process and of those at the end of a stream: hears their beats, hands them runs, records their reports.',
    imports: [
      'domain',
      'foundation',
      'worker',
      'server/run-results',
      'server/signal-bus',
      'server/storage',
      'server/worker-link',
    ],
    npm: ['@bufbuild/protobuf'],
  },
  {
    name: 'server/oidc',
    kind: 'service',
    purpose: 'Signing in with an OpenID Connect provider, and what groups are worth.',
    imports: ['domain', 'foundation'],
    npm: ['openid-client'],
  },
  {
    name: 'server/event-feed',
    kind: 'service',
    purpose: 'Events, live for any number of listeners and in pages.',
    imports: ['domain', 'foundation', 'server/shared-limit', 'server/storage'],
  },
  {
    name: 'server/shared-limit',
    kind: 'service',
    purpose:
      'Bounds what goes on at once, so that no caller, no namespace and no maker of keys gets all of it.',
    imports: ['domain', 'foundation'],
  },
  {
    name: 'server/audit',
    kind: 'service',
    purpose: 'The audit log: who changed what.',
    imports: ['domain', 'foundation', 'server/storage'],
  },
  {
    name: 'server/handlers',
    kind: 'service',
    purpose: 'What is known of handlers: loads those of the settings, and checks payloads by their schemas.',
    imports: ['domain', 'foundation', 'worker', 'server/storage'],
    npm: ['ajv'],
  },
  {
    name: 'server/outgoing',
    kind: 'service',
    purpose:
      'What http jobs need of the installation: its own addresses, which they may not call, and the keys that sign their requests.',
    imports: ['domain', 'foundation', 'worker', 'server/accounts', 'server/audit', 'server/storage'],
  },
  {
    name: 'server/run-state',
    kind: 'service',
    purpose: 'Keeps what runs say of themselves while they go on: checkpoints, and how far they are.',
    imports: ['domain', 'foundation', 'worker', 'server/signal-bus', 'server/storage'],
  },
  {
    name: 'server/secrets',
    kind: 'service',
    purpose:
      'Secrets that payloads name: set and encrypted, and put into payloads on their way to the worker.',
    imports: ['domain', 'foundation', 'server/accounts', 'server/audit', 'server/outgoing', 'server/storage'],
  },
  {
    name: 'server/run-logs',
    kind: 'service',
    purpose: 'What runs have written, read as lines or as text.',
    imports: [
      'domain',
      'foundation',
      'server/log-store',
      'server/run-results',
      'server/shared-limit',
      'server/storage',
    ],
  },
  {
    name: 'server/peers',
    kind: 'service',
    purpose: 'The other servers of the installation: recognises them, and reads the logs in their folders.',
    imports: ['domain', 'foundation', 'server/log-store', 'server/run-logs', 'server/storage'],
  },
  {
    name: 'server/run-results',
    kind: 'service',
    purpose: 'Results that are too large for the database, kept beside the logs.',
    imports: ['domain', 'worker', 'server/log-store'],
  },
  {
    name: 'server/scheduler',
    kind: 'role',
    purpose:
      'Looks ahead over its shards, fires what is due at its instant, and admits runs within the limits of their jobs.',
    imports: ['domain', 'foundation', 'server/signal-bus', 'server/storage'],
  },
  {
    name: 'server/dispatcher',
    kind: 'role',
    purpose:
      'Takes runs from the backlog for the workers of this server, in its process or connected by a stream, whenever they have free slots.',
    imports: [
      'domain',
      'foundation',
      'server/backlog',
      'server/signal-bus',
      'server/storage',
      'server/worker-link',
    ],
  },
  {
    name: 'server/completion',
    kind: 'role',
    purpose: 'Makes outcomes durable in batches and decides what follows each.',
    imports: ['domain', 'foundation', 'worker', 'server/signal-bus', 'server/storage', 'server/worker-link'],
  },
  {
    name: 'server/recovery',
    kind: 'role',
    purpose: 'Takes back what dead workers held.',
    imports: ['domain', 'foundation', 'server/storage', 'server/worker-link'],
  },
  {
    name: 'server/sharding',
    kind: 'role',
    purpose: 'Keeps this node a member and holds its share of the shards.',
    imports: ['domain', 'foundation', 'server/signal-bus', 'server/storage'],
  },
  {
    name: 'server/housekeeping',
    kind: 'role',
    purpose: 'Makes the partitions of the history ahead of time and drops the old ones.',
    imports: ['foundation', 'server/log-store', 'server/storage'],
  },
  {
    name: 'server/counting',
    kind: 'role',
    purpose: 'Adds what ended to the counts of runs over time.',
    imports: ['foundation', 'server/storage'],
  },
  {
    name: 'server/run-output',
    kind: 'role',
    purpose: 'Keeps what runs write: in batches, with little in memory, and never at the cost of a run.',
    imports: ['domain', 'foundation', 'worker', 'server/log-store', 'server/storage'],
  },

  {
    name: 'server/storage',
    kind: 'port',
    purpose: 'The truth: everything that must survive, behind narrow ports, and its clock.',
    imports: ['domain', 'foundation'],
    files: STORAGE_FILES,
  },
  {
    name: 'server/storage/memory',
    kind: 'adapter',
    purpose: 'The storage in memory, for simulations and tests.',
    imports: ['domain', 'foundation', 'server/storage'],
  },
  {
    name: 'server/storage/postgres',
    kind: 'adapter',
    purpose: 'The storage on PostgreSQL, SQL in files of its own.',
    imports: ['domain', 'server/storage', 'server/postgres'],
    drives: ['server/postgres'],
  },
  {
    name: 'server/backlog',
    kind: 'port',
    purpose:
      'The runs that may start: each is handed out to one taker, urgent ones first, fairly between tenants; and what is known of the lanes they wait in.',
    imports: ['domain', 'foundation', 'server/storage'],
    files: ['backlog.ts', 'lanes.ts', 'fair-queue.ts', 'shares.ts', 'starving-lanes.ts'],
  },
  {
    name: 'server/backlog/storage-backlog.ts',
    kind: 'adapter',
    purpose: 'The backlog in the storage: runs are claimed from its lanes.',
    imports: ['domain', 'foundation', 'server/backlog', 'server/signal-bus', 'server/storage'],
    drives: ['server/signal-bus', 'server/storage'],
  },
  {
    name: 'server/ingest',
    kind: 'port',
    purpose: 'Takes in new jobs: "accepted" is durable.',
    imports: ['server/storage'],
    files: ['ingest.ts'],
  },
  {
    name: 'server/ingest/direct-ingest.ts',
    kind: 'adapter',
    purpose: 'Group commit straight into the storage.',
    imports: ['domain', 'foundation', 'server/ingest', 'server/storage'],
    drives: ['server/storage'],
  },
  {
    name: 'server/log-store',
    kind: 'port',
    purpose: 'What runs have written, as text by day, run and epoch, and how a line of it is written.',
    imports: ['domain', 'worker'],
    files: ['log-store.ts', 'log-line.ts'],
  },
  {
    name: 'server/log-store/files-log-store.ts',
    kind: 'adapter',
    purpose: 'Logs in files.',
    imports: ['server/log-store', 'server/log-store/disk-reserve.ts', 'server/open-folder.ts'],
    drives: ['server/log-store/disk-reserve.ts', 'server/open-folder.ts'],
  },
  {
    name: 'server/log-store/disk-reserve.ts',
    kind: 'ground',
    purpose: 'The part of a disk that logs leave free.',
    imports: ['foundation', 'server/log-store'],
  },
  {
    name: 'server/log-store/memory-log-store.ts',
    kind: 'adapter',
    purpose: 'Logs in memory, for tests and engines without a folder.',
    imports: ['server/log-store'],
  },
  {
    name: 'server/log-store/s3',
    kind: 'adapter',
    purpose: 'Logs in an S3-compatible store.',
    imports: ['foundation', 'server/log-store'],
    npm: ['aws4fetch'],
  },
  {
    name: 'server/signal-bus',
    kind: 'port',
    purpose: 'Hints between roles: best effort, at most once.',
    imports: ['domain', 'server/storage'],
    files: ['signal-bus.ts'],
  },
  {
    name: 'server/signal-bus/memory-signal-bus.ts',
    kind: 'adapter',
    purpose: 'Signals within one process.',
    imports: ['foundation', 'server/signal-bus'],
  },
  {
    name: 'server/signal-bus/postgres',
    kind: 'adapter',
    purpose: 'Signals between all servers on one PostgreSQL database.',
    imports: ['domain', 'foundation', 'server/postgres', 'server/signal-bus', 'server/storage'],
    drives: ['server/postgres', 'server/storage'],
  },
  {
    name: 'server/counters',
    kind: 'port',
    purpose: 'Counts that all servers share, in windows of time, for limits only.',
    imports: [],
    files: ['counters.ts'],
  },
  {
    name: 'server/counters/memory-counters.ts',
    kind: 'adapter',
    purpose: 'Counters within one process.',
    imports: ['server/counters'],
  },
  {
    name: 'server/counters/postgres',
    kind: 'adapter',
    purpose: 'Counters shared through PostgreSQL.',
    imports: ['server/counters', 'server/postgres'],
    drives: ['server/postgres'],
  },
  {
    name: 'server/worker-link',
    kind: 'port',
    purpose: 'Between the dispatcher and workers, wherever they run, and what workers report.',
    imports: ['domain', 'worker', 'server/storage'],
    files: ['worker-link.ts', 'run-reports.ts'],
  },
  {
    name: 'server/worker-link/in-process-worker-link.ts',
    kind: 'adapter',
    purpose:
      'The link to the workers of this server, in its process or connected by a stream: a function call.',
    imports: ['domain', 'server/worker-link'],
  },

  {
    name: 'server/telemetry',
    kind: 'port',
    purpose: 'What is measured: plain numbers, reported in batches.',
    imports: [],
    files: ['telemetry.ts'],
  },
  {
    name: 'server/telemetry/prometheus',
    kind: 'adapter',
    purpose: 'Measures for Prometheus: counts what passes through the storage and the log, and formats it.',
    imports: ['domain', 'foundation', 'server/telemetry', 'server/storage'],
    npm: ['prom-client'],
    drives: ['server/storage'],
  },

  {
    name: 'server/postgres',
    kind: 'ground',
    purpose:
      'The way to PostgreSQL: pool, listening connection, migrations, and the server that comes with Carillon.',
    imports: [
      'foundation',
      'server/as-user.ts',
      'server/open-folder.ts',
      'server/storage',
      'server/start-failure.ts',
    ],
    npm: ['pg'],
  },
  {
    name: 'server/config',
    kind: 'ground',
    purpose: 'One schema for every setting, from flags, environment and file.',
    imports: ['contract', 'domain', 'foundation', 'worker'],
    npm: ['zod'],
  },
  {
    name: 'server/data-directory.ts',
    kind: 'ground',
    purpose: "The server's own folder: its identity, its key, and the lock that keeps a second server out.",
    imports: ['server/boot-record.ts', 'server/made-here.ts', 'server/open-folder.ts'],
  },
  {
    name: 'server/made-here.ts',
    kind: 'ground',
    purpose: 'Refuses a data folder that was cloned or copied, unless the operator says that it is theirs.',
    imports: ['foundation', 'server/open-folder.ts'],
  },
  {
    name: 'server/boot-record.ts',
    kind: 'ground',
    purpose: 'Which processes a data folder was started by, and which of them certainly have ended.',
    imports: [],
  },
  {
    name: 'server/make-folder.ts',
    kind: 'ground',
    purpose: 'Makes folders, or refuses with the reason.',
    imports: [],
  },
  {
    name: 'server/open-folder.ts',
    kind: 'ground',
    purpose:
      'A folder that others may write to: files in it are read, written and removed without following a link.',
    imports: ['server/as-user.ts', 'server/make-folder.ts', 'server/way-to-folder.ts'],
  },
  {
    name: 'server/way-to-folder.ts',
    kind: 'ground',
    purpose: 'The way to a folder as root goes it: nobody but its owner can change where it leads.',
    imports: [],
  },
  {
    name: 'server/as-user.ts',
    kind: 'ground',
    purpose: 'Runs file operations of a root process with the rights of another user.',
    imports: [],
  },
  {
    name: 'server/start-failure.ts',
    kind: 'ground',
    purpose: 'Why a server cannot start, in words for the person who started it.',
    imports: [],
  },
  {
    name: 'server/parent-watch.ts',
    kind: 'ground',
    purpose: 'Ends a process with the one that started it.',
    imports: [],
  },
  {
    name: 'server/greeting.ts',
    kind: 'composition',
    purpose: 'What a started server says first.',
    imports: ['server/command-flags.ts', 'server/start-server.ts'],
  },
  {
    name: 'server/command-flags.ts',
    kind: 'composition',
    purpose: 'How the command finds a server, as flags.',
    imports: [],
  },
  {
    name: 'server/compose.ts',
    kind: 'composition',
    purpose: 'Puts the roles together over their ports.',
    imports: [
      'domain',
      'foundation',
      'worker',
      'server/accounts',
      'server/audit',
      'server/event-feed',
      'server/handlers',
      'server/kept-channel.ts',
      'server/operations',
      'server/outgoing',
      'server/readiness.ts',
      'server/secrets',
      'server/scheduler',
      'server/dispatcher',
      'server/run-state',
      'server/completion',
      'server/recovery',
      'server/sharding',
      'server/housekeeping',
      'server/counting',
      'server/storage',
      'server/counters',
      'server/counters/memory-counters.ts',
      'server/backlog/storage-backlog.ts',
      'server/ingest/direct-ingest.ts',
      'server/log-store',
      'server/log-store/memory-log-store.ts',
      'server/run-logs',
      'server/run-output',
      'server/run-results',
      'server/signal-bus',
      'server/signal-bus/memory-signal-bus.ts',
      'server/worker-home',
      'server/worker-link',
      'server/worker-link/in-process-worker-link.ts',
    ],
  },
  {
    name: 'server/script-handler.ts',
    kind: 'composition',
    purpose:
      'The script handler of a server: who runs scripts, within which limits, and what they must not see.',
    imports: ['foundation', 'worker', 'server/config', 'server/start-failure.ts'],
  },
  {
    name: 'server/kept-channel.ts',
    kind: 'composition',
    purpose: 'Where what runs say goes: output to the log store, progress and checkpoints to the storage.',
    imports: ['foundation', 'worker', 'server/run-output', 'server/run-results', 'server/run-state'],
  },
  {
    name: 'server/readiness.ts',
    kind: 'composition',
    purpose: 'Why a server cannot run jobs, in words.',
    imports: ['foundation', 'worker', 'server/dispatcher', 'server/storage'],
  },
  {
    name: 'server/offered-handlers.ts',
    kind: 'composition',
    purpose: 'The handlers of a server: the built-in ones, and those that its settings name.',
    imports: [
      'domain',
      'foundation',
      'worker',
      'server/config',
      'server/handlers',
      'server/outgoing',
      'server/script-handler.ts',
    ],
  },
  {
    name: 'server/open-log-store.ts',
    kind: 'composition',
    purpose: 'Where a server keeps what runs write, by its settings.',
    imports: [
      'foundation',
      'server/config',
      'server/log-store',
      'server/log-store/files-log-store.ts',
      'server/log-store/s3',
      'server/start-failure.ts',
    ],
  },
  {
    name: 'server/open-port.ts',
    kind: 'composition',
    purpose: 'The port of a server, by its settings, and the one that redirects to it.',
    imports: [
      'foundation',
      'server/config',
      'server/gateway',
      'server/outgoing',
      'server/start-failure.ts',
      'server/telemetry',
    ],
  },
  {
    name: 'server/start-server.ts',
    kind: 'composition',
    purpose: 'A complete server: data directory, database, engine, gateway, in order up and down.',
    imports: [
      'domain',
      'foundation',
      'worker',
      'server/audit',
      'server/command-flags.ts',
      'server/compose.ts',
      'server/config',
      'server/counters/postgres',
      'server/data-directory.ts',
      'server/gateway',
      'server/housekeeping',
      'server/oidc',
      'server/offered-handlers.ts',
      'server/open-log-store.ts',
      'server/open-port.ts',
      'server/outgoing',
      'server/peers',
      'server/postgres',
      'server/signal-bus/memory-signal-bus.ts',
      'server/signal-bus/postgres',
      'server/sharding',
      'server/start-failure.ts',
      'server/storage',
      'server/storage/postgres',
      'server/telemetry/prometheus',
    ],
  },
  {
    name: 'server/main.ts',
    kind: 'composition',
    purpose: 'The server as a program of its own.',
    imports: ['server/run-server.ts'],
  },
  {
    name: 'server/run-server.ts',
    kind: 'composition',
    purpose: 'From a command line to the end of a server: settings, start, signals, words for people.',
    imports: [
      'foundation',
      'server/config',
      'server/data-directory.ts',
      'server/greeting.ts',
      'server/made-here.ts',
      'server/open-folder.ts',
      'server/parent-watch.ts',
      'server/postgres',
      'server/start-failure.ts',
      'server/start-server.ts',
      'server/way-to-folder.ts',
    ],
  },
  {
    name: 'server/start-engine.ts',
    kind: 'composition',
    purpose: 'A complete engine in the process of a program that embeds Carillon.',
    imports: [
      'domain',
      'foundation',
      'worker',
      'server/compose.ts',
      'server/operations',
      'server/outgoing',
      'server/postgres',
      'server/storage',
      'server/storage/postgres',
    ],
  },
  {
    name: 'server/testing',
    kind: 'composition',
    purpose: 'A complete server in the process of a test, for the tests of users.',
    imports: ['foundation', 'worker', 'server/config', 'server/start-server.ts'],
  },
  {
    name: 'server/index.ts',
    kind: 'composition',
    purpose: 'What other packages may use of the server.',
    imports: [
      'worker',
      'server/compose.ts',
      'server/postgres',
      'server/run-server.ts',
      'server/start-engine.ts',
    ],
  },
];

/** The table as Markdown, for ARCHITECTURE.md between its markers. */
export function renderArrows(modules: readonly Module[] = MODULES): string {
  const rows = modules.map(({ name, kind, purpose, imports, npm = [] }) => {
    const arrows = [...imports, ...npm.map((dependency) => `npm:${dependency}`)];
    return `| \`${name}\` | ${kind} | ${purpose} | ${arrows.map((arrow) => `\`${arrow}\``).join(', ') || 'nothing'} |`;
  });
  const exempt = EXEMPT.map(({ pattern, why }) => `- \`${pattern.source}\`: ${why}`);
  return [
    '| module | kind | what it is for | may import |',
    '|---|---|---|---|',
    ...rows,
    '',
    'Files the arrows do not bind:',
    '',
    ...exempt,
  ].join('\n');
}

export const ARROWS_BEGIN = '<!-- arrows -->';
export const ARROWS_END = '<!-- /arrows -->';
